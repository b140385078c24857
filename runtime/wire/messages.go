package wire

import (
	"encoding/json"
	"time"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Opening is what a runner is told when it is started, in its arguments: nothing
// in it may be secret.
type Opening struct {
	Facts    []string // the facts to gather; "*" stands for all
	Site     string   // whose content the Hello lists, as journal.Identity names it; empty: none
	StateDir string   // empty: where the acting user's is
	Root     string   // the tree to act on; empty: the machine
	Digest   string   // SHA-256 of the runner, in hex, which it checks itself by; empty: it does not
}

// Hello is what a runner says of itself and of its machine.
type Hello struct {
	Protocol string    `json:"protocol"`
	Program  string    `json:"program"` // its version
	OS       string    `json:"os"`      // as Go names them
	Arch     string    `json:"arch"`
	User     string    `json:"user"` // who acts
	UID      int       `json:"uid"`
	Now      time.Time `json:"now"` // its clock
	// Facts are those that were asked for; Errors says why one cannot be told.
	Facts  map[string]json.RawMessage `json:"facts,omitempty"`
	Errors map[string]string          `json:"errors,omitempty"`
	// Have are the contents that need not be sent, each by the first HaveSize
	// bytes of its SHA-256.
	Have []byte `json:"have,omitempty"`
}

// HaveSize is how many bytes of a digest stand for it in Hello.Have. Where two
// contents begin alike, or one was damaged, the runner says so in a Need.
const HaveSize = 8

// Op is what is asked of a runner.
type Op string

// The operations. Plan and Apply take a bundle.
const (
	OpPlan    Op = "plan"    // events; End.Result
	OpApply   Op = "apply"   // Started, events; End.Result
	OpResume  Op = "resume"  // a run goes on where it ended: as apply; see Request.Execution
	OpAttach  Op = "attach"  // events of a run from After on, until it ends; End.Result
	OpCancel  Op = "cancel"  // ends a run, or keeps an execution from beginning: nothing
	OpPing    Op = "ping"    // nothing
	OpExec    Op = "exec"    // Stdout, Stderr; End.ExitCode
	OpStatus  Op = "status"  // Data: a machine.Status
	OpManaged Op = "managed" // Data: []machine.ManagedSite
	OpHistory Op = "history" // Data: []machine.PastRun
	OpLogs    Op = "logs"    // events; Data: []machine.Output; with Follow as attach
	OpClean   Op = "clean"   // Data: a machine.Cleaned
	OpHold    Op = "hold"    // Data: a machine.Held
	OpRelease Op = "release" // Data: a journal.Hold, or null
	OpForget  Op = "forget"  // Data: what is let go of
	OpRetry   Op = "retry"   // Data: []reconcile.State of the loops that try again
	OpMember  Op = "member"  // Data: a journal.Membership, or null
	OpImport  Op = "import"  // Data: a machine.Import; of contents Stdout
)

// Request is what a controller asks for.
type Request struct {
	Op Op `json:"op"`

	// Who asks, for the records and for who finds the machine locked.
	User    string `json:"user,omitempty"`
	From    string `json:"from,omitempty"` // the controller's name
	Command string `json:"command,omitempty"`

	// ID is of a run or an execution, or its beginning; empty: the latest.
	ID string `json:"id,omitempty"`
	// Host is of attach to an execution, and of resume and cancel of one: which one, where a machine is
	// several of its hosts.
	Host   string   `json:"host,omitempty"`
	After  int64    `json:"after,omitempty"`  // the seq of the last event that was seen
	Follow bool     `json:"follow,omitempty"` // logs: until the run ends
	Names  []string `json:"names,omitempty"`  // addresses to forget

	// Of resume: the execution that goes on, and how many invocations run at once.
	Execution string `json:"execution,omitempty"`
	Parallel  int    `json:"parallel,omitempty"`

	// Of forget: the site that lets go; of it and resume: how long to wait for another apply.
	Site        string        `json:"site,omitempty"`
	LockTimeout time.Duration `json:"lock_timeout,omitempty"`

	// Sealed is of plan: what lies sealed to the machine elsewhere, in the place of a bundle on this connection.
	Sealed *Sealed `json:"sealed,omitempty"`

	Exec   *machine.Exec          `json:"exec,omitempty"`
	Clean  *machine.CleanRequest  `json:"clean,omitempty"`
	Hold   *machine.HoldRequest   `json:"hold,omitempty"`
	Import *machine.ImportRequest `json:"import,omitempty"`
	Member *machine.MemberRequest `json:"member,omitempty"`

	// BecomeMethod and BecomePassword are for parts that act as another account.
	BecomeMethod   string `json:"become_method,omitempty"`
	BecomePassword string `json:"become_password,omitempty"`
}

// Sealed names a bundle that the machine fetches by itself, by digests in lower-case hex.
type Sealed struct {
	Site   string    `json:"site"`
	Bundle Content   `json:"bundle"`
	Files  []Content `json:"files,omitempty"`
}

// Content names bytes that lie elsewhere.
type Content struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Started says that a run has begun.
type Started struct {
	Run   string `json:"run"`
	After int64  `json:"after,omitempty"` // the seq of its last event before
}

// End says how it ended.
type End struct {
	// Failure is why nothing came of it; nil: what was asked for was done, whatever
	// its Result.
	Failure  *states.Failure `json:"failure,omitempty"`
	Result   *machine.Result `json:"result,omitempty"`
	ExitCode int             `json:"exit_code,omitempty"` // of a program
}

// FailedError is a Failure that the other side reports.
type FailedError struct{ Failure states.Failure }

// NewFailedError gives an error in the place of the other side that has failed by it.
func NewFailedError(err error) *FailedError { return &FailedError{*states.FailureOf(err)} }

// Error gives the message.
func (e *FailedError) Error() string { return e.Failure.Message }

// Unwrap gives the message with the hint and the code.
func (e *FailedError) Unwrap() error { return e.Failure.Err() }
