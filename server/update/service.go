package update

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// Codes of errors.
const (
	CodeInvalid  = "invalid_release" // it is signed by nobody who may, or makes no sense
	CodeNotFound = "not_found"
	CodeBusy     = "update_under_way"
	CodeLacking  = "program_lacking" // a program of the release was not uploaded
	CodeFull     = "full"
)

// Enrolled is a host as it was approved.
type Enrolled struct {
	ID     trust.ID
	Name   string
	Labels map[string]string
	Locked string // why it gets nothing; empty: it gets what is new
}

// Options of a Service.
type Options struct {
	Store    *store.Store
	Contents contents.Store
	Chain    func() *trust.Chain
	// Hosts lists all hosts that were approved. Look tells what is known of one, and Want has it run a release.
	Hosts  func(ctx context.Context) ([]Enrolled, error)
	Look   func(trust.ID) Look
	Want   func(id trust.ID, r *control.Release, programs []trust.Program)
	Clock  func() time.Time // nil: time.Now
	IsFull func() bool      // nil: there is always room
	Settle time.Duration    // how long after its start a server takes nobody for away; 0: three signs of life
}

// Service keeps releases, and drives updates. It may be used by many goroutines.
type Service struct {
	Options
	one     sync.Mutex // one round at a time
	poke    chan struct{}
	settles time.Time
	looked  time.Time // when an update that is done was looked at last
	failure error     // of that look: it stands until the next one
	chain   *trust.Chain
	stale   atomic.Bool // what hosts are to run may not be what they were offered last
	// releases are those that hosts are to run, by update, and offers those that each host was offered last.
	releases map[int64]*offer
	offers   map[trust.ID]*offer
}

// New makes a service on a store with the tables of Migrations.
func New(o Options) *Service {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Settle == 0 {
		o.Settle = 3 * control.Heartbeat
	}
	s := &Service{Options: o, poke: make(chan struct{}, 1), offers: map[trust.ID]*offer{}}
	s.settles = s.now().Add(o.Settle)
	s.stale.Store(true)
	return s
}

func (s *Service) now() time.Time { return s.Clock().UTC().Truncate(time.Microsecond) }

// Migrations are the tables of this package.
func Migrations() []store.Migration {
	return []store.Migration{{Name: "releases and updates of agents", SQL: `
		CREATE TABLE update_releases (
			version TEXT NOT NULL PRIMARY KEY,
			actor   TEXT NOT NULL,
			at      BIGINT NOT NULL,
			signed  BYTES NOT NULL
		) STRICT;
		CREATE TABLE update_updates (
			number BIGINT NOT NULL PRIMARY KEY,
			phase  TEXT NOT NULL,
			body   BYTES NOT NULL
		) STRICT;
		CREATE TABLE update_hosts (
			number BIGINT NOT NULL,
			place  BIGINT NOT NULL,
			host   TEXT NOT NULL,
			turn   BIGINT NOT NULL,
			body   BYTES NOT NULL,
			PRIMARY KEY (number, host)
		) STRICT;
		CREATE INDEX update_hosts_host ON update_hosts (host, number);`}}
}

// Poke says that something has changed.
func (s *Service) Poke() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Told is to be called with what hosts have told.
func (s *Service) Told(items []*control.Item) {
	if slices.ContainsFunc(items, func(i *control.Item) bool { return i.Update != nil }) {
		s.Poke()
	}
}
