package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/server/store"
)

// How often a process that waits looks whether the lock is free: a call that waits for it could
// not be ended.
const lockInterval = 100 * time.Millisecond

// noFollowFile: a file is no symbolic link.
const noFollowFile = syscall.O_NOFOLLOW

// Elect is store.Engine's. The kernel frees the lock when its process ends, however it does; one
// that is stopped keeps it, until a person ends it, or takes the file away.
func (e *Engine) Elect(ctx context.Context) (*store.Election, error) {
	for {
		f, err := e.lock()
		if err != nil {
			return nil, err
		}
		if f != nil {
			err := e.checkAfterCrash(ctx)
			if err == nil {
				err = e.mark()
			}
			if err != nil {
				return nil, errors.Join(e.explain(err), f.Close())
			}
			return &store.Election{Release: func() error { return e.release(f) }}, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockInterval):
			e.isWhole = false // as it was left by who has the lock
		}
	}
}

// lock gives the locked file, or none where another process has it.
func (e *Engine) lock() (*os.File, error) {
	name := filepath.Join(e.dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|noFollowFile, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		var isOwn bool
		if isOwn, err = e.holds(f); isOwn {
			return f, nil
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return nil, errors.Join(err, f.Close())
}

// holds tells whether the file that is locked is still the one that is there.
func (e *Engine) holds(lock *os.File) (bool, error) {
	held, err := lock.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(filepath.Join(e.dir, lockName))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, there), err
}

// checkIfFree looks whether the database is whole after a crash, unless a process is at work: then there was none.
func (e *Engine) checkIfFree(ctx context.Context) error {
	f, err := e.lock()
	if err != nil || f == nil {
		return err
	}
	return errors.Join(e.checkAfterCrash(ctx), f.Close())
}
