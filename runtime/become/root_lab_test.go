//go:build lab

package become

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/privilege"
)

// Only root starts processes of other accounts by itself.

// Root acts as another account, from a program that everybody may look at, and from one
// that root alone may; and notices who is somebody else.
func TestByRoot(t *testing.T) {
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := h.User("nobody")
	if err != nil {
		t.Fatal(err)
	}
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(t.TempDir(), "tenet") // below a folder of root's
	if err := copyTo(itself, hidden); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(hidden, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{asServer}
	for _, program := range []string{itself, hidden} {
		a := &Accounts{Options: Options{Host: h, Program: program, Args: args, Password: "never to be given"}}
		m, err := a.As(t.Context(), "nobody")
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Run(t.Context(), host.Command{Argv: []string{"id", "-u"}})
		if err != nil || strings.TrimSpace(string(r.Stdout)) != fmt.Sprint(nobody.UID) {
			t.Errorf("it acts as %s %v", r.Stdout, err)
		}
		if again, err := a.As(t.Context(), "nobody"); err != nil || again != m {
			t.Errorf("it is started twice: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	a := &Accounts{Options: Options{Host: h, Program: itself, Args: append(args, "lying")}}
	defer a.Close()
	if _, err := a.As(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "which is not its number") {
		t.Errorf("who is somebody else is believed: %v", err)
	}
}

// An account that stops the process that acts as it: who waits is freed within a moment
// when the run is interrupted, what it has started is ended, and the account is not used
// again.
func TestStoppedByRoot(t *testing.T) {
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &Accounts{Options: Options{Host: h, Program: itself, Args: []string{asServer}}}
	m, err := a.As(t.Context(), "nobody")
	if err != nil {
		t.Fatal(err)
	}
	run := m.(host.Runner).ForRun("run-" + nonce())
	process := a.accounts["nobody"].process
	go func() {
		for name := fmt.Sprintf("/proc/%d/stat", process.Cmd.Process.Pid); t.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
			if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), ") T ") {
				break
			}
		}
		a.Hurry()
	}()
	begun := time.Now()
	_, err = run.Run(host.WithPart(t.Context(), "part"), host.Command{Argv: []string{"sh", "-c", "kill -STOP $PPID; exec sleep 60"}})
	var told *privilege.Refusal
	if !errors.As(err, &told) || !strings.Contains(told.Message, "nobody does not answer") || time.Since(begun) > silenceTicks*tickTime/2 {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
	if _, again := a.As(t.Context(), "nobody"); again != told {
		t.Errorf("asked again: %v", again)
	}
	if err := m.(host.Syncer).Sync(); err != nil {
		t.Errorf("it stops others: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	<-process.Done
	if left := h.StrayProcesses(run.(*machine).run, "part"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// That it was interrupted says nothing of an account: another time it may go well.
func TestInterruptedByRoot(t *testing.T) {
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.User("nobody"); err != nil {
		t.Fatal(err)
	}
	a := &Accounts{Options: Options{Host: h, Program: "/bin/false", Args: []string{}}}
	defer a.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.As(ctx, "nobody"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	var told *privilege.Refusal
	for range 2 { // this does
		if _, err := a.As(t.Context(), "nobody"); !errors.As(err, &told) || !strings.Contains(err.Error(), "cannot be started as nobody") {
			t.Errorf("later: %v", err)
		}
	}
}
