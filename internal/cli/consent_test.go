package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// both prepares an apply on two hosts that are both this machine, by somebody who
// answers. Each has a file of its own.
func both(t *testing.T, in *answers) (apply func() error, dir string, out *bytes.Buffer) {
	t.Helper()
	return bothWith(t, in, "")
}

// bothWith is both, with more in the site.
func bothWith(t *testing.T, in *answers, more string) (apply func() error, dir string, out *bytes.Buffer) {
	t.Helper()
	dir = t.TempDir()
	text := more + fmt.Sprintf(`
host "a" { executor = "local" }
host "b" { executor = "local" }
file "f" {
  path    = "%s/${host.name}"
  content = "wanted\n"
}
`, dir)
	if err := os.WriteFile(filepath.Join(dir, "site.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out = &bytes.Buffer{}
	s := &client{console: console{Environment{In: in, Out: out, Err: out}, &Globals{StateDir: t.TempDir()}}, lockTimeout: time.Minute}
	s.globals.Forks = 1
	return func() error {
		v, err := s.siteRun(t.Context(), dir)
		if err != nil {
			return err
		}
		return v.applyAll(t.Context(), false, false, nil)
	}, dir, out
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		data = []byte(err.Error())
	}
	if string(data) != want {
		t.Errorf("%s holds %q, want %q", path, data, want)
	}
}

func exitOf(err error) int {
	if st, ok := errors.AsType[*status](err); ok {
		return st.code
	}
	if err != nil {
		return -1
	}
	return exitDone
}

// The plans are shown, one question is asked, and its answer counts for all.
func TestHostsAreAppliedAsShown(t *testing.T) {
	apply, dir, out := both(t, &answers{func() string { return "y\n" }})
	if err := apply(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"a", "b"} {
		holds(t, filepath.Join(dir, name), "wanted\n")
	}
	if n := strings.Count(out.String(), "[y/N]"); n != 1 {
		t.Errorf("%d questions:\n%s", n, out)
	}
}

func TestHostsAreLeftAloneAtANo(t *testing.T) {
	apply, dir, out := both(t, &answers{func() string { return "n\n" }})
	if err := apply(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Errorf("applied:\n%s", out)
	}
}

// A host that changes between the question and the apply is left alone, and the others
// are applied.
func TestHostThatHasChangedIsLeftAlone(t *testing.T) {
	var dir string
	in := &answers{func() string {
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("by hand\n"), 0o600); err != nil {
			t.Error(err)
		}
		return "y\n"
	}}
	apply, at, out := both(t, in)
	dir = at
	if err := apply(); exitOf(err) != exitFailed {
		t.Fatalf("%v\n%s", err, out)
	}
	holds(t, filepath.Join(dir, "a"), "by hand\n")
	holds(t, filepath.Join(dir, "b"), "wanted\n")
	for _, want := range []string{"planned: create; now: update", "nothing was applied", "1 changed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// Where there is something to do on one host only, that one is asked about, and nothing
// is begun on the other. With nothing to do nobody is asked.
func TestHostsWithNothingToDoAreNotApplied(t *testing.T) {
	apply, dir, out := both(t, &answers{func() string { return "y\n" }})
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("wanted\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := apply(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out.String(), "Apply this on 1 host of 2?") {
		t.Errorf("asked:\n%s", out)
	}
	out.Reset()
	if err := apply(); err != nil { // there is no answer any more
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(out.String(), "[y/N]") {
		t.Errorf("asked:\n%s", out)
	}
}

// To join a cluster is something to do, be there nothing else: it is asked about once.
func TestToJoinIsAskedAbout(t *testing.T) {
	apply, dir, out := bothWith(t, &answers{func() string { return "y\n" }}, "site {\n name = \"lab\"\n}\nrole \"none\" {}\ncluster \"bench\" {\n hosts = \"a\"\n roles = [\"none\"]\n}\n")
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("wanted\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text := out.String(); !strings.Contains(text, "a: it joins the cluster bench") || !strings.Contains(text, "Apply this on 1 host of 2?") {
		t.Errorf("asked:\n%s", text)
	}
	out.Reset()
	if err := apply(); err != nil { // there is no answer any more
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(out.String(), "[y/N]") {
		t.Errorf("it is a member, and asked again:\n%s", out)
	}
}

// A question about a secret that hosts need comes while their table is on the terminal,
// which makes room for it.
func TestQuestionsHoldTheTable(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	s := &client{console: console{Environment{In: out, Out: out, Err: out}, &Globals{}}}
	v := &fleetRun{client: s, site: &site{}}
	if _, err := v.plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.pauseDisplay == nil {
		t.Error("the view of the hosts is not asked to make room")
	}
	held := 0
	s.pauseDisplay = func(ask func()) {
		held++
		ask()
	}
	if _, err := s.passphrase(t.Context(), "Passphrase: ", "NONE"); err == nil || held != 1 {
		t.Errorf("asked with room made %d times: %v", held, err)
	}
}
