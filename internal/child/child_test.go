package child_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/child"
)

// What a program prints without end takes no more memory than it may, be it that it is copied as package exec does.
func TestOutput(t *testing.T) {
	errTooMuch := errors.New("it is too much")
	for _, refusal := range []error{nil, errTooMuch} {
		out := &child.Output{Limit: 5000, Refusal: refusal}
		cmd := exec.Command("sh", "-c", "echo first; head -c 1000000 /dev/zero")
		cmd.Stdout = out
		if err := cmd.Run(); refusal == nil && err != nil || refusal != nil && err == nil {
			t.Errorf("where too much is refused by %v, it ends with %v", refusal, err)
		}
		if !out.IsOver() || len(out.Bytes()) != 5000 || out.String()[:6] != "first\n" {
			t.Errorf("%d bytes are kept, %q", len(out.Bytes()), out.String()[:min(len(out.Bytes()), 10)])
		}
	}
	out := &child.Output{Limit: 5}
	if n, err := out.Write([]byte("12345")); n != 5 || err != nil || out.IsOver() {
		t.Errorf("what fits exactly: %d, %v, over: %v", n, err, out.IsOver())
	}
}

// A program ends with what it has begun, in a group as in a session of its own; one that has ended is no error.
func TestEndTogether(t *testing.T) {
	for _, session := range []bool{false, true} {
		later := filepath.Join(t.TempDir(), "later")
		ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
		cmd := exec.CommandContext(ctx, "sh", "-c", "(sleep 1; touch "+later+") & sleep 60")
		if session {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		child.EndTogether(cmd, time.Second)
		err := cmd.Run()
		end()
		if err == nil {
			t.Errorf("it has ended without an error")
		}
		time.Sleep(1500 * time.Millisecond)
		if _, err := os.Stat(later); err == nil {
			t.Error("what it has begun goes on")
		}
	}
	cmd := exec.CommandContext(t.Context(), "true")
	child.EndTogether(cmd, time.Second)
	if err := errors.Join(cmd.Run(), cmd.Cancel()); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("to end one that has ended gives %v", err)
	}
}
