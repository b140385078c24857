// Package child bounds programs that this one runs: what they have begun ends with them, and what they say takes no more memory than it may.
package child

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// EndTogether has a command, of exec.CommandContext, be ended with all that it has begun when its context ends. What leaves its group of processes is not ended, and may hold its output
// open for so long. It has to be called before the command begins.
func EndTogether(cmd *exec.Cmd, wait time.Duration) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid // a session of its own begins with a group
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	cmd.WaitDelay = wait
}

// Output keeps the begin of what is written to it.
type Output struct {
	Limit int // how many bytes are kept
	// Refusal is what a write gives that goes beyond, by which whoever writes is ended; nil: what is too much is taken, and left out.
	Refusal error

	// A bytes.Buffer would be filled past Write: io.Copy has it read by itself.
	kept   []byte
	isOver bool
}

// Write keeps what there is room for.
func (o *Output) Write(data []byte) (int, error) {
	room := min(len(data), max(o.Limit-len(o.kept), 0))
	o.kept = append(o.kept, data[:room]...)
	if room == len(data) {
		return room, nil
	}
	if o.isOver = true; o.Refusal != nil {
		return room, o.Refusal
	}
	return len(data), nil
}

// Bytes are those that are kept.
func (o *Output) Bytes() []byte { return o.kept }

// String is the same as text.
func (o *Output) String() string { return string(o.kept) }

// IsOver reports whether more was written than is kept.
func (o *Output) IsOver() bool { return o.isOver }
