// Package enroll knows the hosts of a server: who has asked to be one, who was taken in, and under which name and labels.
//
// A host asks with a token, and is pending until a person, a program of theirs, or the token itself approves it. Each hour it renews, by which it
// shows that no copy of it is about: see Renew. What a host says of itself counts nowhere until somebody has approved it.
//
// All of it is in the store. In memory is what a broker asks on each connection: whether a host may connect, and by which key.
package enroll

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// State is how a host stands.
type State = identity.State

// Options of a Registry. All but Addresses may be left out.
type Options struct {
	// Addresses are those of the servers, as hosts reach them: https://HOST:PORT. Tokens name the first.
	Addresses []string
	// Brokers gives where agents connect; nil: nowhere.
	Brokers func() []string
	// BrokerAuthorities are the CAs of these, as DER, besides those of the trust document.
	BrokerAuthorities [][]byte
	// Credential makes a host's credential for a broker that wants one besides the connection key; nil: none does.
	Credential func(host trust.ID, connection string) (string, error)
	// Hook is a program with its arguments that decides on hosts that are pending: see Question and Decision. Empty: people do.
	Hook []string
	// HookLimit is how long it may take; 0: 10 s.
	HookLimit time.Duration
	// Many is how many hosts of which copies are noticed within Window are locked: where there are more, none is, and a person is asked. 0: 10
	// within 90 minutes, in which each host renews once.
	Many   int
	Window time.Duration
	// Forget has others forget a host.
	Forget Forgetting
	// Starts is how many hosts may fetch contents at once; 0: 200.
	Starts int
	// Changed is called after each commit that changes whether a host may connect, by which key, or for whom grants count; nil: nobody.
	Changed func(trust.ID)
	// Rekeyed is called after each commit by which a host connects by another key: connections by the former one are to end; nil: nobody.
	Rekeyed func(trust.ID)
	// Failed is told what went wrong within the server, which agents are not told; nil: nobody.
	Failed func(error)
	Clock  func() time.Time // nil: time.Now
}

// Defaults of options.
const (
	defaultHookLimit = 10 * time.Second
	defaultMany      = 10
	defaultWindow    = 90 * time.Minute
	defaultStarts    = 200
)

// Registry is the hosts of a server. It may be used by many goroutines.
type Registry struct {
	store     *store.Store
	authority *authority.Authority
	contents  contents.Store
	options   Options
	limits    limits
	fetches   fetches
	patience  time.Duration // see contentPatience
	hook      hook
	starts    starts
	codes     codes

	mu      sync.RWMutex
	known   map[trust.ID]*brief
	ordered []*brief // all of known, by name; nil: to be made when somebody asks
	read    int64    // the version up to which Refresh has read
}

// brief is what is known of a host without asking the store. It is never changed: another takes its place.
type brief struct {
	Brief
	Connection string
	Identity   trust.PublicKey
	version    int64
}

// differs tells whether something else may be done to a host than before, or it may do something else.
func (b *brief) differs(next *brief) bool {
	return b.State != next.State || b.Connection != next.Connection || b.Target.Name != next.Target.Name || !maps.Equal(b.Target.Labels, next.Target.Labels)
}

// Open opens the hosts of a store, which has the tables of Migrations.
func Open(ctx context.Context, s *store.Store, a *authority.Authority, c contents.Store, o Options) (*Registry, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.HookLimit <= 0 {
		o.HookLimit = defaultHookLimit
	}
	if o.Many <= 0 {
		o.Many = defaultMany
	}
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	if o.Starts <= 0 {
		o.Starts = defaultStarts
	}
	r := &Registry{store: s, authority: a, contents: c, options: o, limits: newLimits(o.Clock), fetches: fetches{counts: map[trust.ID]int{}}, patience: contentPatience, hook: newHook(), starts: starts{until: map[trust.ID]time.Time{}}, known: map[trust.ID]*brief{}}
	var err error
	if r.codes, err = newCodes(a); err != nil {
		return nil, err
	}
	return r, r.Refresh(ctx)
}

// Refresh takes up what was changed since it was called last, by whichever server: when this one has become the active one, and now and then on a standby.
func (r *Registry) Refresh(ctx context.Context) error {
	r.mu.RLock()
	from := r.read
	r.mu.RUnlock()
	var changed []*brief
	var gone []forgotten
	to := from
	err := r.store.Read(ctx, func(reader store.Reader) (err error) {
		changed = nil
		if gone, to, err = forgottenSince(reader, from); err != nil {
			return err
		}
		return reader.Query(selectHosts+` WHERE version > $1`, []any{from}, func(row store.Row) error {
			h, err := scanHost(row)
			if err != nil {
				return err
			}
			changed, to = append(changed, h.brief()), max(to, h.version)
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, b := range changed {
		r.take(b)
	}
	for _, g := range gone {
		r.drop(g)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = max(r.read, to)
	return nil
}

// take takes up what is known of a host, unless more is known already, and gives what was known before.
func (r *Registry) take(next *brief) (before *brief, taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.known[next.ID]
	if before != nil && before.version >= next.version {
		return before, false
	}
	r.known[next.ID] = next
	if before == nil || before.differs(next) || before.Question != next.Question {
		r.ordered = nil
	}
	return before, true
}

// inOrder lists what is known of all hosts by their names. Nobody changes the list.
func (r *Registry) inOrder() []*brief {
	r.mu.RLock()
	list := r.ordered
	r.mu.RUnlock()
	if list != nil {
		return list
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ordered == nil {
		r.ordered = slices.SortedFunc(maps.Values(r.known), func(a, b *brief) int { return a.place().compare(b.place()) })
	}
	return r.ordered
}

// remember takes up what was committed. Commits may be told in another order than they were made.
func (r *Registry) remember(hosts ...*Host) {
	for _, h := range hosts {
		next := h.brief()
		before, taken := r.take(next)
		if taken && r.options.Changed != nil && (before == nil || before.differs(next)) {
			r.options.Changed(h.ID)
		}
		if taken && r.options.Rekeyed != nil && before != nil && before.Connection != next.Connection {
			r.options.Rekeyed(h.ID)
		}
	}
}

// MayConnect tells whether a host may connect to a broker, by this key. It asks no store.
func (r *Registry) MayConnect(host trust.ID, connection string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h, ok := r.known[host]
	return ok && connection != "" && h.Connection == connection && mayReport(h.State)
}

// mayReport tells whether what a host of a state says is taken in.
func mayReport(s State) bool {
	return s == identity.Approved || s == identity.Active || s == identity.Locked
}

// State tells how a host stands, and what it is called, without asking the store.
func (r *Registry) State(host trust.ID) (state State, target access.Target, known bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h, ok := r.known[host]
	if !ok {
		return "", access.Target{}, false
	}
	return h.State, h.Target, true
}

// MayReport tells whether what a host says is taken in, whichever broker brought it.
func (r *Registry) MayReport(host trust.ID) bool {
	s, _, ok := r.State(host)
	return ok && mayReport(s)
}

// MayReceive tells whether a host gets anything new.
func (r *Registry) MayReceive(host trust.ID) bool {
	s, _, ok := r.State(host)
	return ok && (s == identity.Approved || s == identity.Active)
}

// Select lists the hosts that were taken in and fit, without asking the store, by their names.
func (r *Registry) Select(fits func(access.Target) bool) []trust.ID {
	var list []trust.ID
	for _, h := range r.inOrder() {
		if mayReport(h.State) && fits(h.Target) {
			list = append(list, h.ID)
		}
	}
	return list
}

func (r *Registry) now() time.Time { return r.options.Clock().UTC() }
