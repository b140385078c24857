package host

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// streams are the three standard streams of a started program.
type streams struct {
	stdout, stderr *output
	stdin          *os.File // our end; nil: /dev/null
	input          []byte
	theirs         []*os.File
	done           fault.Group
}

// newStreams makes the pipes of a program.
func newStreams(cmd *exec.Cmd, c Command) (*streams, error) {
	s := &streams{
		stdout: &output{limit: outputLimit(c), name: "stdout", watch: c.Watch},
		stderr: &output{limit: outputLimit(c), name: "stderr", watch: c.Watch},
		input:  c.Stdin,
	}
	for _, p := range []struct {
		to *output
		at *io.Writer
	}{{s.stdout, &cmd.Stdout}, {s.stderr, &cmd.Stderr}} {
		r, w, err := os.Pipe()
		if err != nil {
			s.detach()
			return nil, err
		}
		p.to.pipe, *p.at = r, w
		s.theirs = append(s.theirs, w)
	}
	if len(c.Stdin) > 0 {
		r, w, err := os.Pipe()
		if err != nil {
			s.detach()
			return nil, err
		}
		s.stdin, cmd.Stdin = w, r
		s.theirs = append(s.theirs, r)
	}
	return s, nil
}

// begin serves the pipes once the program has its ends of them.
func (s *streams) begin() {
	for _, f := range s.theirs {
		f.Close()
	}
	s.theirs = nil
	for _, o := range []*output{s.stdout, s.stderr} {
		o.started = true
		s.done.Go(o.drain)
	}
	if s.stdin != nil {
		fault.Go(func() {
			// A program need not read its input; then this fails.
			_, _ = s.stdin.Write(s.input)
			s.stdin.Close()
		})
	}
}

// await waits until the output has ended, or no longer than the delay.
func (s *streams) await(ctx context.Context, delay time.Duration) {
	done := make(chan struct{})
	fault.Go(func() {
		defer close(done)
		s.done.Wait()
	})
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// detach lets go of the pipes. Output that a process left behind still writes
// is read and dropped, so that it does not die of a broken pipe. It panics as who watches has
// done until now, also where some output has not ended.
func (s *streams) detach() {
	for _, f := range s.theirs {
		f.Close()
	}
	if s.stdin != nil {
		s.stdin.Close()
	}
	var panicked *fault.Error
	for _, o := range []*output{s.stdout, s.stderr} {
		panicked = cmp.Or(o.detach(), panicked)
	}
	if panicked != nil {
		panic(panicked)
	}
}

// result gives how the program ended and what it wrote until now.
func (s *streams) result(state *os.ProcessState) Result {
	var r Result
	var cutOut, cutErr bool
	r.Stdout, cutOut = s.stdout.bytes()
	r.Stderr, cutErr = s.stderr.bytes()
	r.Truncated = cutOut || cutErr
	if state == nil {
		return r
	}
	r.ExitCode = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.ExitCode = 128 + int(status.Signal())
	}
	return r
}

// output keeps the start of what comes out of a pipe.
type output struct {
	limit   int
	name    string
	watch   func(stream string, data []byte) // nil: nobody
	pipe    *os.File
	started bool // drain closes the pipe

	mu       sync.Mutex
	kept     []byte
	cut      bool
	detached bool
	panicked *fault.Error // of who watches
}

// drain reads until the last writer has closed the pipe.
func (o *output) drain() {
	defer o.pipe.Close()
	buf := make([]byte, 4096)
	for {
		n, err := o.pipe.Read(buf)
		o.keep(buf[:n])
		if err != nil {
			return
		}
		if n == len(buf) && n < 64<<10 {
			buf = make([]byte, 2*n)
		}
	}
}

func (o *output) keep(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.detached {
		return
	}
	if o.watch != nil && len(p) > 0 && o.panicked == nil {
		o.panicked = fault.In(fault.Do(func() error { o.watch(o.name, p); return nil }))
	}
	room := o.limit - len(o.kept)
	o.cut = o.cut || len(p) > room
	o.kept = append(o.kept, p[:min(len(p), room)]...)
}

func (o *output) bytes() (kept []byte, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept, o.cut
}

// detach lets nobody watch any more, and gives the panic of who did.
func (o *output) detach() *fault.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.detached = true
	if o.pipe != nil && !o.started {
		o.pipe.Close()
	}
	return o.panicked
}
