package privilege

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

// PollReader reads a pipe, and knows whether all that has come was taken.
type PollReader struct {
	raw syscall.RawConn

	mu      sync.Mutex
	waiting bool // who reads has taken what there was, and wants more
}

// NewPollReader reads a pipe.
func NewPollReader(pipe syscall.Conn) (*PollReader, error) {
	raw, err := pipe.SyscallConn()
	return &PollReader{raw: raw}, err
}

// Read implements io.Reader.
func (r *PollReader) Read(p []byte) (n int, err error) {
	waited := r.raw.Read(func(fd uintptr) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for {
			if n, err = unix.Read(int(fd), p); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		r.waiting = errors.Is(err, unix.EAGAIN)
		return !r.waiting
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

// AwaitDrained waits until all that has come was taken, unless ctx ends first.
func (r *PollReader) AwaitDrained(ctx context.Context) bool {
	for !r.isDrained() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

func (r *PollReader) isDrained() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := true // where the pipe is closed nobody is to be told anything
	// The error is that it is closed.
	_ = r.raw.Control(func(fd uintptr) { more = readable(fd) })
	return r.waiting && !more
}

// HasInput reports whether something can be read, the end included.
func (r *PollReader) HasInput() bool {
	more := false
	// The error is that it is closed, and then nobody asks.
	_ = r.raw.Control(func(fd uintptr) { more = readable(fd) })
	return more
}

// AwaitInput waits for that, and reads nothing.
func (r *PollReader) AwaitInput() {
	_ = r.raw.Read(readable) // likewise
}

func readable(fd uintptr) bool {
	list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(list, 0)
	return err != nil && !errors.Is(err, unix.EINTR) || n > 0
}
