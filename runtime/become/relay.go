package become

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// Relay gives a command a terminal of its own, and carries its standard streams. It is
// for who lets become another account and takes a password from a terminal alone, where
// none is at hand: over a connection.
type Relay struct {
	Argv   []string
	Prompt string // of the command on its terminal; it waits for a password then
	Ask    string // is written to Err then, and the next line of In is the password
	In     io.Reader
	Out    io.Writer
	Err    *os.File
}

// maxPassword bounds a line that is to be one.
const maxPassword = 4 << 10

// Run gives the command's exit status. What comes after the password, or after the
// command's first word where it wants none, is its own. With the end of In or of ctx it
// is left alone, which ends its own input and hangs its terminal up.
func (r *Relay) Run(ctx context.Context) (int, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := &way{cmd: exec.Command(r.Argv[0], r.Argv[1:]...), prompt: r.Prompt, terminal: true, clear: func() error { return nil }}
	w.cmd.Stderr = r.Err
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	w.known = func() (string, error) {
		password, err := r.password()
		if err != nil {
			end(err)
		}
		return password, err
	}
	p, out, err := w.start()
	if err != nil {
		return 0, err
	}
	defer p.hangUp()
	defer context.AfterFunc(ctx, func() { _, _ = p.in.Close(), p.out.Close() })()
	late := time.AfterFunc(startTime, func() { end(errSlow) })
	defer late.Stop()
	fault.Go(func() {
		select {
		case <-p.asked.wrong:
			end(errPassword)
		case <-ctx.Done():
		}
	})

	p.speaks()
	late.Stop()
	fault.Go(func() {
		_, _ = io.Copy(p.in, r.In) // that either has ended is all that comes of it
		p.in.Close()
	})
	n, err := io.Copy(r.Out, out)
	if err != nil && context.Cause(ctx) == nil {
		return 0, err // nobody listens any more
	}
	return r.ended(ctx, p, n == 0)
}

var errSlow = fmt.Errorf("it did not answer within %s", startTime)

// ended is how the command has ended. Where it has said nothing else, what it said on
// its terminal tells why.
func (r *Relay) ended(ctx context.Context, p *process, silent bool) (int, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errPassword):
		return 0, errors.New("incorrect password") // in sudo's words, which the other side knows
	case cause != nil:
		return 0, cause
	}
	<-p.ended
	if silent {
		p.slave.Close() // what was said before is read all the same
		select {
		case <-p.heard:
		case <-time.After(time.Second): // somebody else holds the terminal
		}
		if said := last(p.asked.rest()); said != "" {
			fmt.Fprintln(r.Err, said)
		}
	}
	state := p.cmd.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}

// password asks for it, and reads a line and no further.
func (r *Relay) password() (string, error) {
	if _, err := io.WriteString(r.Err, r.Ask); err != nil {
		return "", err
	}
	var line []byte
	for one := make([]byte, 1); len(line) < maxPassword; {
		if _, err := io.ReadFull(r.In, one); err != nil {
			return "", fmt.Errorf("no password came: %w", err)
		}
		if one[0] == '\n' {
			return string(line), nil
		}
		line = append(line, one[0])
	}
	return "", errors.New("a line is too long for a password")
}
