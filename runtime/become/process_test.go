package become

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// liar says that it acts as root.
type liar struct{ *host.Local }

func (liar) Actor() (uid, gid int) { return 0, 0 }

// TestServing is no test: it is the process of another account, when tests start it.
func TestServing(t *testing.T) {
	if !slices.Contains(os.Args, "serving") {
		t.Skip("it is started by others")
	}
	l, err := host.NewLocal(host.LocalOptions{})
	h := host.Host(l)
	if slices.Contains(os.Args, "lying") {
		h = liar{l}
	}
	if err == nil {
		err = Serve(t.Context(), os.Stdin, os.Stdout, h)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Root acts as another account, from a program that everybody may look at, and from one
// that root alone may; and notices who is somebody else.
func TestByRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root becomes another account by itself")
	}
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := h.User("nobody")
	if err != nil {
		t.Skip(err)
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
	args := []string{"-test.run=^TestServing$", "serving"}
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
