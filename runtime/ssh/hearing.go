package ssh

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hearing reads a pipe, and knows whether all that has come was taken.
type hearing struct {
	raw syscall.RawConn

	mu      sync.Mutex
	waiting bool // who reads has taken what there was, and wants more
}

func hear(pipe *os.File) (*hearing, error) {
	raw, err := pipe.SyscallConn()
	return &hearing{raw: raw}, err
}

// Read implements io.Reader.
func (h *hearing) Read(p []byte) (n int, err error) {
	waited := h.raw.Read(func(fd uintptr) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for {
			if n, err = unix.Read(int(fd), p); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		h.waiting = errors.Is(err, unix.EAGAIN)
		return !h.waiting
	})
	switch {
	case waited != nil:
		return 0, waited
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// settled waits until all that has come was taken, unless ctx ends first.
func (h *hearing) settled(ctx context.Context) bool {
	for !h.idle() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

func (h *hearing) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	more := true // where the pipe is closed nobody is to be told anything
	// The error is that it is closed.
	_ = h.raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		more = err != nil || n > 0
	})
	return h.waiting && !more
}
