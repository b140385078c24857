package deploy

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// Enrolled is a host as it was approved.
type Enrolled struct {
	ID      trust.ID
	Name    string
	Labels  map[string]string
	Sealing string // the public key that its secrets are encrypted to
	Locked  string // why it may not be changed; empty: it may be
	Revoked bool   // it is no host any more
	// Keys are those of the host as its identity certifies them, for whoever evaluates elsewhere.
	Keys *trust.Signed
}

// Hosts knows which hosts there are.
type Hosts interface {
	// List lists all hosts that were approved, whatever became of them. It is not asked within a transaction.
	List(ctx context.Context) ([]Enrolled, error)
}

// Seen is what hosts have told, and when. It is not asked within a transaction.
type Seen interface {
	// Loop is where the loop of a site stands, as the host has told last.
	Loop(host trust.ID, site string) (control.Loop, bool)
	// Held is the newest that a host has shown to have of a site, whether its loop has taken it up or not; zero: nothing.
	Held(host trust.ID, site string) trust.Position
	// Away is since when a host counts as not connected; zero: it is connected.
	Away(host trust.ID) time.Time
	// Facts are those that a host has told last, and when one of them was another one. The map is not changed any more. They are asked for again once
	// Service.Told says so.
	Facts(host trust.ID) (facts map[string]json.RawMessage, changed time.Time)
	// Outputs are those that a host has given last to others of a site, and when one of them was another one; likewise.
	Outputs(host trust.ID, site string) (outputs map[string]json.RawMessage, changed time.Time)
}

// Objections is Seen that knows, besides, what hosts have against what they are to be.
type Objections interface {
	// Objection is what a host has told against the newest that it was given of a site; nil: nothing.
	Objection(host trust.ID, site string) *Objection
}

// Objection is why a host has not taken up what has a position, and what a person can do about it.
type Objection struct {
	Position  trust.Position
	Why, Cure string
}

// Targets takes what hosts are to be.
type Targets interface {
	// Assign gives an assignment its position, signs it and keeps it, in the transaction.
	Assign(tx store.Tx, host trust.ID, a *trust.Assignment) error
	// Wake tells hosts, after the commit, that there is something for them.
	Wake(ctx context.Context, hosts ...trust.ID) error
}

// Planner asks hosts what they would do.
type Planner interface {
	// Plan has a host plan what is sealed to it, on its shadow, and gives the rows.
	Plan(ctx context.Context, host trust.ID, site string, p *Prepared) (*HostPlan, error)
}

// Asker evaluates sites; an *evaluate.Evaluator.
type Asker interface {
	Ask(ctx context.Context, q evaluate.Question) (*evaluate.Answer, error)
}

// Options of a Service.
type Options struct {
	Store    *store.Store
	Contents contents.Store
	Dir      string // a folder of its own, for the files of revisions that are evaluated
	Hosts    Hosts
	Seen     Seen
	Targets  Targets
	Planner  Planner // nil: hosts cannot plan
	Evaluate Asker
	// Signatures is about what is signed elsewhere; nil: nothing is, and the server signs.
	Signatures Signatures
	Keys       func(site string) ([]string, error) // texts of the keys that open secrets of a site; nil: there are none
	Clock      func() time.Time                    // nil: time.Now
	Program    string                              // the version of the program that evaluates
	// Report gives the newest report of a host for a site, nil: there is none; itself nil: hosts report nothing.
	Report func(ctx context.Context, host trust.ID, site string) (*states.Report, time.Time, error)
	// Reports gives those of several hosts of each site, which may be given more than once; nil, likewise.
	Reports func(ctx context.Context, of map[string][]trust.ID, each func(site string, host trust.ID, report *states.Report)) error
	// IsFull tells whether there is no room to begin anything; nil: there is always room.
	IsFull func() bool
	// Published is told what has happened after its transaction; nil: nobody is.
	Published func(site string, deployment int64, phase Phase)
	// ClusterChanged is told, likewise, of a cluster whose state is another one; nil: nobody is.
	ClusterChanged func(site, cluster string)
}

// Service keeps deployments and drives them. It may be used by many goroutines.
type Service struct {
	Options
	// one has one round go on at a time, and files one change of the folder.
	one, files sync.Mutex
	poke       chan struct{}
	settles    time.Time // see World
	// targetsAtOnce is how many targets change in one transaction; 0: the constant of that name.
	targetsAtOnce int
	plans         plans
	// What rounds have read, by sites: of the store, and of what hosts have told.
	kept  map[string]*keptSite
	views map[string]*hostView
	shown *GroupedPlan // the one that was read last by a step: it is asked for again and again as long as hosts wait
	under struct {     // those that rounds look at, as of versions
		versions map[string]int64
		list     []siteDeployment
	}

	known  sync.Mutex
	faults map[int64]time.Time   // deployments of which the last round has failed, since when
	briefs map[int64]*Deployment // without hosts: those that nothing moves any more
	// revisions are those that were asked for last.
	revisions     map[revisionKey]*Revision
	revisionBytes int64                   // that they take in the store
	revisionRoom  int64                   // how many they may take there; 0: the constant of that name
	facts         map[trust.ID]knownFacts // so that no step reads them anew
	// outputs are those of sites, likewise.
	outputs map[trust.ID]map[string]knownFacts
	asked   uint64 // how often Seen was asked for facts or outputs
}

// New makes a service on a store with the tables of Migrations.
func New(o Options) *Service {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Service{Options: o, poke: make(chan struct{}, 1), facts: map[trust.ID]knownFacts{}, outputs: map[trust.ID]map[string]knownFacts{}, faults: map[int64]time.Time{}, briefs: map[int64]*Deployment{}, revisions: map[revisionKey]*Revision{},
		kept: map[string]*keptSite{}, views: map[string]*hostView{}, plans: plans{queues: map[int64]*planQueue{}, failed: map[int64]error{}}}
}

// noteFault notes whether a round of a deployment has failed.
func (s *Service) noteFault(id int64, err error) {
	s.known.Lock()
	defer s.known.Unlock()
	if err == nil {
		delete(s.faults, id)
	} else if _, known := s.faults[id]; !known {
		s.faults[id] = s.now()
	}
}

// Told is to be called with what hosts have told, once it is kept.
func (s *Service) Told(host trust.ID, items []*control.Item) {
	s.known.Lock()
	for _, i := range items {
		if i.Facts != nil {
			delete(s.facts, host)
		}
		if i.Outputs != nil {
			delete(s.outputs, host)
		}
	}
	s.known.Unlock()
	s.Poke()
}

// Migrations are the tables of this package.
func Migrations() []store.Migration {
	return []store.Migration{{Name: "deployments", SQL: `
		CREATE TABLE deploy_revisions (
			site   TEXT NOT NULL,
			number BIGINT NOT NULL,
			tree   TEXT NOT NULL,
			body   BYTES NOT NULL,
			PRIMARY KEY (site, number)
		) STRICT;
		CREATE TABLE deploy_deployments (
			id    BIGINT NOT NULL PRIMARY KEY,
			site  TEXT NOT NULL,
			tree  TEXT NOT NULL,
			phase TEXT NOT NULL,
			body  BYTES NOT NULL
		) STRICT;
		CREATE INDEX deploy_deployments_site ON deploy_deployments (site, id);
		CREATE TABLE deploy_hosts (
			deployment BIGINT NOT NULL,
			place      BIGINT NOT NULL,
			host       TEXT NOT NULL,
			turn       BIGINT NOT NULL,
			body       BYTES NOT NULL,
			PRIMARY KEY (deployment, host)
		) STRICT;
		CREATE TABLE deploy_prepared (
			site TEXT NOT NULL,
			host TEXT NOT NULL,
			tree TEXT NOT NULL,
			body BYTES NOT NULL,
			PRIMARY KEY (site, host, tree)
		) STRICT;
		CREATE TABLE deploy_plans (
			site TEXT NOT NULL,
			host TEXT NOT NULL,
			tree TEXT NOT NULL,
			body BYTES NOT NULL,
			PRIMARY KEY (site, host, tree)
		) STRICT;
		CREATE TABLE deploy_pins (
			site TEXT NOT NULL,
			host TEXT NOT NULL,
			tree TEXT NOT NULL,
			body BYTES NOT NULL,
			PRIMARY KEY (site, host)
		) STRICT;
		CREATE TABLE deploy_targets (
			site TEXT NOT NULL,
			host TEXT NOT NULL,
			tree TEXT NOT NULL,
			body BYTES NOT NULL,
			PRIMARY KEY (site, host)
		) STRICT;`}, {Name: "deployments signed elsewhere", SQL: `
		CREATE TABLE deploy_signed (
			site TEXT NOT NULL,
			host TEXT NOT NULL,
			tree TEXT NOT NULL,
			body BYTES NOT NULL,
			PRIMARY KEY (site, host, tree)
		) STRICT;`}}
}

// PlanMigration makes the table of plans that are shown. It came after other tables of a server, and stands behind them.
func PlanMigration() store.Migration {
	return store.Migration{Name: "plans that are shown", SQL: `
		CREATE TABLE deploy_shown (
			deployment BIGINT NOT NULL,
			piece      BIGINT NOT NULL,
			data       BYTES NOT NULL,
			PRIMARY KEY (deployment, piece)
		) STRICT;`}
}

// Poke says that something has changed which a deployment may wait for.
func (s *Service) Poke() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// now is the time, without a reading of the monotonic clock: it is kept.
func (s *Service) now() time.Time { return s.Clock().UTC().Truncate(time.Microsecond) }

func invalid(message, hint string) error {
	return &diag.HintError{Code: ErrInvalid, Message: message, Hint: hint}
}

func notFound(message, hint string) error {
	return &diag.HintError{Code: ErrNotFound, Message: message, Hint: hint}
}

// target is a host as grants know it.
func (e *Enrolled) target() access.Target { return access.Target{Name: e.Name, Labels: e.Labels} }

func notSupported(message, hint string) error {
	return &diag.HintError{Code: ErrHooks, Message: message, Hint: hint}
}
