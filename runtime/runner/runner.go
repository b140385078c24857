// Package runner acts on the machine that it runs on: it plans and applies jobs, and
// tells what runs have done. The command line calls it for this machine; Serve lets
// a controller call it over a connection. Both ways take the same steps, in the same
// folders, with the same events.
package runner

import (
	"context"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Runner is the machine, and where its records are.
type Runner struct {
	Host     *host.Local
	StateDir string
	Root     string           // the tree that Host acts on; empty: the machine
	Registry *states.Registry // the modules that come with the program
	Program  string           // its version

	// Who acts, for the records and for who finds the machine locked.
	User    string
	From    string
	Command string
	// Login is the account that a controller has logged in with; empty: none has.
	Login string

	// Note is told what people should know; nil: nobody.
	Note func(Note)
	// Detach is called when a run is to begin that outlives its connection, and what it
	// gives once that does; nil: nothing has to be done for that.
	Detach func() (done func())
	// Executable is this program, which is started again as other accounts where parts act
	// as those; empty: they fail.
	Executable string
	// ResumeArgv is what goes on with a run once the machine has started anew.
	ResumeArgv func(run string) []string
	// BecomeMethod and BecomePassword are for parts that act as another account.
	BecomeMethod   string
	BecomePassword string

	// busy is set once a request is known, and so is what the end of a context ends; nil:
	// nobody asks.
	busy *atomic.Bool
	// beat is wire.BeatEvery, but in tests.
	beat time.Duration
	// intercept is asked before each change of the state folder; nil: nobody is. For tests.
	intercept func(journal.Op) error
	// accounts are the other accounts of a run; nil: become's. For tests.
	accounts func(become.Options) accounts
}

// accounts is what parts act as other accounts by.
type accounts interface {
	As(ctx context.Context, user string) (host.Host, error)
	Hurry()
	Close() error
}

// Note is something that people should know, in one line.
type Note struct {
	Kind string
	Text string
}

// Kinds of notes.
const (
	NoteRecords  = "records"  // something of the records is lost, or cannot be read
	NoteWaiting  = "waiting"  // another apply is being waited for
	NoteObstacle = "obstacle" // of a plan: it cannot be applied for now
	NoteReboot   = "reboot"   // the machine starts anew now, and the run goes on after that
)

// Job is what the machine is to do, and all that it needs for it.
type Job struct {
	Run       *states.StateRun
	Registry  *states.Registry                 // with the site's own modules; nil: the Runner's
	Files     fs.FS                            // what parts name
	Origin    string                           // where the site lies
	Execution string                           // of the controller; empty: none
	Places    map[string]diag.Range            // of declarations, by address
	Recorded  func() map[string]journal.Source // the same with their lines, for the records; nil: none
	Modules   []journal.Modules
	Plan      string         // the saved plan that is carried out; empty: none
	Rows      []states.Event // what was consented to: it does that or nothing; nil: anything
	// Observe adds to the rows of a plan what a consent to them must be about; see
	// planfile.Observe.
	Observe  bool
	Parallel int
	// LockTimeout is how long to wait for another apply.
	LockTimeout time.Duration
}
