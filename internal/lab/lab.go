// Package lab boots real hosts for tests: Debian with systemd as PID 1, apt,
// sshd, cron and nginx, each in a container of its own that forgets everything when
// it ends. Hosts of a run are in one network, which can be cut and slowed. It needs root, debootstrap and systemd-nspawn; what is missing is an
// error that names the command which installs it.
//
// Build makes the base system once and keeps it in CacheDir. Open starts a
// run; Boot starts a host in about two seconds. A run holds a lock for as long
// as its process lives, and everything it starts carries the run's name, so
// that Clean finds what a crashed run has left.
package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Where the lab keeps its things.
const (
	CacheDir = "/var/cache/tenet-lab" // base systems
	RunDir   = "/run/tenet-lab"       // a folder for each run

	runPrefix = "tenet-lab-" // of the runs' names, with a number behind it
)

// Run is a set of hosts that end together.
type Run struct {
	name string
	dir  string
	base string
	lock *os.File
	held *os.File // the base
	// names is where hosts ask for one another's addresses.
	names net.PacketConn

	mu     sync.Mutex
	hosts  []*Host
	booted int // how many hosts there were so far
}

// Open starts a run: it clears what dead runs have left, and builds the base
// system if there is none yet.
func Open(ctx context.Context) (*Run, error) {
	if err := checkTools(os.Geteuid(), exec.LookPath); err != nil {
		return nil, err
	}
	if _, err := Clean(); err != nil {
		return nil, err
	}
	base, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	held, err := hold(base)
	if err != nil {
		return nil, err
	}
	all, err := lockRuns()
	if err != nil {
		return nil, err
	}
	defer all.Close()
	dir, err := os.MkdirTemp(RunDir, runPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil, err
	}
	r := &Run{name: filepath.Base(dir), dir: dir, base: base, lock: lock, held: held}
	if err := r.openNetwork(ctx); err != nil {
		return nil, errors.Join(err, r.remove())
	}
	return r, nil
}

// Close ends the run's hosts and removes all that it has made.
func (r *Run) Close() error {
	r.mu.Lock()
	hosts := slices.Clone(r.hosts)
	r.mu.Unlock()
	var errs []error
	for _, h := range hosts {
		errs = append(errs, h.PowerOff())
	}
	all, err := lockRuns() // nobody clears what is just going
	errs = append(errs, err, r.remove())
	if err == nil {
		errs = append(errs, all.Close())
	}
	return errors.Join(errs...)
}

// remove removes what a run without hosts is made of.
func (r *Run) remove() error {
	var errs []error
	if r.names != nil {
		errs = append(errs, r.names.Close())
	}
	errs = append(errs, removeNetwork(r.name), os.RemoveAll(r.dir), r.lock.Close(), r.held.Close())
	return errors.Join(errs...)
}

// checkTools says what the lab lacks, and the command that would help.
func checkTools(uid int, look func(string) (string, error)) error {
	if uid != 0 {
		return errors.New("lab: hosts are booted as root: sudo .ci/run lab")
	}
	packages := map[string]string{
		"debootstrap":    "debootstrap",
		"systemd-nspawn": "systemd-container",
		"nsenter":        "util-linux",
		"unshare":        "util-linux",
		"apt-get":        "apt",
		"ip":             "iproute2",
		"tc":             "iproute2",
	}
	var missing, install []string
	for _, tool := range []string{"debootstrap", "systemd-nspawn", "nsenter", "unshare", "apt-get", "ip", "tc"} {
		if _, err := look(tool); err != nil {
			missing = append(missing, tool)
			if !slices.Contains(install, packages[tool]) {
				install = append(install, packages[tool])
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("lab: %s not found: apt-get install --no-install-recommends -y %s",
			strings.Join(missing, ", "), strings.Join(install, " "))
	}
	return nil
}

// lockRuns is held while runs are begun or cleared, so that no one clears a
// run that is just beginning.
func lockRuns() (*os.File, error) {
	if err := os.MkdirAll(RunDir, 0o700); err != nil {
		return nil, err
	}
	return lockFile(filepath.Join(RunDir, "lock"), syscall.LOCK_EX)
}

// lockFile opens a file and takes its lock, which the kernel gives back when
// the process ends, however it ends.
func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}
