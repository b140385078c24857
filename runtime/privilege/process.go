package privilege

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// StartTime is how long a program may take until the command that it runs says something.
const StartTime = 30 * time.Second

// Launch is a command, and how it is given a password.
type Launch struct {
	Cmd      *exec.Cmd // with SysProcAttr.Setsid; its standard streams but Stderr are not set
	Program  Program
	Prompt   string // empty: it asks for none
	Terminal bool   // it has a terminal of its own, and is given the password there
	Password func() (string, error)
}

// Process is a command that was launched.
type Process struct {
	Cmd    *exec.Cmd
	In     io.WriteCloser
	Out    io.ReadCloser // to be read to its end, else the process is not waited for
	Prompt *PasswordPrompt
	Done   chan struct{} // closed once it has ended
	Err    error         // how, from then on

	input       *PollReader // of Out
	terminal    *os.File    // its own, if it has one
	slave       *os.File    // the terminal's other end: while nobody holds that, nothing can be read
	terminalEnd chan struct{}
}

// Start starts the command.
func (l *Launch) Start() (*Process, error) {
	p := &Process{Cmd: l.Cmd, Done: make(chan struct{})}
	in, err := l.Cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	pipe, ok := out.(*os.File)
	if !ok {
		return nil, errors.New("the standard output is no pipe")
	}
	if p.input, err = NewPollReader(pipe); err != nil {
		return nil, err
	}
	p.In = in
	config := PromptConfig{Program: l.Program, Prompt: l.Prompt, Password: l.Password, Answer: in,
		// Who was started by it has not said anything yet: nothing is read before that.
		Genuine: func(context.Context) bool { return !p.input.HasInput() }}
	if l.Terminal {
		if p.terminal, p.slave, err = openTerminal(); err != nil {
			return nil, fmt.Errorf("no terminal to give the password on: %w", err)
		}
		l.Cmd.ExtraFiles = append(l.Cmd.ExtraFiles, p.slave)
		l.Cmd.SysProcAttr.Setctty, l.Cmd.SysProcAttr.Ctty = true, 2+len(l.Cmd.ExtraFiles)
		config.Answer = p.terminal
	}
	p.Prompt = NewPasswordPrompt(config)
	if l.Cmd.Stderr == nil {
		l.Cmd.Stderr = p.Prompt
	}
	if err := l.Cmd.Start(); err != nil {
		p.HangUp()
		return nil, err
	}
	p.follow(out)
	return p, nil
}

// follow hears the terminal, and waits for the end of the process.
func (p *Process) follow(out io.ReadCloser) {
	for _, f := range p.Cmd.ExtraFiles {
		if f != p.slave {
			f.Close()
		}
	}
	if p.terminal != nil {
		p.terminalEnd = make(chan struct{})
		fault.Go(func() {
			defer close(p.terminalEnd)
			_, _ = io.Copy(p.Prompt, p.terminal) // the end is an error: nobody has the other end
		})
	}
	// Output is read before its end is waited for: Wait closes it.
	reader := &endReader{ReadCloser: out, end: make(chan struct{})}
	p.Out = reader
	fault.Go(func() {
		<-reader.end
		p.Err = p.Cmd.Wait()
		close(p.Done)
	})
}

// AwaitOutput waits until the process has said something, or is not going to. It is the other
// account's from then on, and may ask for a password as it likes: it gets none. Nothing
// is read before that, so that who asks after the first word is known by it.
func (p *Process) AwaitOutput() {
	p.input.AwaitInput()
	p.Prompt.Stop()
}

// HangUp ends the terminal, if there is one: its other end first, which ends reading.
func (p *Process) HangUp() {
	if p.terminal != nil {
		p.slave.Close()
		p.terminal.Close()
	}
}

// Drain waits until all is heard that the process, which has ended, said on its terminal.
func (p *Process) Drain() {
	if p.terminal == nil {
		return
	}
	p.slave.Close() // what was said before is read all the same
	select {
	case <-p.terminalEnd:
	case <-time.After(time.Second): // somebody else holds the terminal
	}
}

// endReader tells when nothing comes any more.
type endReader struct {
	io.ReadCloser
	end  chan struct{}
	once sync.Once
}

// Read reads.
func (r *endReader) Read(data []byte) (int, error) {
	n, err := r.ReadCloser.Read(data)
	if err != nil {
		r.once.Do(func() { close(r.end) })
	}
	return n, err
}
