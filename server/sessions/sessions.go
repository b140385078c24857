// Package sessions is the server's side of the agents of its hosts: what is wanted of each, what they hold, and what they tell. The protocol is
// that of package control; here it meets the store and the broker: what has to be durable is, before it is answered.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker"
	"github.com/tenetcm/tenet/server/store"
)

// Codes of errors.
const (
	CodeRecovering = "recovering" // the server was restored from a backup, and waits for a person
	CodeAway       = "away"       // the agent of the host is not connected
	CodePosition   = "position"   // what was signed elsewhere does not come after what is wanted
)

// Hosts knows who may do what.
type Hosts interface {
	// MayReport tells whether what a host says is taken in, and MayReceive whether it gets anything new. Neither asks a store.
	MayReport(host trust.ID) bool
	MayReceive(host trust.ID) bool
	// NoticeCopy says that two machines speak for a host.
	NoticeCopy(ctx context.Context, host trust.ID) error
	// Identity is the host's key.
	Identity(ctx context.Context, host trust.ID) (trust.PublicKey, error)
	// Ticket lets a host fetch contents, and Done ends its turn.
	Ticket(host trust.ID, contents ...trust.Digest) (map[trust.Digest]string, error)
	Done(host trust.ID)
}

// Signer signs for the server.
type Signer interface {
	Chain() *trust.Chain
	SignAssignment(*trust.Assignment) (*trust.Signed, error)
	SignRequest(*trust.Request) (*trust.Signed, error)
}

// Options of Sessions.
type Options struct {
	Store   *store.Store
	Broker  broker.Broker
	Hosts   Hosts
	Signer  Signer
	Program string // the version of the server's program, for agents; empty: it is not told
	// Term is that of the store, which this server has won.
	Term uint64
	// Told is called after each commit with what a host has told; nil: nobody is.
	Told func(host trust.ID, items []*control.Item)
	// IsFull tells whether there is no room: then nothing that hosts tell is taken in, and they tell it again. nil: there always is.
	IsFull func() bool
	// Quota is how many bytes a host may tell a day; 0: DefaultQuota. Burst is how many it may tell at once; 0: DefaultBurst.
	Quota, Burst int64
	// Failed is told what went wrong within the server; nil: nobody is.
	Failed func(error)
	Clock  func() time.Time // nil: time.Now
	// Standby: agents speak with another server, and how they are reached is what that has kept a minute ago at most.
	Standby bool
}

// Sessions are the agents of all hosts. It may be used by many goroutines.
type Sessions struct {
	Options
	started time.Time
	newest  time.Time // when any host was seen last, as it was kept
	relays  relays
	claims  claimQueue
	compressor
	traffic traffic
	complaints
	runCounts runCounts
	streamed  wakeup // with each batch that was taken in

	mu    sync.RWMutex
	core  control.Server
	hosts map[trust.ID]*host
}

// host is what is known of one. It is locked by itself, so that hosts do not wait for one another's commits.
type host struct {
	mu       sync.Mutex
	core     control.Host
	boot     string
	targets  map[string]*Target
	loops    map[string]*Loop
	reports  map[string]*ReportStatus
	names    map[string]bool // of the sites of which it has told
	offers   []*Target       // what it may fetch besides, to plan it
	behind   bool            // the targets are to be read anew
	instance string          // of the newest session
	probe    string          // the instance that was asked whether it is alive
	probed   time.Time
	seen     time.Time
	// row and seenAt are what lists see of it.
	row    atomic.Pointer[row]
	seenAt atomic.Int64
	// update is how far it is with a release, as it has told last, and fetchable are the programs of the one that it is to run.
	update    *control.Update
	fetchable map[trust.Digest]bool
	usage     usage
	limit     *Limit // nil: what it tells is taken in
	// objections are those of its newest Hello.
	objections []Objection
}

// Target is what is wanted of a host for a site.
type Target struct {
	trust.Assignment
	Since time.Time // when it was assigned
}

// Loop is where a host's loop stands for a site, and since when.
type Loop struct {
	control.Loop
	Since time.Time // by the host's clock
}

func newHost(id trust.ID) *host {
	return &host{core: control.Host{ID: id, Targets: map[string]control.Target{}, Held: map[string]control.Holding{}}, targets: map[string]*Target{}, loops: map[string]*Loop{}, reports: map[string]*ReportStatus{}, names: map[string]bool{}}
}

// Open reads what is kept. Listen has agents heard.
func Open(ctx context.Context, o Options) (*Sessions, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	s := &Sessions{Options: o, started: o.Clock(), relays: relays{open: map[relayKey]*relay{}}}
	compressor, err := newCompressor()
	if err != nil {
		return nil, err
	}
	s.compressor = compressor
	return s, s.Refresh(ctx)
}

// Refresh reads anew what is kept: now and then on a standby, on which nothing else changes what is known.
func (s *Sessions) Refresh(ctx context.Context) error {
	var core control.Server
	var hosts map[trust.ID]*host
	var seen []byte
	err := s.Store.Read(ctx, func(r store.Reader) (err error) {
		if core, seen, err = loadServer(r); err == nil {
			hosts, err = loadHosts(r)
		}
		return err
	})
	if err != nil {
		return err
	}
	newest, err := s.loadSeen(seen, hosts)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		h.publish()
	}
	core.Term, core.Program = s.Term, s.Program
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core, s.hosts, s.newest = core, hosts, newest
	return nil
}

// Started is when the sessions were opened: nothing was seen before that, but what was kept.
func (s *Sessions) Started() time.Time { return s.started }

// Listen hears agents from now on.
func (s *Sessions) Listen() error { return s.Broker.Listen(s.receive) }

// host gives one, which is new if nothing is known of it.
func (s *Sessions) host(id trust.ID) *host {
	s.mu.RLock()
	h := s.hosts[id]
	s.mu.RUnlock()
	if h != nil {
		return h
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h = s.hosts[id]; h == nil {
		h = newHost(id)
		s.hosts[id] = h
	}
	return h
}

// known gives a host of which something is known; nil: nothing is.
func (s *Sessions) known(id trust.ID) *host {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hosts[id]
}

// all lists the hosts of which something is known. Whoever holds the lock of one may ask for that of Sessions, and not the other way round.
func (s *Sessions) all() []*host {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.hosts))
}

// server gives what the protocol needs to know of the server.
func (s *Sessions) server() *control.Server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	core := s.core
	core.Chain = s.Signer.Chain()
	return &core
}

// Recovering tells whether the server waits for a person before it delivers anything.
func (s *Sessions) Recovering() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.core.Recovering
}

// Assign has something wanted of a host from now on, as part of a transaction: it completes the assignment with its position, and signs it. After the
// commit the caller calls Wake.
func (s *Sessions) Assign(tx store.Tx, id trust.ID, a *trust.Assignment) error {
	core := s.server()
	if core.Recovering {
		return errRecovering()
	}
	next, err := s.Next(tx, id, a.Site)
	if err != nil {
		return err
	}
	a.Host, a.Position = id, next
	signed, err := s.Signer.SignAssignment(a)
	if err != nil {
		return err
	}
	return saveTarget(tx, a, signed, s.Clock())
}

// Wake takes up what was assigned to hosts, and tells their agents that there is something. What could not be read is read when the host is heard of next.
func (s *Sessions) Wake(ctx context.Context, ids ...trust.ID) error {
	var errs []error
	for _, id := range ids {
		h := s.host(id)
		h.mu.Lock()
		err := s.reload(ctx, h)
		h.behind = err != nil
		h.publish()
		to := link.Address{Host: id, Instance: h.instance}
		h.mu.Unlock()
		errs = append(errs, err)
		if to.Instance != "" {
			s.send(to, &control.Wake{})
		}
	}
	return errors.Join(errs...)
}

// Wakes of all agents go out so many at a time, and then wait: each of them says Hello.
const (
	wakesAtOnce = 1000
	wakePause   = 100 * time.Millisecond
)

// WakeAll tells all agents that are connected that there is something: for what they learn by a Hello, and that is not of one host. Whom it does not
// reach, as when the context ends, finds out by the next sign of life.
func (s *Sessions) WakeAll(ctx context.Context) {
	sent := 0
	for _, h := range s.all() {
		h.mu.Lock()
		to, isLost := link.Address{Host: h.core.ID, Instance: h.instance}, s.lost(h.seen)
		h.mu.Unlock()
		if to.Instance == "" || isLost {
			continue
		}
		s.send(to, &control.Wake{})
		if sent++; sent%wakesAtOnce != 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wakePause):
		}
	}
}

// reload reads the targets of a host anew.
func (s *Sessions) reload(ctx context.Context, h *host) error {
	core, targets := map[string]control.Target{}, map[string]*Target{}
	err := s.Store.Read(ctx, func(r store.Reader) error {
		clear(core)
		clear(targets)
		return r.Query(`SELECT site, signed, since FROM sessions_targets WHERE host = $1`, []any{string(h.core.ID)}, func(row store.Row) error {
			var site string
			var data []byte
			var since time.Time
			if err := row.Scan(&site, &data, &since); err != nil {
				return err
			}
			t, a, err := parseTarget(data)
			core[site], targets[site] = t, &Target{Assignment: *a, Since: since}
			return err
		})
	})
	if err == nil {
		h.core.Targets, h.targets = core, targets
	}
	return err
}

// send sends a message to an agent: where it is lost the protocol says it again.
func (s *Sessions) send(to link.Address, m control.Message) {
	if m == nil {
		return
	}
	data, err := control.Encode(m)
	if err == nil {
		err = s.Broker.Send(to, link.Packet{Data: data})
		s.traffic.sent.Add(1)
	}
	if err != nil {
		s.complain(to.Host, fmt.Errorf("a message to the host %s: %w", to.Host.Short(), err))
	}
}

// Next is the position of what will be wanted of a host next.
func (s *Sessions) Next(r store.Reader, id trust.ID, site string) (trust.Position, error) {
	core := s.server()
	at := control.Host{ID: id, Targets: map[string]control.Target{}}
	var epoch, n int64
	found, err := store.One(r, `SELECT epoch, n FROM sessions_targets WHERE host = $1 AND site = $2`, []any{string(id), site}, &epoch, &n)
	if found {
		at.Targets[site] = control.Target{Position: trust.Position{Epoch: uint64(epoch), N: uint64(n)}}
	}
	return core.Assign(&at, site), err
}

// Deliver has something wanted of a host that was signed elsewhere, as part of a transaction: by a key that may assign, of the present epoch, and after
// what is wanted until now. After the commit the caller calls Wake.
func (s *Sessions) Deliver(tx store.Tx, id trust.ID, signed *trust.Signed) error {
	if s.Recovering() {
		return errRecovering()
	}
	a, err := s.Signer.Chain().ShownAssignment(signed, id)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return err
	}
	next, err := s.Next(tx, id, a.Site)
	if err != nil {
		return err
	}
	if a.Epoch != next.Epoch || a.Position.Compare(next) < 0 {
		return &diag.HintError{Code: CodePosition, Message: fmt.Sprintf("an assignment of %s has the position %s, and %s is the next one", a.Site, a.Position, next), Hint: "sign it again: tenet deploy --sign KEY"}
	}
	return saveTarget(tx, a, signed, s.Clock())
}

func errRecovering() error {
	return &diag.HintError{Code: CodeRecovering, Err: fmt.Errorf("the server was restored from a backup, and delivers nothing until a person has looked at it"), Hint: "tenet server resume"}
}
