package privilege

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

var errRejected = errors.New("the password was not taken")

// Run gives the command's exit status. What comes after the password, or after the
// command's first word where it wants none, is its own. With the end of In or of ctx it
// is left alone, which ends its own input and hangs its terminal up.
func (r *Relay) Run(ctx context.Context) (int, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	program, _ := Find(filepath.Base(r.Argv[0])) // another one says nothing that is known
	l := &Launch{Cmd: exec.Command(r.Argv[0], r.Argv[1:]...), Program: program, Prompt: r.Prompt, Terminal: true}
	l.Cmd.Stderr = r.Err
	l.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	l.Password = func() (string, error) {
		password, err := r.password()
		if err != nil {
			end(err)
		}
		return password, err
	}
	p, err := l.Start()
	if err != nil {
		return 0, err
	}
	defer p.HangUp()
	defer context.AfterFunc(ctx, func() { _, _ = p.In.Close(), p.Out.Close() })()
	late := time.AfterFunc(StartTime, func() { end(ErrTimeout) })
	defer late.Stop()
	fault.Go(func() {
		select {
		case <-p.Prompt.Rejection():
			end(errRejected)
		case <-ctx.Done():
		}
	})

	p.AwaitOutput()
	late.Stop()
	fault.Go(func() {
		_, _ = io.Copy(p.In, r.In) // that either has ended is all that comes of it
		p.In.Close()
	})
	n, err := io.Copy(r.Out, p.Out)
	if err != nil && context.Cause(ctx) == nil {
		return 0, err // nobody listens any more
	}
	return r.result(ctx, p, n == 0)
}

// ErrTimeout is for a command that was launched and says nothing.
var ErrTimeout = fmt.Errorf("it did not answer within %s", StartTime)

// result is how the command has ended. Where it has said nothing else, what it said on
// its terminal tells why. A password that it does not take is told of in the words of the
// programs, which the other side knows.
func (r *Relay) result(ctx context.Context, p *Process, silent bool) (int, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRejected) && p.Prompt.Program.kind(p.Prompt.Text()) == AccountExpired:
		return 0, errors.New("you are required to change your password")
	case errors.Is(cause, errRejected):
		return 0, errors.New("incorrect password")
	case cause != nil:
		return 0, cause
	}
	<-p.Done
	if silent {
		p.Drain()
		if said := LastLine(p.Prompt.Rest()); said != "" {
			fmt.Fprintln(r.Err, said)
		}
	}
	state := p.Cmd.ProcessState
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
