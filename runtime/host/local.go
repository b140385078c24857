package host

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Local is the machine that the program runs on, or a tree below one of its
// directories. Nothing leads out of such a tree: no "..", no symbolic link. It
// needs Linux.
//
// Commands are started in a session of their own, without a terminal, so that
// none can wait for an answer there. Below a root they run in a chroot, which
// needs the right to do so.
type Local struct {
	root  *os.File // of a tree below a directory; nil: the machine's own root
	dir   string   // the root's path
	env   []string
	grace time.Duration
	runID string // whose names temporary files and programs carry; empty: none

	// componentwise is set where the kernel does not offer openat2.
	componentwise bool
	// origin is set in a view that follows no symbolic link: whose view it is.
	origin *Local

	files         *accounts
	otherAccounts *otherAccounts
	buses         *buses
	cache         *answerCache

	mu      sync.Mutex
	written map[uint64]string // device → a directory on it that was written to
}

// LocalOptions say where and how a Local acts.
type LocalOptions struct {
	// Root is the directory that is "/" to the host; empty or "/": the
	// machine's own root.
	Root string
	// Env is added to the default environment of commands: "NAME=value".
	Env []string
	// Grace is how long a command that must end has between SIGTERM and
	// SIGKILL; 0 means 2 s.
	Grace time.Duration
}

// NewLocal makes a Local. The error says why the root cannot be used.
func NewLocal(o LocalOptions) (*Local, error) {
	l := &Local{dir: "/", env: o.Env, grace: o.Grace, otherAccounts: &otherAccounts{}, buses: &buses{}, cache: &answerCache{}, written: map[uint64]string{}}
	if l.grace == 0 {
		l.grace = 2 * time.Second
	}
	l.files = &accounts{read: l.readAccounts}
	if o.Root == "" || o.Root == "/" {
		return l, nil
	}
	root, err := os.OpenFile(o.Root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("the root directory cannot be used: %w", err)
	}
	if l.dir, err = os.Readlink(procPath(int(root.Fd()))); err != nil {
		l.dir = o.Root // without /proc
	}
	l.root = root
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	fd, err := unix.Openat2(int(root.Fd()), "/", &how)
	if err == nil {
		unix.Close(fd)
	}
	l.componentwise = err != nil
	return l, nil
}

// ForRun is Runner.ForRun. Its Sync is about its own writes.
func (l *Local) ForRun(id string) Host {
	if l.origin != nil {
		return l.origin.ForRun(id).NoFollow()
	}
	return &Local{root: l.root, dir: l.dir, env: l.env, grace: l.grace, runID: id,
		componentwise: l.componentwise, files: l.files, otherAccounts: l.otherAccounts, buses: l.buses, cache: l.cache, written: map[uint64]string{}}
}

// TempName is Namer.TempName.
func (l *Local) TempName() string { return tempName(l.runID) }

// Actor gives the user that the program runs as.
func (l *Local) Actor() (uid, gid int) { return os.Geteuid(), os.Getegid() }

// machine gives the running machine, for facts.
func (l *Local) machine() (Reader, bool) {
	if l.root == nil {
		return l, true
	}
	return &Local{dir: "/", cache: &answerCache{}}, true
}

// Sync makes all earlier writes durable: one syncfs for each file system that
// was written to.
func (l *Local) Sync() error {
	if l.origin != nil {
		return l.origin.Sync()
	}
	l.mu.Lock()
	written := l.written
	l.written = map[uint64]string{}
	l.mu.Unlock()
	for device, dir := range written {
		if err := l.syncDevice(device, dir); err != nil {
			return pathError("sync", dir, err)
		}
	}
	return nil
}

// SyncAll is OthersSyncer.SyncAll, by sync(2), which on Linux returns when all is written.
func (l *Local) SyncAll() error {
	unix.Sync()
	return nil
}

// syncDevice syncs the file system of a directory, or all of them if the
// directory has gone or is another's now.
func (l *Local) syncDevice(device uint64, dir string) error {
	fd, err := l.openAt(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		defer unix.Close(fd)
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Dev == device {
			return unix.Syncfs(fd)
		}
	}
	unix.Sync()
	return nil
}

// noteWritten notes that a directory was written to.
func (l *Local) noteWritten(device uint64, path string) {
	if l.origin != nil {
		l.origin.noteWritten(device, path)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.written[device]; !known {
		l.written[device], _ = splitPath(path)
	}
}
