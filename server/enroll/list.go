package enroll

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Replaced is the host whose name another one wants, and what differs.
type Replaced struct {
	ID         trust.ID     `json:"id"`
	State      State        `json:"state"`
	RenewedAt  *time.Time   `json:"renewed_at,omitempty"`
	Difference []Difference `json:"difference"`

	target access.Target
}

// Target is the host as grants and selectors see it.
func (r *Replaced) Target() access.Target { return r.target }

// Difference is something that is another with the host that asks.
type Difference struct {
	What string `json:"what"`
	Held string `json:"held"`
	Asks string `json:"asks"`
}

// compare says what differs between the host that has a name and one that asks for it.
func compare(held, asks *Host) *Replaced {
	r := &Replaced{ID: held.ID, State: held.State, RenewedAt: held.RenewedAt, target: held.Target()}
	for _, d := range []Difference{
		{"identity", held.ID.Short(), asks.ID.Short()},
		{"sealing key", held.Keys.Sealing, asks.Keys.Sealing},
		{"labels", labelText(held.Labels), labelText(asks.Labels)},
		{"source", held.Source, asks.Source},
		{"token", held.Token, asks.Token},
	} {
		if d.Held != d.Asks {
			r.Difference = append(r.Difference, d)
		}
	}
	return r
}

func labelText(labels map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, name+"="+labels[name])
	}
	return strings.Join(list, ",")
}

// withReplaced adds to a host that is pending whom it would replace.
func withReplaced(r store.Reader, h *Host) (*Host, error) {
	if h == nil || h.State != identity.Pending {
		return h, nil
	}
	held, err := readHolder(r, h.Name)
	if err == nil && held != nil {
		h.Replaces = compare(held, h)
	}
	return h, err
}

// Get gives a host.
func (r *Registry) Get(ctx context.Context, id trust.ID) (h *Host, err error) {
	err = r.store.Read(ctx, func(reader store.Reader) error {
		if h, err = readHost(reader, id); err == nil {
			h, err = withReplaced(reader, h)
		}
		return err
	})
	if err == nil && h == nil {
		err = unknownHost(id)
	}
	return h, err
}

// Named gives the host that has a name.
func (r *Registry) Named(ctx context.Context, name string) (h *Host, err error) {
	err = r.store.Read(ctx, func(reader store.Reader) error {
		h, err = readHolder(reader, name)
		return err
	})
	if err == nil && h == nil {
		err = &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("no host is called %.80q", name), Hint: "list the hosts"}
	}
	return h, err
}

// Filter says which hosts are listed; what is empty says nothing.
type Filter struct {
	States   []State
	Prefix   string                   // of names
	Question bool                     // only those about which a person is asked
	Fits     func(access.Target) bool // such as Selector.Matches
	FitsHost func(*Brief) bool        // by what others know of it
	After    Position                 // zero: from the begin
	Limit    int                      // 0: 100
}

// Limits of lists.
const (
	defaultLimit = 100
	maxLimit     = 1001 // one more than a page has shows that there is more
)

// Position is a place in the list, after a host.
type Position struct {
	Name string   `json:"name"`
	ID   trust.ID `json:"id"`
}

// List lists hosts by their names. Which fit is told by what is in memory, after a look at what other servers have changed: only those that are
// listed are read.
func (r *Registry) List(ctx context.Context, f Filter) (list []*Host, err error) {
	if err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	return r.readAll(ctx, &f, f.choose(r.inOrder()))
}

// ListAndCount lists hosts as List does, and tells how many there are in all, before the begin as well as after it.
func (r *Registry) ListAndCount(ctx context.Context, f Filter) (list []*Host, total int, err error) {
	if err := r.Refresh(ctx); err != nil {
		return nil, 0, err
	}
	all := f
	all.After = Position{}
	var places []*brief
	for b := range all.choose(r.inOrder()) {
		if total++; len(places) < f.limit() && b.place().compare(f.After) > 0 {
			places = append(places, b)
		}
	}
	list, err = r.readAll(ctx, &f, slices.Values(places))
	return list, total, err
}

// limit is how many hosts are listed.
func (f *Filter) limit() int {
	if f.Limit <= 0 {
		return defaultLimit
	}
	return min(f.Limit, maxLimit)
}

// readAll reads hosts, until there are enough.
func (r *Registry) readAll(ctx context.Context, f *Filter, places iter.Seq[*brief]) (list []*Host, err error) {
	err = r.store.Read(ctx, func(reader store.Reader) error {
		list = nil
		for b := range places {
			h, err := readHost(reader, b.ID)
			if err == nil {
				h, err = withReplaced(reader, h)
			}
			if err != nil {
				return err
			}
			if h == nil || !f.fits(h.brief()) { // it has changed since
				continue
			}
			if list = append(list, h); len(list) == f.limit() {
				return nil
			}
		}
		return nil
	})
	return list, err
}

// Briefly gives what is in memory of each host that a filter names, in the order of the list and whatever its limit. It reads no host.
func (r *Registry) Briefly(ctx context.Context, f Filter) (iter.Seq[*Brief], error) {
	if err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	places := f.choose(r.inOrder())
	return func(yield func(*Brief) bool) {
		for b := range places {
			if !yield(&b.Brief) {
				return
			}
		}
	}, nil
}

// Brief is what is known of a host without asking the store. Nobody changes it.
type Brief struct {
	ID       trust.ID
	State    State
	Question bool // a person is to decide on it
	Target   access.Target
	// Text is its name, its id and its labels, as LABEL=VALUE, in small letters and in a line each: for whoever looks for words.
	Text string
}

func newBrief(h *Host) Brief {
	lines := []string{h.Name, string(h.ID)}
	for _, name := range slices.Sorted(maps.Keys(h.Labels)) {
		lines = append(lines, name+"="+h.Labels[name])
	}
	return Brief{h.ID, h.State, h.Question, h.Target(), strings.ToLower(strings.Join(lines, "\n"))}
}

// MayReport tells whether what the host says is taken in.
func (b *Brief) MayReport() bool { return mayReport(b.State) }

// place is where a host stands in the list.
func (b *brief) place() Position { return Position{b.Target.Name, b.ID} }

func (p Position) compare(q Position) int {
	return cmp.Or(strings.Compare(p.Name, q.Name), strings.Compare(string(p.ID), string(q.ID)))
}

// choose gives those of a list that fit and come after the begin.
func (f *Filter) choose(ordered []*brief) iter.Seq[*brief] {
	return func(yield func(*brief) bool) {
		begin := f.After
		if begin.compare(Position{Name: f.Prefix}) < 0 {
			begin = Position{Name: f.Prefix}
		}
		i, found := slices.BinarySearchFunc(ordered, begin, func(b *brief, p Position) int { return b.place().compare(p) })
		if found {
			i++
		}
		for _, b := range ordered[i:] {
			if !strings.HasPrefix(b.Target.Name, f.Prefix) {
				return
			}
			if f.fits(b) && !yield(b) {
				return
			}
		}
	}
}

func (f *Filter) fits(b *brief) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, b.State)) && (b.Question || !f.Question) &&
		strings.HasPrefix(b.Target.Name, f.Prefix) && (f.Fits == nil || f.Fits(b.Target)) && (f.FitsHost == nil || f.FitsHost(&b.Brief))
}

// Identity is the key of a host, by which it signs.
func (r *Registry) Identity(ctx context.Context, id trust.ID) (trust.PublicKey, error) {
	return r.identityOf(ctx, id)
}

// ChangedSince gives the hosts that have changed after a version, whatever their state, and the newest version; 0: all hosts. Of those that were forgotten
// nothing is there but their id, and no state.
func ChangedSince(r store.Reader, version int64) (list []*Host, newest int64, err error) {
	newest = version
	err = r.Query(selectHosts+` WHERE version > $1`, []any{version}, func(row store.Row) error {
		h, err := scanHost(row)
		if err != nil {
			return err
		}
		list, newest = append(list, h), max(newest, h.version)
		return nil
	})
	if err != nil {
		return nil, version, err
	}
	gone, to, err := forgottenSince(r, version)
	for _, g := range gone {
		list = append(list, &Host{ID: g.ID, version: g.version})
	}
	return list, max(newest, to), err
}

// WasApproved tells whether the host is one that was ever approved.
func (h *Host) WasApproved() bool { return h.DecidedAt != nil && h.State != identity.Pending }

// Counts says how many hosts are in each state, without asking the store.
func (r *Registry) Counts() map[string]float64 {
	counts := map[string]float64{}
	for _, s := range []State{identity.Pending, identity.Approved, identity.Active, identity.Locked, identity.Revoked} {
		counts[string(s)] = 0
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, b := range r.known {
		counts[string(b.State)]++
	}
	return counts
}

// Questions is of how many hosts a person is asked whether they are copies.
func (r *Registry) Questions() (n int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, b := range r.known {
		if b.Question {
			n++
		}
	}
	return n
}
