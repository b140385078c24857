package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answers is somebody at the terminal: each answer may do something first.
type answers []func() string

func (a *answers) Read(p []byte) (int, error) {
	answer := (*a)[0]
	*a = (*a)[1:]
	return copy(p, answer()), nil
}

// newFileRun prepares an apply of one file, path, by somebody who answers.
func newFileRun(t *testing.T, path string, in *answers) (*fleetRun, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("file %q {\n  content = \"wanted\\n\"\n}\n", path)
	if err := os.WriteFile(filepath.Join(dir, "site.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	s := &client{console: console{Environment{In: in, Out: out, Err: out}, &Globals{StateDir: t.TempDir()}}}
	v, err := s.siteRun(t.Context(), dir)
	if err != nil {
		t.Fatal(err, out)
	}
	return v, out
}

// What was shown is applied: if the machine changes between the question and
// the answer, the answer does not count.
func TestConfirmAsksAgainWhenTheMachineHasChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	in := &answers{
		func() string {
			if err := os.WriteFile(path, []byte("other\n"), 0o600); err != nil {
				t.Error(err)
			}
			return "yes\n"
		},
		func() string { return "yes\n" },
	}
	v, out := newFileRun(t, path, in)
	if err := v.applyAll(t.Context(), false, false, nil); err != nil || len(*in) != 0 {
		t.Errorf("%v, %d questions not asked", err, len(*in))
	}
	if text, err := os.ReadFile(path); string(text) != "wanted\n" {
		t.Errorf("applied: %q, %v", text, err)
	}
	first, second, _ := strings.Cut(out.String(), "The machine has changed meanwhile.")
	if !strings.Contains(first, "+ file[") || !strings.Contains(second, "~ file[") || !strings.Contains(second, "-other") {
		t.Errorf("shown:\n%s", out)
	}
}

func TestConfirmEndsWhenNothingIsLeftToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	in := &answers{func() string {
		if err := os.WriteFile(path, []byte("wanted\n"), 0o600); err != nil {
			t.Error(err)
		}
		return "y\n"
	}}
	v, out := newFileRun(t, path, in)
	if err := v.applyAll(t.Context(), false, false, nil); err != nil || !strings.Contains(out.String(), "This is the plan now:") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestConfirmIsInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in := &answers{func() string {
		cancel()
		<-t.Context().Done() // nobody answers
		return "y\n"
	}}
	v, _ := newFileRun(t, filepath.Join(t.TempDir(), "file"), in)
	err := v.applyAll(ctx, false, false, nil)
	if st, ok := errors.AsType[*status](err); !ok || st.code != exitInterrupted {
		t.Errorf("%v", err)
	}
}
