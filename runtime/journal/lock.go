package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LockedError says who applies now.
type LockedError struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"` // empty: it is starting
	Since time.Time `json:"since"`
	// Revision of the StateRun, and the kernel's boot id: see sameRun.
	Revision string `json:"revision"`
	Boot     string `json:"boot"`

	Execution string `json:"execution,omitempty"` // see Meta

	User    string `json:"user,omitempty"`    // see Meta
	From    string `json:"from,omitempty"`    // see Meta
	Command string `json:"command,omitempty"` // see Meta

	// Dead says that this process has ended, and that what it was starting when it was
	// killed has its lock still: a process has all that is open until it becomes another
	// program. See acquire.
	Dead bool `json:"-"`
}

// holder is what the lock file says: who holds the lock, or has held it last, and
// through which run owed.json still holds.
type holder struct {
	LockedError
	// Settled is the last run that left nothing other than what owed.json says,
	// if that is still the one through the run Base.
	Settled string `json:"settled,omitempty"`
	Base    string `json:"base,omitempty"`
	// Ended says that it has given up the lock. Whoever holds it then has not
	// written down yet who that is.
	Ended bool `json:"ended,omitempty"`
	// Process is the one that holds it; nil: an older version has written this.
	Process *processID `json:"process,omitempty"`
}

// who names the holder, if the lock is held.
func (h *holder) who() *LockedError {
	if h.Ended {
		return &LockedError{}
	}
	h.Dead = h.Process.isDead()
	return &h.LockedError
}

// release gives up the lock, and says so.
func (h *holder) release(lock *file) error {
	h.Ended = true
	return Join(claim(lock, h), unlock(lock))
}

// unlock gives up the lock, also where a program that is being started has it open still.
func unlock(lock *file) error {
	err := fcntl(lock.File, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	return Join(err, lock.Close())
}

// Error names the holder.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "another apply is starting on this state folder"
	}
	who := fmt.Sprintf("process %d", e.PID)
	words := []string{e.Command}
	if e.User != "" {
		words = append(words, "by "+e.User)
	}
	if e.From != "" {
		words = append(words, "from "+e.From)
	}
	if more := strings.TrimSpace(strings.Join(words, " ")); more != "" {
		who += " (" + more + ")"
	}
	if e.Dead {
		return who + " was killed while it was starting a program, which still holds the lock of this state folder: wait until that has ended, or end it; fuser names it"
	}
	if e.Run == "" {
		return fmt.Sprintf("%s is starting on this state folder since %s", who, moment(e.Since))
	}
	return fmt.Sprintf("%s applies run %s since %s", who, e.Run, moment(e.Since))
}

// Waits for the lock begin with the first of these, and grow to the second.
const (
	shortestWait = 50 * time.Millisecond
	longestWait  = 250 * time.Millisecond
)

// remainder is how long what a dead process was starting may hold its lock: usually less
// than a millisecond, and more where its program comes from a slow disk.
const remainder = 5 * time.Second

// acquire takes the folder's lock, and waits for it as long as m says. The kernel
// gives it up with the process, so that a dead holder is no obstacle, and a live
// one always is. What a process was starting when it was killed has its lock for a moment
// longer: that is waited for, since only the kernel knows that nobody holds it any more.
// last is who held it before. The holder may do what this one is to do:
// begun, which may be nil, tells once that is a run, and until then it is waited for. An
// error of withdrawn, which may be nil too, ends the wait.
func (f *Folder) acquire(ctx context.Context, m *Meta, begun, withdrawn func() error) (lock *file, last holder, err error) {
	since := time.Now()
	told := ""
	for wait := shortestWait; ; wait = min(2*wait, longestWait) {
		if ctx.Err() != nil {
			return nil, holder{}, context.Cause(ctx)
		}
		lock, last, err = f.tryLock()
		var locked *LockedError
		if !errors.As(err, &locked) {
			return lock, last, err
		}
		if withdrawn != nil {
			if err := withdrawn(); err != nil {
				return nil, holder{}, err
			}
		}
		timeout := m.LockTimeout
		switch {
		case locked.PID == 0: // it is about to write down who it is
			timeout = max(timeout, longestWait)
		case locked.Dead:
			timeout = max(timeout, remainder)
		case begun != nil && m.Execution != "" && locked.Execution == m.Execution:
			if err := begun(); err != nil {
				return nil, holder{}, err
			}
			timeout = max(timeout, begins)
		}
		left := timeout - time.Since(since)
		if left <= 0 {
			return lock, last, err
		}
		brief := locked.PID == 0 || locked.Dead && time.Since(since) < time.Second
		if m.Waiting != nil && !brief && locked.Error() != told {
			told = locked.Error()
			m.Waiting(locked)
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, left)):
		}
	}
}

// tryLock takes the lock if nobody holds it.
func (f *Folder) tryLock() (lock *file, last holder, err error) {
	path := filepath.Join(f.dir, "lock")
	for {
		if lock, err = f.disk.open(path, os.O_RDWR|os.O_CREATE); err != nil {
			return nil, holder{}, fmt.Errorf("the state folder cannot be locked: %w", err)
		}
		last, err = f.lockFile(lock)
		if err != nil {
			return nil, holder{}, Join(err, lock.Close())
		}
		if stands(lock.File, path) {
			return lock, last, nil
		}
		// Somebody has put another file in its place meanwhile, and may hold that.
		if err := lock.Close(); err != nil {
			return nil, holder{}, err
		}
	}
}

// lockFile locks an open file. The lock belongs to this opening of the file: other
// openings in this process do not have it, closing them does not give it up, and
// programs that are started do not inherit it: a fork has it until exec closes the file.
func (f *Folder) lockFile(lock *file) (last holder, err error) {
	err = fcntl(lock.File, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	last = readHolder(lock.File)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return last, last.who()
	}
	if err != nil {
		return last, fmt.Errorf("the state folder cannot be locked: %w", &fs.PathError{Op: "lock", Path: lock.Name(), Err: err})
	}
	last.Ended = false // another one begins
	return last, nil
}

func fcntl(f *os.File, command int, lock *unix.Flock_t) error {
	for {
		err := unix.FcntlFlock(f.Fd(), command, lock)
		if err != unix.EINTR {
			return err
		}
	}
}

// stands reports whether the open file is the one at the path.
func stands(f *os.File, path string) bool {
	opened, err := f.Stat()
	at, err2 := os.Lstat(path)
	return cmp.Or(err, err2) == nil && os.SameFile(opened, at)
}

// claim writes down who holds the lock, over who held it before: it is cut
// afterwards, so that there is a whole record at any time.
func claim(lock *file, h *holder) error {
	own := ownProcess()
	h.Process = &own
	data, err := seal(h)
	if err != nil {
		return err
	}
	if _, err := lock.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := lock.Write(data); err != nil {
		return err
	}
	if info, err := lock.Stat(); err != nil || info.Size() == int64(len(data)) {
		return err
	}
	return lock.Truncate(int64(len(data)))
}

// Holder tells who holds the lock now, nil when nobody does, or only what a dead process
// was starting. It takes no lock to
// see, so that it stands in nobody's way.
func (f *Folder) Holder() *LockedError {
	lock, err := f.disk.read(filepath.Join(f.dir, "lock"))
	if err != nil {
		return nil // never locked
	}
	defer lock.Close()
	found := unix.Flock_t{Type: unix.F_WRLCK}
	if err := fcntl(lock, unix.F_OFD_GETLK, &found); err != nil || found.Type == unix.F_UNLCK {
		return nil
	}
	h := readHolder(lock)
	if who := h.who(); !who.Dead {
		return who
	}
	return nil
}

// lastHolder gives what the lock file says, held or not.
func (f *Folder) lastHolder() holder {
	lock, err := f.disk.read(filepath.Join(f.dir, "lock"))
	if err != nil {
		return holder{}
	}
	defer lock.Close()
	return readHolder(lock)
}

// readHolder gives what the lock says; an empty, torn or damaged one says nothing.
func readHolder(lock *os.File) (h holder) {
	data, err := io.ReadAll(io.NewSectionReader(lock, 0, 1<<16))
	line, _, _ := bytes.Cut(data, []byte("\n")) // behind it may be the end of a longer one before
	if err != nil || unseal(line, &h) != nil {
		return holder{}
	}
	return h
}
