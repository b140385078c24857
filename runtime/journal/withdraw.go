package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// WithdrawnError says that an execution was withdrawn before it was begun.
type WithdrawnError struct{ Execution string }

// Error says so.
func (e *WithdrawnError) Error() string { return "it was cancelled before it was begun" }

const withdrawnDir = "withdrawn"

// withdrawnPath is where it stands that an execution is not to begin on a host. Both are
// names that somebody else has chosen.
func (f *Folder) withdrawnPath(execution, host string) string {
	sum := sha256.Sum256([]byte(execution + "\x00" + host))
	return filepath.Join(f.dir, withdrawnDir, hex.EncodeToString(sum[:16]))
}

// Withdraw keeps an execution from beginning on a host of that name, or of any if it is
// empty, and from going on there, in whatever process waits to do so. What was begun before goes on: Begun tells
// of it, if it is asked afterwards.
func (f *Folder) Withdraw(execution, host string) error {
	err := f.disk.mkdir(filepath.Join(f.dir, withdrawnDir))
	if err == nil {
		err = f.disk.write(f.withdrawnPath(execution, host), []byte(execution+"\n"), os.O_TRUNC)
	}
	if err != nil {
		return fmt.Errorf("that it was cancelled cannot be recorded: %w", err)
	}
	return nil
}

// withdrawn gives a *WithdrawnError if an execution is not to begin on a host. Who begins
// looks before it records the run, and once more after that: then either it
// sees that the execution was withdrawn, or who has done that sees the run.
func (f *Folder) withdrawn(execution, host string) error {
	if execution == "" {
		return nil
	}
	for _, name := range []string{host, ""} {
		_, err := f.disk.root.Lstat(f.disk.in(f.withdrawnPath(execution, name)))
		switch {
		case err == nil:
			return &WithdrawnError{execution}
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("whether it was cancelled cannot be read: %w", err)
		}
	}
	return nil
}

// unless ends a run that was just recorded if its execution was withdrawn meanwhile.
func (r *Run) unless(withdrawn func() error) (*Run, error) {
	err := withdrawn()
	if err == nil {
		return r, nil
	}
	return nil, Join(err, r.Finish(End{State: Interrupted, Err: err}))
}

// forgetWithdrawn removes what is said of executions that nobody waits to begin any more.
func (f *Folder) forgetWithdrawn() error {
	entries, err := f.disk.list(filepath.Join(f.dir, withdrawnDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		info, wrong := e.Info()
		if wrong == nil && time.Since(info.ModTime()) > keepAge {
			err = Join(err, f.disk.remove(filepath.Join(f.dir, withdrawnDir, e.Name())))
		}
	}
	return err
}
