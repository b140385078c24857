package ssh

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/privilege"
)

// process is a client that runs. It is a session of its own: no key of a terminal
// reaches it, it cannot ask anything there, and what it starts ends with it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	output *privilege.PollReader // of stdout
	in     *bufio.Reader         // of output
	stderr *privilege.PasswordPrompt
	done   chan struct{} // closed once it has ended, and all it said on stderr is there

	mu     sync.Mutex
	reaped bool // from then on its number may be another's
}

// grace is how long a client has to end by itself.
const grace = 250 * time.Millisecond

// start runs the client. It is given the password when it asks for it as c has it.
func start(argv []string, c privilege.PromptConfig) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// What has left the session may hold stderr open, as a ControlMaster that was
	// started in passing.
	cmd.WaitDelay = grace
	p := &process{cmd: cmd, done: make(chan struct{})}
	remoteIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, remoteOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, remoteIn.Close(), stdin.Close())
	}
	cmd.Stdin, cmd.Stdout = remoteIn, remoteOut
	p.stdin, p.stdout = stdin, stdout
	if p.output, err = privilege.NewPollReader(stdout); err == nil {
		p.in = bufio.NewReaderSize(p.output, 1<<16)
		// What was said before the question must be known.
		c.Answer, c.Genuine = stdin, p.output.AwaitDrained
		p.stderr = privilege.NewPasswordPrompt(c)
		cmd.Stderr = p.stderr
		err = cmd.Start()
	}
	remoteIn.Close()
	remoteOut.Close()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), stdout.Close())
	}
	fault.Go(p.wait)
	return p, nil
}

// wait reaps the client, and what it has left behind in its session: a ProxyCommand.
func (p *process) wait() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	// The error is that it ended otherwise than with 0: exitCode tells.
	_ = p.cmd.Wait()
	close(p.done)
}

// signal sends a signal to all in the session.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		// The error would be that there is none of it any more.
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// kill ends it at once.
func (p *process) kill() { p.signal(syscall.SIGKILL) }

// exitCode waits for the end; -1: by a signal.
func (p *process) exitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Close ends the connection: the runner is told by the end of its input, and the
// client is waited for.
func (p *process) Close() error {
	p.stderr.Stop()
	p.stdin.Close()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.done:
		case <-time.After(grace):
			p.signal(s)
		}
	}
	<-p.done
	p.stdout.Close()
	return nil
}

// killAfter kills the process when ctx ends, until stop is called.
func (p *process) killAfter(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, p.kill)
}

var _ io.Closer = (*process)(nil)
