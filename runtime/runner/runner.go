// Package runner acts on the machine that it runs on: it plans and applies jobs, and
// tells what runs have done. The command line calls it for this machine; Serve lets
// a controller call it over a connection. Both ways take the same steps, in the same
// folders, with the same events.
package runner

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
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

	// Note is told what people should know, a line each; nil: nobody.
	Note func(text string)
	// ResumeArgv is what goes on with a run once the machine has started anew.
	ResumeArgv func(run string) []string
	// BecomeMethod and BecomePassword are for parts that act as another account.
	BecomeMethod   string
	BecomePassword string
}

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
	Parallel  int
	// LockTimeout is how long to wait for another apply.
	LockTimeout time.Duration
}

// Plan tells what Apply would do.
func (r *Runner) Plan(ctx context.Context, j *Job, events func(states.Event)) (*runtime.Result, error) {
	return nil, errors.New("runner: not written yet")
}

// Apply carries a job out, and records it. Started, which may be nil, is called once
// the run is recorded.
func (r *Runner) Apply(ctx context.Context, j *Job, started func(run string), events func(states.Event)) (*runtime.Result, error) {
	return nil, errors.New("runner: not written yet")
}

// Serve says Hello and does what one request asks for.
func Serve(ctx context.Context, c *wire.Conn, o wire.Opening, r *Runner) error {
	return errors.New("runner: not written yet")
}
