package fault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const panics = "TENET_TEST_PANICS"

func TestMain(m *testing.M) {
	if os.Getenv(panics) != "" {
		Go(func() { panic("first\nsecond") })
		select {}
	}
	os.Exit(m.Run())
}

// stackOf reads the file that an error names.
func stackOf(t *testing.T, text string) string {
	t.Helper()
	m := regexp.MustCompile(`where it happened is in (\S+)\)`).FindStringSubmatch(text)
	if m == nil || strings.Contains(text, "goroutine") || strings.Count(text, "\n") > 1 {
		t.Fatalf("%q", text)
	}
	stack, err := os.ReadFile(m[1])
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(m[1]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	return string(stack)
}

func fails() { panic(errors.New("secret\x1b[2J\nmore")) }

func TestPanicIsAnError(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	err := Do(func() error { fails(); return nil })
	if err == nil || !strings.Contains(err.Error(), "fault of tenet itself, not of what it was given: a panic with a value of type *errors.errorString; please report it") {
		t.Fatal(err)
	}
	if said := In(err).Message(); !strings.HasSuffix(said, "not of what it was given: secret\x1b[2J\nmore") {
		t.Errorf("%q", said)
	}
	stack := stackOf(t, err.Error())
	if !strings.Contains(stack, "fault.fails") || strings.Contains(stack, "secret") {
		t.Error(stack)
	}
	if In(fmt.Errorf("why: %w", err)) == nil || In(errors.New("else")) != nil {
		t.Error("a panic among causes")
	}
	own := errors.New("its own")
	if err := Do(func() error { return own }); err != own {
		t.Error(err)
	}
}

// What Go itself says of a panic quotes no value.
func TestPanicOfGo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	list := []string{}
	err := Do(func() error { _ = list[len(list)]; return nil })
	if err == nil || !strings.Contains(err.Error(), ": runtime error: index out of range [0] with length 0; please report it") {
		t.Error(err)
	}
}

func TestNoPlaceForTheStack(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere/at/all")
	err := Do(func() error { panic("x") })
	if err == nil || !strings.Contains(err.Error(), ": a panic with a value of type string; please report it to the maintainers of tenet (its stack could not be written: ") {
		t.Error(err)
	}
}

// All others end first, and who waits gets the panic with the place where it was.
func TestGroupHandsOn(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var g Group
	begin, ended := make(chan struct{}), false
	g.Go(func() { <-begin; ended = true })
	g.Go(func() { defer close(begin); fails() })
	err := Do(func() error { g.Wait(); return nil })
	if In(err) == nil || !ended {
		t.Fatal(err, ended)
	}
	if stack := stackOf(t, err.Error()); !strings.Contains(stack, "fault.fails") {
		t.Error(stack)
	}
}

func TestNobodyWaits(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), panics+"=1", "TMPDIR="+t.TempDir())
	out, err := c.CombinedOutput()
	status, ok := errors.AsType[*exec.ExitError](err)
	if !ok || status.ExitCode() != exitFault || !strings.HasPrefix(string(out), "tenet: this is a fault of tenet itself, not of what it was given: a panic with a value of type string; ") {
		t.Fatalf("%v %s", err, out)
	}
	if stack := stackOf(t, string(out)); !strings.Contains(stack, "fault.TestMain") {
		t.Error(stack)
	}
}
