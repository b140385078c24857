package packages

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// lockedError says that somebody else is at work with the packages.
type lockedError struct{ lock, holder string }

// Error names the lock and who holds it.
func (e *lockedError) Error() string {
	return fmt.Sprintf("the package manager's lock %s is held by %s", e.lock, e.holder)
}

// lockOr gives the lock that a program found held, by what it says, or the error.
func lockOr(err error, said func(exitCode int, text string) *lockedError) error {
	exit, ok := errors.AsType[*process.ExitError](err)
	if !ok {
		return err
	}
	if locked := said(exit.Result.ExitCode, string(exit.Result.Stdout)+string(exit.Result.Stderr)); locked != nil {
		return locked
	}
	return err
}

// How long a part waits for others, and how often it looks.
const (
	defaultPatience = 5 * time.Minute
	firstLook       = 250 * time.Millisecond
	longestLook     = 3 * time.Second
)

// patience is how long the items wait for others who are at work: as long as the
// one that would wait longest.
func (j *job) patience() time.Duration {
	longest := time.Duration(-1)
	for _, item := range j.items {
		p := wishOf(item)
		own := defaultPatience
		if p.LockTimeout != nil {
			own = *p.LockTimeout
		}
		longest = max(longest, own)
	}
	return longest
}

// whenFree does something that needs the package manager, once nobody else is at
// work with it.
func (j *job) whenFree(ctx context.Context, do func() error) error {
	limit, began, said := j.patience(), time.Now(), ""
	for look := firstLook; ; look = min(2*look, longestLook) {
		err := do()
		locked, ok := errors.AsType[*lockedError](err)
		if !ok {
			return err
		}
		left := limit - time.Since(began)
		if left <= 0 {
			return &states.FinalError{Err: &diag.HintError{
				Err:  fmt.Errorf("%w; waited for %s", locked, limit),
				Hint: "apply again when that is done, or raise lock_timeout",
			}}
		}
		if locked.holder != said {
			said = locked.holder
			states.Say(ctx, fmt.Sprintf("waits up to %s: %s", left.Round(time.Second), locked))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(look, left)):
		}
	}
}

// interruption is what a package manager has left unfinished.
type interruption struct {
	What     string
	Repair   string   // the command
	Packages []string // that are concerned; empty: nothing can be done before
	Locks    []string // of whoever is at work right now, if it is no interruption
}

// Error says what is unfinished.
func (e *interruption) Error() string { return e.What }

// inspect makes sure that the manager is able to work. What is unfinished may be
// somebody's work that goes on.
func (j *job) inspect(ctx context.Context) error {
	m, ok := j.manager.(inspector)
	if !ok {
		return nil
	}
	return j.whenFree(ctx, func() error {
		left, err := m.Unfinished(j.h)
		if err != nil || left == nil || left.Packages != nil && j.concerns(left.Packages) {
			return err
		}
		if busy := findHolder(j.h, left.Locks); busy != nil {
			if _, planning := j.h.(interface{ Fork() *host.Shadow }); planning {
				return &states.UncertainError{Reason: busy.Error()}
			}
			return busy
		}
		return &states.FinalError{Err: &diag.HintError{Err: left, Hint: "run " + left.Repair + ", then apply again"}}
	})
}

// concerns reports whether all these packages are among the items.
func (j *job) concerns(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(j.items, func(item states.ItemOf[Package]) bool {
			p := wishOf(item)
			bare, _, _ := strings.Cut(p.Name, ":")
			return p.Name == name || bare == name
		})
	})
}

// findHolder finds the process that holds one of the locks, by what the kernel
// tells about locks (/proc/locks) and open files; nil: none that this user can see.
func findHolder(h host.Reader, locks []string) *lockedError {
	table, err := host.ReadFile(h, "/proc/locks", 1<<20)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line) // 1: POSIX ADVISORY WRITE PID DEVICE:INODE START END
		if len(fields) < 8 || fields[3] != "WRITE" || strings.HasPrefix(fields[4], "-") {
			continue
		}
		dir := path.Join("/proc", fields[4], "fd")
		open, err := h.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, fd := range open {
			target, err := h.ReadLink(path.Join(dir, fd.Name))
			if err == nil && slices.Contains(locks, target) {
				return &lockedError{lock: target, holder: "process " + fields[4] + processName(h, fields[4])}
			}
		}
	}
	return nil
}

// processName gives a process's name in parentheses, or nothing.
func processName(h host.Reader, pid string) string {
	name, err := host.ReadFile(h, path.Join("/proc", pid, "comm"), 256)
	if err != nil {
		return ""
	}
	return " (" + strings.TrimSpace(string(name)) + ")"
}
