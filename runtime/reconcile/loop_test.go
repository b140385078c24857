package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeWork is a machine that is as wanted after as many applies as it takes. It remembers what it has carried out, as records do.
type fakeWork struct {
	is      string // the digest that it was brought to
	fails   int    // how many applies come to nothing
	done    map[string]Ended
	calls   []string
	before  func(what string) // each call
	unknown bool              // the end of an apply is not known at first
}

func newFakeWork() *fakeWork { return &fakeWork{done: map[string]Ended{}, before: func(string) {}} }

func (w *fakeWork) note(what string) {
	w.calls = append(w.calls, what)
	w.before(what)
}

func (w *fakeWork) Plan(_ context.Context, t Target) Found {
	w.note("plan " + t.Digest)
	return Found{Something: w.is != t.Digest}
}

func (w *fakeWork) Check(_ context.Context, t Target) Checked {
	w.note("check " + t.Digest)
	return Checked{Kept: true}
}

func (w *fakeWork) Apply(ctx context.Context, a Action) (Ended, bool) {
	if end, ok := w.done[a.Execution]; ok {
		if !a.Again {
			panic("done twice")
		}
		return end, true
	}
	w.note(fmt.Sprint(a.Phase, " ", a.Target.Digest))
	if ctx.Err() != nil {
		return Ended{Failure{Cause: Interrupted}}, true
	}
	end := Ended{}
	if w.fails > 0 {
		w.fails--
		end = Ended{Failure{Unsuccess, "it fails"}}
	} else {
		w.is = a.Target.Digest
	}
	w.done[a.Execution] = end
	return end, !w.unknown
}

// clock is a time of day that moves by hand.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// opened opens a loop on a folder.
func opened(t *testing.T, folder *Folder, w Work, c *clock, tell func(Transition)) *Loop {
	t.Helper()
	l, err := Open(Config{Site: "shop", Options: Options{Attempts: 2, OnFailure: Revert}, Work: w, Folder: folder, Clock: c.read, Tell: tell})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func target(digest string) Target { return Target{Digest: digest, Name: digest} }

// turns lets a loop live until it only waits for the next poll or for help.
func turns(t *testing.T, l *Loop, c *clock) State {
	t.Helper()
	for range 100 {
		s := l.State()
		if next := l.Next(); next.IsZero() || next.After(c.now) && (s.Phase == Waiting || s.Phase == Help) {
			return s
		} else if next.After(c.now) {
			c.now = next
		}
		if err := l.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it does not come to rest")
	return State{}
}

// A loop applies what is wanted, looks again, goes back if that fails, and says each step once it is durable.
func TestLoop(t *testing.T) {
	c, w, folder := &clock{time.Unix(1.8e9, 0)}, newFakeWork(), In(t.TempDir())
	var told []string
	l := opened(t, folder, w, c, func(tr Transition) {
		kept, err := folder.load("shop", c.now)
		if err != nil || kept.Wanted != tr.State.Wanted || kept.Phase != tr.State.Phase && tr.State.Phase != Retrying {
			t.Errorf("told is %+v, and kept is %+v, %v", tr.State, kept, err)
		}
		told = append(told, string(tr.State.Phase))
	})
	if next := l.Next(); !next.IsZero() {
		t.Errorf("a loop of which nothing is wanted has something to do at %v", next)
	}
	if err := l.Want(target("A"), l.core.Options); err != nil {
		t.Fatal(err)
	}
	if s := turns(t, l, c); s.Phase != Waiting || s.Condition != Converged || s.Converged != target("A") {
		t.Fatalf("%+v", s)
	}
	if want := "discovering applying discovering validating waiting"; strings.Join(told, " ") != want {
		t.Errorf("it told %s", told)
	}
	w.fails, w.calls = 2, nil
	if err := l.Want(target("B"), l.core.Options); err != nil {
		t.Fatal(err)
	}
	if s := turns(t, l, c); s.Condition != Reverted || s.Fallen != target("B") || w.is != "A" {
		t.Fatalf("%+v", s)
	}
	if want := []string{"plan B", "applying B", "plan B", "applying B", "reverting A"}; !slices.Equal(w.calls, want) {
		t.Errorf("it did %q", w.calls)
	}
	if err := folder.AskAgain("shop"); err != nil {
		t.Fatal(err)
	}
	if s := turns(t, l, c); s.Condition != Converged || w.is != "B" {
		t.Errorf("by a person's word it is %+v", s)
	}
	l.Look()
	w.calls = nil
	if turns(t, l, c); !slices.Equal(w.calls, []string{"plan B", "check B"}) {
		t.Errorf("it looked: %q", w.calls)
	}
}

// A process that ends at any moment leaves a loop that goes on, and no apply is done twice.
func TestLoopGoesOn(t *testing.T) {
	for end := 1; ; end++ {
		c, w, folder := &clock{time.Unix(1.8e9, 0)}, newFakeWork(), In(t.TempDir())
		w.fails = 3
		seen, ended := 0, false
		ctx, kill := context.WithCancel(t.Context())
		moment := func() {
			if seen++; seen == end {
				ended = true
				kill()
			}
		}
		w.before = func(string) { moment() }
		w.is = "A"
		l := opened(t, folder, w, c, func(Transition) { moment() })
		for _, digest := range []string{"A", "B"} {
			if err := l.Want(target(digest), l.core.Options); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if next := l.Next(); next.After(c.now) && l.State().Phase != Retrying {
					break
				} else if next.After(c.now) {
					c.now = next
				}
				if err := l.Turn(ctx); ctx.Err() != nil { // the process is gone: another one takes it up
					_ = l.Close()
					ctx = t.Context()
					l = opened(t, folder, w, c, nil)
				} else if err != nil {
					t.Fatal(err)
				}
			}
		}
		s := turns(t, l, c)
		if s.Phase != Help && s.Condition != Converged && s.Condition != Reverted {
			t.Errorf("ended at the moment %d: %+v", end, s)
		}
		if s.Wanted != target("B") {
			t.Errorf("ended at the moment %d: it wants %+v", end, s.Wanted)
		}
		kill()
		if !ended {
			break
		}
	}
}

// What cannot be written down is not done.
func TestLoopCannotWrite(t *testing.T) {
	c, w, dir := &clock{time.Unix(1.8e9, 0)}, newFakeWork(), t.TempDir()
	l := opened(t, In(dir), w, c, nil)
	if err := l.Want(target("A"), l.core.Options); err != nil {
		t.Fatal(err)
	}
	w.before = func(string) { // after the plan nothing can be written
		if err := os.RemoveAll(filepath.Join(dir, "loops")); err != nil {
			t.Error(err)
		}
	}
	if err := l.Turn(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing is done") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(w.calls, []string{"plan A"}) {
		t.Errorf("it did %q", w.calls)
	}
	if next := l.Next(); !next.Equal(c.now.Add(pauseBroken)) {
		t.Errorf("it tries again at %v", next)
	}
	w.before = func(string) {}
	if err := os.Mkdir(filepath.Join(dir, "loops"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(pauseBroken)
	if s := turns(t, l, c); s.Condition != Converged {
		t.Errorf("%+v", s)
	}
}

// An apply has a deadline, after which its end counts as a failure; one that ends well nevertheless has done so.
func TestLoopDeadline(t *testing.T) {
	c, w := &clock{time.Unix(1.8e9, 0)}, newFakeWork()
	l := opened(t, nil, w, c, nil)
	if err := l.Want(target("A"), Options{Deadline: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if err := l.Turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := l.State(); s.Phase != Retrying || s.Cause != Overdue || !strings.Contains(s.Reason, "longer than 1ns") {
		t.Errorf("%+v", s)
	}
}

// Before a reboot the end of an apply is not known: it is asked for later, and nothing is done twice.
func TestLoopUnknownEnd(t *testing.T) {
	c, w := &clock{time.Unix(1.8e9, 0)}, newFakeWork()
	w.unknown = true
	l := opened(t, In(t.TempDir()), w, c, nil)
	if err := l.Want(target("A"), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := l.Turn(t.Context()); err != nil || l.State().Phase != Applying || !l.Next().Equal(c.now.Add(pauseUnknown)) {
		t.Fatalf("%v, %+v", err, l.State())
	}
	if s := turns(t, l, c); s.Condition != Converged || len(w.done) != 1 {
		t.Errorf("%+v", s)
	}
}

// Two processes do not run one loop, and a State that cannot be read is no first day.
func TestFolder(t *testing.T) {
	folder := In(t.TempDir())
	l := opened(t, folder, newFakeWork(), &clock{}, nil)
	if _, err := Open(Config{Site: "shop", Folder: folder}); err == nil || !strings.Contains(err.Error(), "another process keeps shop") {
		t.Errorf("%v", err)
	}
	if err := errors.Join(l.Close(), os.WriteFile(folder.path("shop", suffixState), []byte(`{"format":"tenet.loop/9","phase":"waiting"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Site: "shop", Folder: folder}); err == nil || !strings.Contains(err.Error(), "tenet.loop/9") {
		t.Errorf("%v", err)
	}
	if _, err := folder.List(); err == nil {
		t.Error("it is listed")
	}
	if err := folder.Remove("shop"); err != nil {
		t.Fatal(err)
	}
	if list, err := folder.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
