package host

import (
	"context"
	"io"
	"time"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// Capabilities are what a host answers beside files, programs and accounts. They are
// methods of every Host, and none is asked for by its type: so a host that wraps another
// one by embedding it hands all of them on, and one that is written from scratch does
// not compile without those that keep it from following links. What a host lacks, Limited
// answers for it.
//
// A wrapper that changes what a method does is met at all ways to it only if it changes
// OpenDir, NoFollow and ForRun alike, as Watched does: use that.
type Capabilities interface {
	DirOpener
	NoFollowOpener
	NoFollower
	Machine
	Clock
	Actor
	Permissions
	Runner
	Namer
	Syncer
	ProcessSweeper
	// Running reports whether the host is the machine that the kernel runs, with mounts
	// and processes, rather than a tree of files below a root.
	Running() bool
	keeper
	opener
	planner
	machineReporter
}

// machineReporter is about hosts that act on a machine that runs, of which they may be but a
// tree below a root; see RunningMachine.
type machineReporter interface {
	machine() (r Reader, real bool)
}

// RunningMachine gives the files of the machine that runs, such as /proc, where the host
// is a tree of files below a root; nil: that machine and the host are one. Whether it is
// real says whether the kernel may be asked besides.
func RunningMachine(h Host) (r Reader, real bool) { return h.machine() }

// planner is about what a plan knows; see Obscure and Foreseen.
type planner interface {
	obscure(path string) error
	foreseen(path string) bool
}

// Limited has the Capabilities of a host that lacks them, for one that is written from
// scratch to embed: no init system, devices or network, this machine's clock, root as the
// acting user, who may do everything. OpenDir, OpenNoFollow, NoFollow and ForRun it has not,
// since they depend on the host: see DirByPath and NoFollowByPath.
type Limited struct{}

// Init is Machine.Init.
func (Limited) Init(context.Context, string) (Init, error) { return nil, lackError("an init system") }

// Links is Machine.Links.
func (Limited) Links(context.Context) (links.Devices, error) {
	return nil, lackError("network devices")
}

// Network is Machine.Network.
func (Limited) Network() (Network, error) { return nil, lackError("a network") }

// Tune is Machine.Tune.
func (Limited) Tune(string, string) error { return lackError("a kernel") }

// Now is Clock.Now.
func (Limited) Now() time.Time { return time.Now() }

// Sleep is Clock.Sleep.
func (Limited) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }

// Actor is Actor.Actor.
func (Limited) Actor() (uid, gid int) { return 0, 0 }

// Credentials is Permissions.Credentials.
func (Limited) Credentials() Credentials { return Credentials{Privileged: true} }

// Access is Permissions.Access.
func (Limited) Access(string) Access { return fullAccess() }

// TempName is Namer.TempName.
func (Limited) TempName() string { return tempName("") }

// Sync is Syncer.Sync: nothing outlives the program.
func (Limited) Sync() error { return nil }

// StrayProcesses is ProcessSweeper.StrayProcesses.
func (Limited) StrayProcesses(run, part string) []int { return nil }

// EndStrayProcesses is ProcessSweeper.EndStrayProcesses.
func (Limited) EndStrayProcesses(run, part string) error { return nil }

// Running is Capabilities.Running.
func (Limited) Running() bool { return true }

func (Limited) keep(_ string, _ []string, make func() (any, error)) (any, error) { return make() }
func (Limited) opener(string) (func() (io.ReadCloser, error), error)             { return nil, nil }
func (Limited) obscure(string) error                                             { return nil }
func (Limited) foreseen(string) bool                                             { return false }
func (Limited) machine() (Reader, bool)                                          { return nil, false }
