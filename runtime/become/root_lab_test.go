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

	"github.com/tenetcm/tenet/runtime/host"
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
		asked := a.of["nobody"].process.asked
		asked.mu.Lock()
		if !asked.given {
			t.Error("the password would be given still")
		}
		asked.mu.Unlock()
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
	var told *Error
	for range 2 { // this does
		if _, err := a.As(t.Context(), "nobody"); !errors.As(err, &told) || !strings.Contains(err.Error(), "cannot be started as nobody") {
			t.Errorf("later: %v", err)
		}
	}
}
