package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/child"
	"github.com/tenetcm/tenet/runtime/fault"
)

// command is one call of git.
type command struct {
	args  []string
	bare  bool // in the cache of the repository
	stdin io.Reader
	most  int64 // bytes of its output; 0: 1 MiB
	// check is called again and again while it runs: its error ends the program; nil: none.
	check func() error
	told  *string // gets what it says besides its output
}

const (
	standardOutput = 1 << 20
	maxTold        = 8 << 10
	checkEvery     = 50 * time.Millisecond
	checkExtra     = 16 << 20 // by which a file may be too large until that is seen
)

// errOutput is that of a program that writes more than it may.
var errOutput = errors.New("git writes more than it may")

// run calls git, and gives what it writes.
func (r *Repository) run(ctx context.Context, c command) ([]byte, error) {
	most := c.most
	if most == 0 {
		most = standardOutput
	}
	out := &bytes.Buffer{}
	err := r.stream(ctx, c, func(in io.Reader) error {
		n, err := io.Copy(out, io.LimitReader(in, most+1))
		if err == nil && n > most {
			err = errOutput
		}
		return err
	})
	return out.Bytes(), err
}

// stream calls git, and hands its output to a function. Where that ends with an error, git is ended.
func (r *Repository) stream(ctx context.Context, c command, take func(io.Reader) error) error {
	if err := r.client.checkProgram(ctx); err != nil {
		return err
	}
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	reading, writing := io.Pipe()
	cmd, told := r.prepare(within, c)
	cmd.Stdout = writing
	if err := cmd.Start(); err != nil {
		return r.client.explainStart(err)
	}
	r.limitProcess(cmd.Process.Pid)
	var others fault.Group
	others.Go(func() {
		err := take(reading)
		if err != nil {
			stop(err)
		}
		reading.CloseWithError(err)
	})
	ended := make(chan struct{})
	others.Go(func() { keepChecking(c.check, ended, stop) })
	failed := cmd.Wait()
	writing.Close()
	close(ended)
	others.Wait()
	if c.told != nil {
		*c.told = told.text()
	}
	if cause := context.Cause(within); cause != nil {
		return cause
	}
	if failed != nil {
		return r.explain(c, failed, told.text())
	}
	return nil
}

// keepChecking calls a function until the program has ended, or it gives an error.
func keepChecking(check func() error, ended <-chan struct{}, stop func(error)) {
	if check == nil {
		return
	}
	ticks := time.NewTicker(checkEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticks.C:
			if err := check(); err != nil {
				stop(err)
				return
			}
		}
	}
}

// prepare makes the call: what the program has begun ends with it.
func (r *Repository) prepare(ctx context.Context, c command) (*exec.Cmd, *lastWords) {
	cmd := exec.CommandContext(ctx, r.client.programName(), c.args...)
	cmd.Dir = r.client.Dir
	cmd.Env = r.environment(c.bare)
	cmd.Stdin = c.stdin
	told := &lastWords{}
	cmd.Stderr = told
	child.EndTogether(cmd, time.Second)
	return cmd, told
}

// limitProcess bounds the memory of git and the files that it writes: a few bytes of a pack may stand for very many. What git begins, which it does
// once it has read its configuration, has the same limits. A machine that does not allow it has the other limits still.
func (r *Repository) limitProcess(pid int) {
	set := func(resource int, most int64) {
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: uint64(most), Max: uint64(most)}, nil)
	}
	set(unix.RLIMIT_AS, r.limits.Memory)
	set(unix.RLIMIT_FSIZE, r.limits.Cache+checkExtra)
	set(unix.RLIMIT_CORE, 0)
}

// lastWords keeps the end of what is written: git says there why it has failed, whatever the other side has said before.
type lastWords struct{ data []byte }

// Write takes all.
func (w *lastWords) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	if over := len(w.data) - maxTold; over > 0 {
		w.data = append(w.data[:0], w.data[over:]...)
	}
	return len(p), nil
}

func (w *lastWords) text() string { return string(w.data) }
