// Package runner is the machine that it runs on, as the machine package has it: it plans
// and applies jobs, and tells what runs have done. The command line calls it for this
// machine; Serve lets a controller call it over a connection. Both ways take the same
// steps, in the same folders, with the same events.
package runner

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Host is what a Runner acts on: the machine or a tree, or a host in memory, as which no
// other accounts can act.
type Host interface {
	host.Host
	host.Syncer
}

// Runner is the machine, and where its records are. One value serves all that happens in
// a process: Cancel sends a run that it does not carry out itself a signal to its process.
type Runner struct {
	Host     Host
	StateDir string
	Root     string           // the tree that Host acts on; empty: the machine
	Registry *states.Registry // the modules that come with the program
	Program  string           // its version

	Caller machine.Caller // who asks, unless a controller does
	// Login is the account that a controller has logged in with; empty: none has.
	Login string

	// Detach is called when a run is to begin that outlives its connection, and what it
	// gives once that does; nil: nothing has to be done for that.
	Detach func() (done func())
	// Executable is this program, which is started again as other accounts where parts act
	// as those; empty: they fail.
	Executable string
	// ResumeArgv is what goes on with a run once the machine has started anew.
	ResumeArgv func(run string) []string
	// Continue puts in place what goes on with a run once the machine has started anew, and
	// gives what takes that back; nil: a unit of systemd, which calls ResumeArgv.
	Continue func(ctx context.Context) (undo func() error, err error)
	// Volatile says that the records need not outlive a crash: they are faster so.
	Volatile bool
	// Files opens the site or the saved plan that a run was begun with, where Resume wants
	// it; nil, or an answer that is nil: only what came in a bundle can be opened.
	Files func(context.Context, journal.Status) (fs.FS, error)
	// Unseal fetches and opens what lies sealed to this machine elsewhere; nil: nothing does.
	Unseal func(context.Context, *wire.Sealed) (*machine.Job, error)

	// busy is set once a request is known, and so is what the end of a context ends; nil:
	// nobody asks.
	busy *atomic.Bool
	// beat is wire.BeatEvery, but in tests.
	beat time.Duration
	// intercept is asked before each change of the state folder; nil: nobody is. For tests.
	intercept func(journal.Op) error
	// accounts are the other accounts of a run; nil: become's. For tests.
	accounts func(become.Options) accounts
	// uptime is how long ago the machine was started; nil: as the kernel says. For tests.
	uptime func() (time.Duration, error)
	// terminate asks another process to end what it does; nil: terminate does. For tests.
	terminate func(pid int) error

	mu    sync.Mutex
	calls map[*call]func() // in progress, and what cancels them
}

var (
	_ machine.Machine   = (*Runner)(nil)
	_ machine.Inventory = (*Runner)(nil)
	_ machine.Importer  = (*Runner)(nil)
)

// accounts is what parts act as other accounts by.
type accounts interface {
	As(ctx context.Context, user string) (host.Host, error)
	Hurry()
	Close() error
}
