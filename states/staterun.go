package states

import (
	"time"

	"github.com/tenetcm/tenet/lang/site"
)

// Format is the version of the StateRun's JSON.
const Format = "tenet.run/1"

// Ensure is the condition a part is wanted in.
type Ensure string

// The conditions.
const (
	Present Ensure = "present"
	Absent  Ensure = "absent"
)

// StateRun is everything one host is to do, as a directed acyclic graph: what
// the planner makes of Declarations and the runtime carries out. Invocations
// stand in the order in which a single worker would run them. The same
// declarations give the same bytes of JSON.
type StateRun struct {
	Format      string       `json:"format"`
	Site        string       `json:"site,omitempty"`
	Host        string       `json:"host"`
	Revision    string       `json:"revision"` // "sha256:…" over the masked run, this field empty
	Invocations []Invocation `json:"invocations"`
	Blocks      []Block      `json:"blocks,omitempty"`
	// Joins are nodes without parts that stand for "all of these have ended",
	// so that n×m order edges need only n+m.
	Joins    []Join       `json:"joins,omitempty"`
	Handlers []Invocation `json:"handlers,omitempty"` // lazy states that nothing invokes now
	// Prune: what the site has created and declares no longer is removed.
	Prune bool `json:"prune,omitempty"`
	// AllowEmpty: rules that select nothing any more delete all that they have made.
	AllowEmpty bool `json:"allow_empty,omitempty"`
	// Partial: it is not all that is declared for the machine, but a selection of it, what
	// is left of a plan, or one of several hosts that are the same machine.
	Partial bool `json:"partial,omitempty"`
	// Reconcile says how the machine is kept so; nil: as usual.
	Reconcile *site.Reconcile `json:"reconcile,omitempty"`
	// Cluster is the one that the machine has joined; nil: none, and what it has made as a
	// member of one goes.
	Cluster *site.Membership `json:"cluster,omitempty"`
	// Telemetry says who is told what runs do; nil: nobody.
	Telemetry *site.Telemetry `json:"telemetry,omitempty"`
	// Moved tells the former addresses of what was renamed, without waves.
	Moved []Moved `json:"moved,omitempty"`
	// LeftOut are the parts that are declared, but stand neither in Invocations nor
	// in Handlers: by when, by selection, or since a state needs a run and has none.
	// They are no orphans. Of acts there are those that the selection leaves out.
	// Sorted by address.
	LeftOut []Resource `json:"left_out,omitempty"`
	// Secrets are the texts that Declarations names, to be masked wherever they
	// turn up. They are never written.
	Secrets []string `json:"-"`
	// SecretFiles are the digests of the encrypted files that secrets came from,
	// so that the revision changes with them.
	SecretFiles map[string]string `json:"secret_files,omitempty"`
	// Given are the outputs of other hosts that its expressions name. They are no part of what is
	// wanted: the run is the same whatever they are. They are never written with it.
	Given []HostOutput `json:"-"`
}

// Invocation is one execution of a state.
type Invocation struct {
	Address string `json:"address"`           // with "#wave" where a handler has several
	State   string `json:"state"`             // address of the state it executes
	Handler bool   `json:"handler,omitempty"` // runs only when notified or owed
	// Always marks a handler's wave that runs though nobody notifies it, since
	// it is required, or not lazy.
	Always bool `json:"always,omitempty"`
	Defer  bool `json:"defer,omitempty"`
	// LeftOut marks one of StateRun.Handlers that the selection leaves out: what
	// it is owed stays owed.
	LeftOut bool `json:"left_out,omitempty"`
	// Confirms marks the invocation, without parts, that checks whether this
	// block may stay as it was made (see Confirm). It comes after the block and
	// all handlers that this may notify; what requires the block requires it.
	Confirms string `json:"confirms,omitempty"`
	// Requires are the direct predecessors that must succeed: invocations and
	// blocks; what they notify is included, for they must settle.
	Requires []string `json:"requires,omitempty"`
	// After are predecessors that must have ended, well or badly: invocations,
	// blocks and joins.
	After      []string       `json:"after,omitempty"`
	NotifiedBy []Notification `json:"notified_by,omitempty"`
	// Notifies tells, of one of StateRun.Handlers, which handlers it notifies in
	// its turn, without waves, should it run because it is owed something.
	Notifies []Notification `json:"notifies,omitempty"`
	// Next tells, of a handler's wave that is not its last one, what keeps the next one
	// apart from it.
	Next *Between `json:"next,omitempty"`
	// Joined are the options `follows` without which a handler's wave would be several.
	Joined []Follow `json:"joined,omitempty"`
	// Rescues and Finishes name the block in whose rescue or always list the
	// invocation stands: it runs when a member failed, or in every case.
	Rescues  string `json:"rescues,omitempty"`
	Finishes string `json:"finishes,omitempty"`
	Parallel bool   `json:"parallel,omitempty"`
	// Node is, of a rule, the node of data that it is for: it runs if that differs.
	Node    *RuleNode         `json:"node,omitempty"`
	Guards  []Guard           `json:"guards,omitempty"`
	Options InvocationOptions `json:"options,omitzero"`
	Parts   []Part            `json:"parts"`
}

// Notification is an edge to a handler's wave.
type Notification struct {
	Address string `json:"address"` // an invocation, a block, or a part of an invocation
	On      string `json:"on"`      // OnChange or OnFailure
	// Part is, in Notifies, the part of the invocation that notifies; empty: any.
	Part string `json:"part,omitempty"`
}

// Between is what comes after one wave of a handler and before the next.
type Between struct {
	Address string `json:"address"` // an invocation or a block
	// Requires is what it requires, and what has settled only after the wave, or
	// the wave itself; empty: it follows the handler.
	Requires string `json:"requires,omitempty"`
}

// Follow is one option `follows`: what has it, and what that names, without waves.
type Follow struct {
	Address string `json:"address"`
	Follows string `json:"follows"`
}

// What a Notification reacts to.
const (
	OnChange  = "change"
	OnFailure = "failure"
)

// InvocationOptions are the options that act on a whole invocation.
type InvocationOptions struct {
	IgnoreFailure bool     `json:"ignore_failure,omitempty"`
	Locks         []string `json:"lock,omitempty"`
	Tags          []string `json:"tags,omitempty"`
	Description   string   `json:"description,omitempty"`
}

// Block ends when its members, rescue and always invocations have. It stands
// in Requires and NotifiedBy like an invocation.
type Block struct {
	Address   string   `json:"address"`
	Requires  []string `json:"requires,omitempty"` // held by each member too
	After     []string `json:"after,omitempty"`    // of a block that holds nothing: what has ended before
	Members   []string `json:"members"`            // invocations and blocks
	Rescue    []string `json:"rescue,omitempty"`
	Always    []string `json:"always,omitempty"`
	Recovered bool     `json:"recovered,omitempty"`
	// IgnoreFailure: its failure is reported, and blocks nothing.
	IgnoreFailure bool `json:"ignore_failure,omitempty"`
	// Confirm is the check after which what the block changed may stay.
	Confirm *Confirm `json:"confirm,omitempty"`
}

// Confirm is a check, tried again and again, that must pass within a time after
// a block and its handlers have changed something; else the files and links
// that the block changed are put back as they were, and its handlers run again.
type Confirm struct {
	Timeout time.Duration `json:"timeout"` // nanoseconds
	Command []string      `json:"command"` // passes with exit status 0; it must only read
}

// Join ends when all that it names have ended.
type Join struct {
	Address string   `json:"address"`
	After   []string `json:"after"`
}

// Part is one resource in a wanted condition, or one act.
type Part struct {
	Address string         `json:"address"`
	ID      string         `json:"id"` // UUIDv5 of host and address
	Type    string         `json:"type"`
	Key     string         `json:"key,omitempty"`
	Ensure  Ensure         `json:"ensure"`
	Values  map[string]any `json:"values"`
	// Act is, of a rule, for which act on the node the part is; none: for any.
	Act NodeAct `json:"act,omitempty"`
	// Results are attributes that the host computes just before the part runs.
	Results   map[string]*Expr `json:"results,omitempty"`
	Sensitive []string         `json:"sensitive,omitempty"`
	// Requires are addresses of parts of the same invocation, where it is
	// parallel.
	Requires []string `json:"requires,omitempty"`
	// After are those that it follows, likewise.
	After   []string    `json:"after,omitempty"`
	Guards  []Guard     `json:"guards,omitempty"`
	Options PartOptions `json:"options,omitzero"`
}

// PartOptions are the options that act on a part, its own or inherited.
type PartOptions struct {
	Retry         *Retry        `json:"retry,omitempty"`
	Become        string        `json:"become,omitempty"`
	Timeout       time.Duration `json:"timeout,omitempty"` // nanoseconds
	IgnoreFailure bool          `json:"ignore_failure,omitempty"`
	Locks         []string      `json:"lock,omitempty"`
	Sensitive     bool          `json:"sensitive,omitempty"`
	Retain        Retention     `json:"retain,omitempty"`
	Cluster       string        `json:"cluster,omitempty"` // what it makes goes when the machine leaves that cluster
	Tags          []string      `json:"tags,omitempty"`
	Description   string        `json:"description,omitempty"`
}

// Retry says how often an act that failed is tried again.
type Retry struct {
	Attempts int           `json:"attempts"` // in all, at least 1
	Delay    time.Duration `json:"delay,omitempty"`
	Backoff  float64       `json:"backoff,omitempty"` // factor from one delay to the next; 0 is 1
	MaxDelay time.Duration `json:"max_delay,omitempty"`
}

// Guard is decided on the host just before its invocation or part.
type Guard struct {
	Unless      bool     `json:"unless,omitempty"` // skips when it holds; otherwise skips when it does not
	Exists      string   `json:"exists,omitempty"`
	Missing     string   `json:"missing,omitempty"`
	Command     []string `json:"command,omitempty"`
	WouldChange []string `json:"would_change,omitempty"` // invocations and blocks
	// Results are conditions that depend on results, by the names above and
	// "when".
	Results map[string]*Expr `json:"results,omitempty"`
	// Scope is the address of the declaration that carries the guard. A guard
	// is decided once a run for each scope: a block's holds for all of it.
	Scope string `json:"scope"`
}
