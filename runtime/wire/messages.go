package wire

import (
	"encoding/json"
	"time"

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
	OpPing    Op = "ping"    // nothing
	OpFacts   Op = "facts"   // Data: further facts by name, those of Names
	OpExec    Op = "exec"    // Stdout, Stderr; End.ExitCode
	OpStatus  Op = "status"  // Data: a runner.Standing
	OpManaged Op = "managed" // Data: []runner.ManagedSite
	OpHistory Op = "history" // Data: []runner.Past
	OpLogs    Op = "logs"    // events; Data: []runner.Output; with Follow as attach
	OpClean   Op = "clean"   // Data: a runner.Cleaned
	OpHold    Op = "hold"    // Data: a journal.Hold
	OpRelease Op = "release" // Data: a journal.Hold, or null
	OpForget  Op = "forget"  // Data: what is let go of
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
	// Host is of attach to an execution and of resume of one: which one, where a machine is
	// several of its hosts.
	Host   string   `json:"host,omitempty"`
	After  int64    `json:"after,omitempty"`  // the seq of the last event that was seen
	Follow bool     `json:"follow,omitempty"` // logs: until the run ends
	Names  []string `json:"names,omitempty"`  // facts; addresses to forget

	// Of resume: the execution that goes on, and how many invocations run at once.
	Execution string `json:"execution,omitempty"`
	Parallel  int    `json:"parallel,omitempty"`

	// Of forget: the site that lets go; of it and resume: how long to wait for another apply.
	Site        string        `json:"site,omitempty"`
	LockTimeout time.Duration `json:"lock_timeout,omitempty"`

	Exec  *Exec  `json:"exec,omitempty"`
	Clean *Clean `json:"clean,omitempty"`
	Hold  *Hold  `json:"hold,omitempty"`

	// BecomeMethod and BecomePassword are for parts that act as another account.
	BecomeMethod   string `json:"become_method,omitempty"`
	BecomePassword string `json:"become_password,omitempty"`
}

// Exec is a command to run.
type Exec struct {
	Argv  []string `json:"argv"`
	User  string   `json:"user,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	Stdin []byte   `json:"stdin,omitempty"` // what the program reads: it has to fit into the frame
}

// Clean says which records go, where no ID does.
type Clean struct {
	Keep      int           `json:"keep"` // of the latest; negative: all that are not too old
	OlderThan time.Duration `json:"older_than,omitempty"`
	// Runners removes cached runners that were not used for so long; 0: none.
	Runners time.Duration `json:"runners,omitempty"`
}

// Hold is a wish that nobody applies.
type Hold struct {
	Reason string        `json:"reason"`
	For    time.Duration `json:"for,omitempty"` // 0: until it is released
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
	Result   *Result         `json:"result,omitempty"`
	ExitCode int             `json:"exit_code,omitempty"` // of a program
}

// Result is how a plan or an apply ended, as runtime.Result has it.
type Result struct {
	Run         string         `json:"run,omitempty"`
	Counts      states.Counts  `json:"counts"`
	Failed      bool           `json:"failed,omitempty"`
	Interrupted bool           `json:"interrupted,omitempty"`
	Rebooting   bool           `json:"rebooting,omitempty"`
	Report      *states.Report `json:"report,omitempty"`
}

// Codes of a Failure that a controller tells apart.
const (
	CodeLocked      = "locked"      // another apply runs, or applies are on hold
	CodeStale       = "stale"       // the machine is not as it was when the plan was shown
	CodeDamaged     = "damaged"     // what came is not what was sent
	CodeInterrupted = "interrupted" // it was cancelled
	CodeNotFound    = "not_found"   // there is no such run
	CodeNeeded      = "needed"      // clean: what is asked to go is needed still
)

// FailedError is a Failure that the other side reports.
type FailedError struct{ Failure states.Failure }

// Error gives the message.
func (e *FailedError) Error() string { return e.Failure.Message }
