package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// markName is a file that is there while a process is the active one: what is found after that has ended is left by a crash, or a loss of power.
const markName = "running"

// checkAfterCrash looks whether the database is whole, if a process that wrote to it has ended without closing it. That takes a while where there is much, so that
// it is not done each time.
func (e *Engine) checkAfterCrash(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(e.dir, markName)); errors.Is(err, fs.ErrNotExist) || e.isWhole {
		return nil
	} else if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writer.SetInterrupt(ctx.Done())
	defer e.writer.SetInterrupt(nil)
	err := sqlitex.ExecuteTransient(e.writer, "PRAGMA quick_check(1)", &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		if found := s.ColumnText(0); found != "ok" {
			return e.damaged(errors.New(found))
		}
		return nil
	}})
	e.isWhole = err == nil
	return err
}

// mark puts the mark there, so that a loss of power does not take it away.
func (e *Engine) mark() error {
	f, err := os.OpenFile(filepath.Join(e.dir, markName), os.O_WRONLY|os.O_CREATE|noFollowFile, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), syncFolder(e.dir))
}

// release frees the lock, before which the mark is removed: unless the disk has failed meanwhile, or another process has taken the place of this one.
func (e *Engine) release(lock *os.File) error {
	isOwn, err := e.holds(lock)
	if err == nil && isOwn && !e.isDoubtful.Load() {
		if err = os.Remove(filepath.Join(e.dir, markName)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, lock.Close())
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
