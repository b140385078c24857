package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// Memory is a host that lives in memory, for tests: a tree of files that is
// empty at first, accounts as /etc/passwd and /etc/group of that tree have
// them, and programs that are Go functions. Unlike a real host it checks no
// permissions, unless it was told to by Obey.
type Memory struct {
	*tree
	*accounts
	*memoryState
	run string // whose names temporary files carry; empty: none
}

// memoryState is what the views of a Memory have in common beside its files.
type memoryState struct {
	guard    sync.RWMutex
	programs map[string]Program
	uid, gid int
	init     func(ctx context.Context, user string) (Init, error) // nil: there is none
	links    links.Devices                                        // nil: there are none
	network  Network                                              // nil: there is none
	clock    time.Time                                            // zero: this machine's
	slept    time.Duration
}

// Program is a program of a Memory host.
type Program func(ctx context.Context, c Command) (Result, error)

// NewMemory makes an empty host, with root as the acting user.
func NewMemory() *Memory {
	m := &Memory{memoryState: &memoryState{programs: map[string]Program{}}}
	m.tree = newTree(nil, m.Actor)
	m.accounts = newTreeAccounts(m.tree)
	return m
}

// ActAs sets the owner of what is written without one.
func (m *Memory) ActAs(uid, gid int) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.uid, m.gid = uid, gid
}

// Actor gives the acting user and its group.
func (m *Memory) Actor() (uid, gid int) {
	m.guard.RLock()
	defer m.guard.RUnlock()
	return m.uid, m.gid
}

// Obey makes it refuse from now on what a real machine would refuse to this account,
// which is the acting user then.
func (m *Memory) Obey(c Credentials) {
	m.ActAs(c.UID, c.GID)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	m.tree.rights = &rights{of: func() Credentials { return c }, refuse: func(*Refusal) error { return syscall.EPERM }}
}

// Credentials is Permissions.Credentials: who was not told otherwise may do everything.
func (m *Memory) Credentials() Credentials {
	if m.tree.rights == nil {
		uid, gid := m.Actor()
		return Credentials{UID: uid, GID: gid, Privileged: true}
	}
	return m.tree.rights.of()
}

// Access is Permissions.Access.
func (m *Memory) Access(path string) Access { return m.tree.accessAt(path) }

// ForRun is Runner.ForRun: the same machine.
func (m *Memory) ForRun(id string) Host { return &Memory{m.tree, m.accounts, m.memoryState, id} }

// TempName is Namer.TempName.
func (m *Memory) TempName() string { return tempName(m.run) }

// NoFollow is NoFollower.NoFollow.
func (m *Memory) NoFollow() Host {
	return &Memory{m.tree.noFollow(nil), m.accounts, m.memoryState, m.run}
}

// OpenDir is DirOpener.OpenDir.
func (m *Memory) OpenDir(path string) (Dir, error) { return DirByPath(m, path) }

// OpenNoFollow is NoFollowOpener.OpenNoFollow.
func (m *Memory) OpenNoFollow(path string) (io.ReadCloser, Info, error) {
	return openNoFollow(m.NoFollow(), path)
}

// Sync is Syncer.Sync: nothing outlives the program.
func (m *Memory) Sync() error { return nil }

// StrayProcesses is ProcessSweeper.StrayProcesses: programs are functions, which end.
func (m *Memory) StrayProcesses(run, part string) []int { return nil }

// EndStrayProcesses is ProcessSweeper.EndStrayProcesses.
func (m *Memory) EndStrayProcesses(run, part string) error { return nil }

// Running is Capabilities.Running.
func (m *Memory) Running() bool { return true }

func (m *Memory) keep(_ string, _ []string, make func() (any, error)) (any, error) { return make() }
func (m *Memory) foreseen(string) bool                                             { return false }
func (m *Memory) machine() (Reader, bool)                                          { return nil, false }

// Handle sets what a program does. Name is Argv[0], or its last part.
func (m *Memory) Handle(name string, p Program) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.programs[name] = p
}

// Add puts a file with this text on the host, with directories as they are
// needed: a short way to prepare a test.
func (m *Memory) Add(path, text string) error {
	return m.writeFile(context.Background(), path, Text(text), Meta{}, true)
}

// WriteFile is Writer.WriteFile. The content is read whole.
func (m *Memory) WriteFile(ctx context.Context, path string, c Content, meta Meta) error {
	if _, inline := c.Inline(); !inline {
		r, err := openChecked(ctx, c)
		if err != nil {
			return pathError("write", path, err)
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			return pathError("write", path, err)
		}
		c = Text(string(data))
	}
	return m.writeFile(ctx, path, c, meta, false)
}

// Mkdir is Writer.Mkdir.
func (m *Memory) Mkdir(path string, meta Meta) error { return m.mkdir(path, meta, false) }

// Symlink is Writer.Symlink.
func (m *Memory) Symlink(target, path string, meta Meta) error {
	return m.symlink(target, path, meta, false)
}

// SetMeta is Writer.SetMeta.
func (m *Memory) SetMeta(path string, meta Meta) error { return m.setMeta(path, meta, false) }

// Run is Processes.Run, by a function that Handle was given. Another program
// is fs.ErrNotExist.
func (m *Memory) Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Argv) == 0 {
		return Result{}, errNoArgv
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Argv[0], context.Cause(ctx))
	}
	m.guard.RLock()
	p := m.programs[c.Argv[0]]
	if p == nil {
		p = m.programs[path.Base(c.Argv[0])]
	}
	m.guard.RUnlock()
	if p == nil {
		return Result{}, &NoProgramError{c.Argv[0]}
	}
	if c.User != "" {
		if _, err := m.User(c.User); err != nil {
			return Result{}, fmt.Errorf("%s: %w", c.Argv[0], err)
		}
	}
	result, err := p(ctx, c)
	if c.Watch != nil {
		c.Watch("stdout", result.Stdout)
		c.Watch("stderr", result.Stderr)
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", c.Argv[0], context.Cause(ctx))
	}
	limit := outputLimit(c)
	result.Truncated = result.Truncated || len(result.Stdout) > limit || len(result.Stderr) > limit
	result.Stdout = result.Stdout[:min(len(result.Stdout), limit)]
	result.Stderr = result.Stderr[:min(len(result.Stderr), limit)]
	return result, err
}

// Query is Processes.Query.
func (m *Memory) Query(ctx context.Context, q Query) (Result, error) { return m.Run(ctx, q.Command) }

var errNoArgv = errors.New("there is no program to start: argv is empty")

// NoProgramError says that a program is not on the host. It is an fs.ErrNotExist.
type NoProgramError struct{ Name string }

// Error names the program.
func (e *NoProgramError) Error() string { return fmt.Sprintf("there is no program %q", e.Name) }

// Is makes it an fs.ErrNotExist.
func (e *NoProgramError) Is(target error) bool { return target == fs.ErrNotExist }

// outputLimit is how much of each stream of a command's output is kept.
func outputLimit(c Command) int {
	if c.MaxOutput > 0 {
		return c.MaxOutput
	}
	return 1 << 20
}
