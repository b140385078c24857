package become

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/wire"
)

// endTime is how long a process may take to end.
const endTime = 5 * time.Second

// process is what acts as another account.
type process struct {
	*privilege.Process
	clear     func() error  // removes what it was started from
	unwatched chan struct{} // closed once nobody looks after it any more
	abandoned bool          // from then on: it was not waited for
}

// startProcess starts the process of an account: on a terminal, where what lets become it says
// that it wants one.
func startProcess(ctx context.Context, here *host.Local, by func(terminal bool) (*launch, error)) (*process, *machine, error) {
	for terminal := false; ; terminal = true {
		l, err := by(terminal)
		if err != nil {
			return nil, nil, err
		}
		p, m, err := l.connect(ctx, here)
		if e, ok := errors.AsType[*privilege.Refusal](err); ok && e.Kind == privilege.NeedsTerminal && !terminal {
			continue
		}
		return p, m, err
	}
}

// connect starts the process, and waits until it says hello.
func (l *launch) connect(ctx context.Context, here *host.Local) (*process, *machine, error) {
	ctx, cancel := context.WithTimeout(ctx, privilege.StartTime)
	defer cancel()
	started, err := l.Start()
	if err != nil {
		return nil, nil, errors.Join(refusalError(l.failure("", err.Error())), l.clear())
	}
	p := &process{Process: started, clear: l.clear}
	conn := wire.New(p.Out, p.In, nil)
	type greeting struct {
		hello hello
		err   error
	}
	greetings := make(chan greeting, 1)
	fault.Go(func() {
		var g greeting
		g.err = fault.Do(func() error {
			p.AwaitOutput()
			return conn.Expect(kindHello, &g.hello)
		})
		greetings <- g
	})
	select {
	case g := <-greetings:
		switch {
		case g.err != nil:
			err = g.err
		case g.hello.Protocol != protocol:
			err = fmt.Errorf("the process speaks %q, and not %q", g.hello.Protocol, protocol)
		default:
			// Nobody needs the copy any more: the process holds it.
			if err := p.clear(); err != nil {
				return nil, nil, errors.Join(err, p.close())
			}
			m := &machine{link: newLink(conn, l.request.User), local: here, hello: g.hello}
			every := time.NewTicker(tickTime)
			p.watch(m, every.C, every.Stop)
			return p, m, nil
		}
	case <-p.Prompt.Rejection():
		p.HangUp() // it would wait for another one
		_ = p.close()
		return nil, nil, refusalError(l.request.PasswordRefusal(p.Prompt.Text()))
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = p.close() // why it did not start says more than how it ended
	if errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	return nil, nil, refusalError(l.failure(p.Prompt.Text(), exitReason(err, p)))
}

// exitReason says why there was no hello, if nothing was printed.
func exitReason(err error, p *process) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return privilege.ErrTimeout.Error()
	}
	select {
	case <-p.Done:
		if p.Err != nil {
			return p.Err.Error()
		}
	default: // it goes on though its input has ended
	}
	return err.Error()
}

// watch looks after the process until its connection ends.
func (p *process) watch(m *machine, every <-chan time.Time, stop func()) {
	p.unwatched = make(chan struct{})
	fault.Go(func() {
		defer close(p.unwatched)
		defer stop()
		m.link.watchdog(every, p.abandon, m.endPrograms)
	})
}

// abandon ends the process if that is allowed, and does not wait for it. One that goes on
// finds its input closed, and ends by itself.
func (p *process) abandon() {
	p.abandoned = true
	select {
	case <-p.Done:
	default: // the error would be that it belongs to another account, or that it has ended
		_ = syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL)
	}
	// Who reads or writes is freed by that; the error would be that it is closed already.
	_, _ = p.In.Close(), p.Out.Close()
}

// endPrograms ends the programs that a process that was given up has started for its calls,
// if that is allowed.
func (m *machine) endPrograms(calls []*call) {
	if os.Geteuid() != 0 {
		return
	}
	for _, c := range calls {
		if c.Command != nil && c.Part != "" {
			// What is left after that, the next run ends.
			_ = m.local.EndStrayProcesses(c.Run, c.Part)
		}
	}
}

// close ends the process: it ends by itself as its input does. One of root's a lesser
// account cannot end otherwise.
func (p *process) close() error {
	if p.unwatched != nil {
		<-p.unwatched
		if p.abandoned {
			p.HangUp()
			return nil // which was told of
		}
	}
	err := p.In.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	defer p.HangUp()
	err = errors.Join(err, p.clear())
	fault.Go(func() { io.Copy(io.Discard, p.Out) }) // nobody may read any more, and the end is behind it
	timer := time.NewTimer(endTime)
	defer timer.Stop()
	select {
	case <-p.Done:
		p.Drain()
		return err
	case <-timer.C:
	}
	if killed := syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL); killed != nil {
		return errors.Join(err, fmt.Errorf("the process %d, which acts as another account, does not end: %w", p.Cmd.Process.Pid, killed))
	}
	return err
}

// nonce is a word that nobody can guess.
func nonce() string { return rand.Text() }
