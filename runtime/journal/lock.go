package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// LockedError says who applies now.
type LockedError struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
	// Revision of the StateRun, and the kernel's boot id: see save.
	Revision string `json:"revision"`
	Boot     string `json:"boot"`
}

// Error names the holder.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "another apply is starting on this state folder"
	}
	return fmt.Sprintf("process %d applies run %s since %s", e.PID, e.Run, e.Since.Format(time.DateTime))
}

// acquire takes the folder's lock. The kernel gives it up with the process, so
// that a dead holder is no obstacle. last is who held it before.
func (f *Folder) acquire() (lock *file, last LockedError, err error) {
	lock, err = f.disk.open(filepath.Join(f.dir, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, LockedError{}, fmt.Errorf("the state folder cannot be locked: %w", err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	holder := readHolder(lock.File)
	if err == nil {
		return lock, holder, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &holder
	}
	return nil, LockedError{}, errors.Join(err, lock.Close())
}

// claim writes down who holds the lock, over who held it before: it is cut
// afterwards, so that there is a whole record at any time.
func claim(lock *file, holder LockedError) error {
	data, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	if _, err := lock.Write(append(data, '\n')); err != nil {
		return err
	}
	return lock.Truncate(int64(len(data)) + 1)
}

// holder tells who holds the lock now, nil when nobody does.
func (f *Folder) holder() *LockedError {
	lock, err := os.Open(filepath.Join(f.dir, "lock"))
	if err != nil {
		return nil // never locked
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		return nil
	}
	holder := readHolder(lock)
	return &holder
}

// readHolder gives what the lock says; an empty or torn one says nothing.
func readHolder(lock *os.File) (holder LockedError) {
	if json.NewDecoder(io.NewSectionReader(lock, 0, 1<<16)).Decode(&holder) != nil {
		return LockedError{}
	}
	return holder
}
