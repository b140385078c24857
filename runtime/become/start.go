package become

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// How long a process may take to say hello, and to end.
const (
	startTime = 30 * time.Second
	endTime   = 5 * time.Second
)

// process is what acts as another account.
type process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      io.ReadCloser
	terminal *os.File      // its own, if it was started from one
	slave    *os.File      // the terminal's other end: while nobody holds that, nothing can be read
	heard    chan struct{} // closed once nothing comes from the terminal any more
	asked    *asked
	clear    func() error // removes what it was started from
	ended    chan struct{}
	err      error         // how it ended, once ended is closed
	watched  chan struct{} // closed once nobody looks after it any more
	givenUp  bool          // from then on: it was not waited for
}

// begin starts the process of an account.
func begin(ctx context.Context, o Options, u host.User) (*process, *machine, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	way, err := o.way(u)
	if err != nil {
		return nil, nil, err
	}
	p, out, err := way.start()
	if err != nil {
		return nil, nil, errors.Join(way.failed(err.Error(), ""), way.clear())
	}
	conn := wire.New(out, p.in, nil)
	type greeting struct {
		hello hello
		err   error
	}
	said := make(chan greeting, 1)
	fault.Go(func() {
		var g greeting
		g.err = fault.Do(func() error {
			p.speaks()
			return conn.Expect(kindHello, &g.hello)
		})
		said <- g
	})
	select {
	case g := <-said:
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
			m := &machine{link: newLink(conn, u.Name), here: o.Host, hello: g.hello}
			every := time.NewTicker(tick)
			p.watch(m, every.C, every.Stop)
			return p, m, nil
		}
	case <-p.asked.wrong:
		err = errPassword
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = p.close() // why it did not start says more than how it ended
	if errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	if err == errPassword {
		return nil, nil, way.wrongPassword()
	}
	return nil, nil, way.failed(p.asked.text(), reason(err, p))
}

var errPassword = errors.New("the password is wrong")

// reason says why there was no hello, if nothing was printed.
func reason(err error, p *process) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("it did not answer within %s", startTime)
	}
	select {
	case <-p.ended:
		if p.err != nil {
			return p.err.Error()
		}
	default: // it goes on though its input has ended
	}
	return err.Error()
}

// start starts a command, whose output it gives.
func (w *way) start() (*process, io.Reader, error) {
	p := &process{cmd: w.cmd, clear: w.clear, ended: make(chan struct{}), asked: newAsked(w.prompt, w.known)}
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	p.in = in
	p.asked.answer = in
	p.asked.spoken = func() bool { return readable(out, false) }
	if w.cmd.Stderr == nil {
		w.cmd.Stderr = p.asked
	}
	if w.terminal {
		if p.terminal, p.slave, err = openTerminal(); err != nil {
			return nil, nil, fmt.Errorf("no terminal to give the password on: %w", err)
		}
		w.cmd.ExtraFiles = append(w.cmd.ExtraFiles, p.slave)
		w.cmd.SysProcAttr.Setctty, w.cmd.SysProcAttr.Ctty = true, 2+len(w.cmd.ExtraFiles)
		p.asked.answer = p.terminal
	}
	if err := w.cmd.Start(); err != nil {
		p.hangUp()
		return nil, nil, err
	}
	for _, f := range w.cmd.ExtraFiles {
		if f != p.slave {
			f.Close()
		}
	}
	if p.terminal != nil {
		p.heard = make(chan struct{})
		fault.Go(func() {
			defer close(p.heard)
			_, _ = io.Copy(p.asked, p.terminal) // the end is an error: nobody has the other end
		})
	}
	// Output is read before its end is waited for: Wait closes it.
	reader := &untilEnd{ReadCloser: out, end: make(chan struct{})}
	p.out = reader
	fault.Go(func() {
		<-reader.end
		p.err = w.cmd.Wait()
		close(p.ended)
	})
	return p, reader, nil
}

// speaks waits until the process has said something, or is not going to. It is the other
// account's from then on, and may ask for a password as it likes: it gets none. Nothing
// is read before that, so that who asks after the first word is known by it.
func (p *process) speaks() {
	readable(p.out.(*untilEnd).ReadCloser, true)
	p.asked.done()
}

// readable reports whether something can be read from a pipe, its end included; it waits
// for that, if it is to.
func readable(pipe any, wait bool) bool {
	conn, ok := pipe.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	now := false
	look := func(fd uintptr) bool {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(list, 0)
		now = err == nil && n > 0
		return now
	}
	// The errors are that it was closed, and then nobody asks.
	if wait {
		_ = raw.Read(look)
	} else { // while somebody else may wait
		_ = raw.Control(func(fd uintptr) { look(fd) })
	}
	return now
}

// untilEnd tells when nothing comes any more.
type untilEnd struct {
	io.ReadCloser
	end  chan struct{}
	over sync.Once
}

// Read reads.
func (u *untilEnd) Read(data []byte) (int, error) {
	n, err := u.ReadCloser.Read(data)
	if err != nil {
		u.over.Do(func() { close(u.end) })
	}
	return n, err
}

// watch looks after the process until its connection ends.
func (p *process) watch(m *machine, every <-chan time.Time, stop func()) {
	p.watched = make(chan struct{})
	fault.Go(func() {
		defer close(p.watched)
		defer stop()
		m.link.watch(every, p.giveUp, m.endWhat)
	})
}

// giveUp ends the process if that is allowed, and does not wait for it. One that goes on
// finds its input closed, and ends by itself.
func (p *process) giveUp() {
	p.givenUp = true
	select {
	case <-p.ended:
	default: // the error would be that it belongs to another account, or that it has ended
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	// Who reads or writes is freed by that; the error would be that it is closed already.
	_, _ = p.in.Close(), p.out.Close()
}

// endWhat ends the programs that a process that was given up has started for its calls,
// if that is allowed.
func (m *machine) endWhat(calls []*call) {
	if os.Geteuid() != 0 {
		return
	}
	for _, c := range calls {
		if c.Command != nil && c.Part != "" {
			// What is left after that, the next run ends.
			_ = m.here.EndAbandoned(c.Run, c.Part)
		}
	}
}

// close ends the process: it ends by itself as its input does. One of root's a lesser
// account cannot end otherwise.
func (p *process) close() error {
	if p.watched != nil {
		<-p.watched
		if p.givenUp {
			p.hangUp()
			return nil // which was told of
		}
	}
	err := p.in.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	defer p.hangUp()
	err = errors.Join(err, p.clear())
	fault.Go(func() { io.Copy(io.Discard, p.out) }) // nobody may read any more, and the end is behind it
	timer := time.NewTimer(endTime)
	defer timer.Stop()
	select {
	case <-p.ended:
		return err
	case <-timer.C:
	}
	if killed := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); killed != nil {
		return errors.Join(err, fmt.Errorf("the process %d, which acts as another account, does not end: %w", p.cmd.Process.Pid, killed))
	}
	return err
}

// hangUp ends the terminal, if there is one: its other end first, which ends reading.
func (p *process) hangUp() {
	if p.terminal != nil {
		p.slave.Close()
		p.terminal.Close()
	}
}

// nonce is a word that nobody can guess.
func nonce() string { return rand.Text() }
