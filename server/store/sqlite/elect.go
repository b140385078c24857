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

// Elect is store.Engine's. The kernel frees the lock when its process ends, however it does; one
// that is stopped keeps it, until a person ends it, or takes the file away.
func (e *Engine) Elect(ctx context.Context) (*store.Election, error) {
	for {
		f, err := e.lock()
		if err != nil {
			return nil, err
		}
		if f != nil {
			return &store.Election{Release: f.Close}, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}

// lock gives the locked file, or none where another process has it.
func (e *Engine) lock() (*os.File, error) {
	name := filepath.Join(e.dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		var held, there os.FileInfo
		if held, err = f.Stat(); err == nil {
			if there, err = os.Lstat(name); err == nil && os.SameFile(held, there) {
				return f, nil
			}
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return nil, errors.Join(err, f.Close())
}
