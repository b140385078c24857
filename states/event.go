package states

import (
	"encoding/json"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// EventFormat is the version of the events' JSON; a run's first event has it.
const EventFormat = "tenet.events/2"

// Event types.
const (
	EventRun        = "run"        // a run starts: Format, Run, Host, Revision, Mode, Boot
	EventResume     = "resume"     // it goes on in another process: Boot
	EventStart      = "start"      // a handler that is called starts: Address, Owed (what it was owed)
	EventInvocation = "invocation" // an invocation or block ended: Address, Outcome, Reason, Owes
	EventBegin      = "begin"      // a part is about to act: Address, Action, Handlers, Resource
	EventPart       = "part"       // a part ended: Outcome (apply) or Action (plan), Owes
	EventRetry      = "retry"      // an attempt failed and is made again: Address, Attempt, Error
	EventSaid       = "said"       // an act that takes long says what it waits for: Address, Reason
	EventOwed       = "owed"       // a debt of an earlier run has other names now: Owed (as it was, as it is)
	EventDropped    = "dropped"    // a debt that nobody can pay any more, or a part that nobody can try again: Address, Owed, Reason
	EventUnknown    = "unknown"    // an earlier run began this part, and did not end it: Address (as it is now), ID, Run, Reason
	EventOrphan     = "orphan"     // a resource that is no longer declared: Address, Part, Key, Run, Reason
	EventWanted     = "wanted"     // a part that is to be retained, or no longer, is wanted now: Address, Part, Key, Retain
	EventForgotten  = "forgotten"  // a resource that the site no longer manages: Part, Key
	EventCleaned    = "cleaned"    // a trace of an earlier run is gone: Key (a path or a process), Run, Reason
	EventConfirm    = "confirm"    // a block waits for its check (Reason), or it has ended (Outcome, Error, Owes): Address; of an earlier run: Run, Site
	EventRestored   = "restored"   // a path is again as it was before a block: Address, Key, ID (of the part that had changed it), Run (its run, if it is an earlier one), Owes
	EventNode       = "node"       // a node of a rule: it is about to be changed (no Outcome), it is as Node says (Changed), or it was deleted (Node is empty): Address, Node
	EventSummary    = "summary"    // the run ended: Counts
)

// Outcome is how a part or an invocation ended.
type Outcome string

// The outcomes; see docs/architecture.md.
const (
	Unchanged Outcome = "unchanged" // it was so already
	Changed   Outcome = "changed"   // it was made so, and read back
	Failed    Outcome = "failed"    // the act ended in an error, or it still differs
	Unknown   Outcome = "unknown"   // begun, and nobody knows how it ended
	Skipped   Outcome = "skipped"   // its guard said no
	Blocked   Outcome = "blocked"   // something it requires failed or is blocked
	Idle      Outcome = "idle"      // a handler that nobody notified
	Rescued   Outcome = "rescued"   // blocks only: a member failed and rescue succeeded
)

// Action is what a plan foresees for a part.
type Action string

// The actions.
const (
	NoChange Action = "no change"
	Create   Action = "create"
	Update   Action = "update"
	Remove   Action = "remove"
	Execute  Action = "execute"
)

// Event is one step of a run. Events are the log, the progress and the journal
// in one: a line of JSON each in events.jsonl, and what every renderer gets.
type Event struct {
	Seq    int64     `json:"seq"` // from 1, without gaps
	Time   time.Time `json:"time"`
	Type   string    `json:"type"`
	Format string    `json:"format,omitempty"`
	Run    string    `json:"run,omitempty"`
	Mode   string    `json:"mode,omitempty"` // "plan" or "apply"
	Host   string    `json:"host,omitempty"`
	Site   string    `json:"site,omitempty"`
	Origin string    `json:"origin,omitempty"` // where the site lies: the journal adds it

	Revision string `json:"revision,omitempty"`

	Address    string  `json:"address,omitempty"`
	ID         string  `json:"id,omitempty"`
	Invocation string  `json:"invocation,omitempty"`
	Part       string  `json:"part_type,omitempty"` // the part's module
	Key        string  `json:"key,omitempty"`
	Ensure     Ensure  `json:"ensure,omitempty"`
	Outcome    Outcome `json:"outcome,omitempty"`

	Action  Action `json:"action,omitempty"`
	Certain *bool  `json:"certain,omitempty"` // plans; false is "maybe", with Reason
	Reason  string `json:"reason,omitempty"`
	// Assured says of a maybe that it will be so in any case: open is whether that changes
	// something. Cause is the part for which a row is a maybe, in the end: itself, if it has
	// its own reason.
	Assured bool   `json:"assured,omitempty"`
	Cause   string `json:"cause,omitempty"`

	// Wave says in a plan what makes this wave of a handler, where it has several or
	// would have.
	Wave string `json:"wave,omitempty"`

	// Boot names the time since the kernel was started: its boot id.
	Boot string `json:"boot,omitempty"`

	Changes  []Change `json:"changes,omitempty"`
	Handlers []string `json:"handlers,omitempty"` // begin: the handlers that may be owed, without waves
	Owes     []string `json:"owes,omitempty"`     // the handlers that are owed from now on, without waves
	Owed     []Debt   `json:"owed,omitempty"`
	// Resource holds the values by which a created resource is found again and
	// removed: keys and how-to attributes, none of them sensitive. Requires are
	// the addresses of what its invocation required, without waves.
	Resource map[string]any `json:"resource,omitempty"`
	// Manifest names the list of the many things that a resource consists of, in the
	// state folder, by its SHA-256: of what the site is to have made of it once the
	// act that begins is done.
	Manifest string `json:"manifest,omitempty"`
	// Made is Manifest as versions before state folders of format 3 have written it. It is
	// only read.
	Made     string   `json:"made,omitempty"`
	Requires []string `json:"requires,omitempty"`
	// Cluster is the cluster without which what is wanted goes.
	Cluster string `json:"cluster,omitempty"`
	// Retain is the retention of what is wanted; none: it is not to be retained.
	Retain  Retention `json:"retain,omitempty"`
	Output  string    `json:"output,omitempty"` // what an act says to the user, masked
	Attempt int       `json:"attempt,omitempty"`
	// Node is what is remembered of a node of a rule.
	Node     json.RawMessage `json:"node,omitempty"`
	Duration time.Duration   `json:"duration,omitempty"` // nanoseconds
	Error    *Failure        `json:"error,omitempty"`

	*Counts
}

// Change is one attribute that differs.
type Change struct {
	Attribute string `json:"attribute"`
	From      any    `json:"from"` // nil: nothing was there
	To        any    `json:"to"`   // nil: removed
	// Diff is a unified diff, for text; From and To are then short
	// descriptions of the content.
	Diff string `json:"diff,omitempty"`
	// WhenMade: To is given only to what is new. The site does not say it, and what is
	// there already keeps its own.
	WhenMade bool `json:"when_made,omitempty"`
}

// KnownAfterApply stands in a Change of a plan for a value that is computed of
// results which only an apply will know.
const KnownAfterApply = "(known after apply)"

// Failure is why a part failed, or why nobody knows.
type Failure struct {
	Code    string `json:"code"` // a word for programs: "not_found", "permission", "timeout", …
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Source  string `json:"source,omitempty"` // file:line:column of the declaration
}

// FailureOf describes an error, with the hint and the code that it has.
func FailureOf(err error) *Failure {
	return &Failure{Code: diag.CodeOf(err), Message: err.Error(), Hint: diag.HintOf(err)}
}

// Err gives the error that the failure describes.
func (f *Failure) Err() *diag.HintError {
	return &diag.HintError{Code: f.Code, Message: f.Message, Hint: f.Hint}
}

// Counts is the sum of a run, by parts. A plan counts what would change as
// Changed.
type Counts struct {
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Failed    int `json:"failed"`
	Blocked   int `json:"blocked"`
	Skipped   int `json:"skipped"`
	Idle      int `json:"idle"`
	Unknown   int `json:"unknown"`
	Retried   int `json:"retried,omitempty"` // attempts after the first

	// Plans only.

	Create  int `json:"create,omitempty"`
	Update  int `json:"update,omitempty"`
	Remove  int `json:"remove,omitempty"`
	Execute int `json:"execute,omitempty"`
	Maybe   int `json:"maybe,omitempty"`
	// AsThingsAre are those of Unchanged and of Skipped that are not certain: something
	// before them may change what they look at.
	AsThingsAre int `json:"as_things_are,omitempty"`
}
