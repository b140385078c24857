package journal_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Whoever finds the folder locked is told by whom.
func TestHolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	m := meta()
	m.User, m.From, m.Command = "root (by alice)", "192.0.2.7", "tenet apply"
	r, err := open(t, dir).Start(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(t, dir).Start(t.Context(), meta())
	if err == nil || !strings.Contains(err.Error(), "(tenet apply by root (by alice) from 192.0.2.7) applies run "+r.ID()+" since ") {
		t.Errorf("a second start: %v", err)
	}
	finish(t, r, journal.End{State: journal.Done})
	if h := open(t, dir).Holder(); h != nil {
		t.Errorf("held by %+v", h)
	}
}

// A program that was started keeps no lock.
func TestLockIsNotInherited(t *testing.T) {
	f := open(t, t.TempDir())
	r := start(t, f, meta())
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}()
	if err := r.Abandon(); err != nil {
		t.Fatal(err)
	}
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
}

// Without the lock file nothing is lost: IDs go on counting, and what was left is
// known.
func TestRemovedLockFile(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	dies(t, f, meta(), begun()...)
	r := start(t, f, meta())
	finish(t, r, journal.End{State: journal.Done})
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	next := start(t, f, meta())
	if next.ID() <= r.ID() {
		t.Errorf("%s comes after %s", next.ID(), r.ID())
	}
	same(t, "left", next.Ledger(), left()...)
	finish(t, next, journal.End{State: journal.Done})
}

// A start waits for the lock as long as it may, tells for whom, and ends with its
// context.
func TestWaitingForTheLock(t *testing.T) {
	f := open(t, t.TempDir())
	r := start(t, f, meta())
	m := meta()
	var told []string
	m.LockTimeout, m.Waiting = 150*time.Millisecond, func(e *journal.LockedError) { told = append(told, e.Run) }
	before := time.Now()
	_, err := f.Start(t.Context(), m)
	if !errors.As(err, new(*journal.LockedError)) || time.Since(before) < 150*time.Millisecond {
		t.Errorf("after %s: %v", time.Since(before), err)
	}
	if len(told) != 1 || told[0] != r.ID() {
		t.Errorf("told %q", told)
	}
	m.LockTimeout = time.Hour
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(gone) })
	if _, err := f.Start(ctx, m); !errors.Is(err, gone) {
		t.Errorf("a start that was ended: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() {
		if err := r.Finish(journal.End{State: journal.Done}); err != nil {
			t.Error(err)
		}
	})
	next, err := f.Start(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, next, journal.End{State: journal.Done})
}

// Whoever looks at the records of a run in progress sees whole ones, does not wait,
// and stands in nobody's way.
func TestLookingOnDoesNotDisturb(t *testing.T) {
	f := open(t, t.TempDir())
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
	done := make(chan struct{})
	var lookers sync.WaitGroup
	for range 2 {
		lookers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					look(t, f)
				}
			}
		})
	}
	for range 15 {
		r, err := f.Start(t.Context(), meta())
		if err != nil {
			t.Error(err)
			break
		}
		for seq := range int64(200) {
			if err := r.Append(states.Event{Seq: seq + 1, Type: states.EventPart, Address: "file.a", Reason: strings.Repeat("x", 500)}); err != nil {
				t.Error(err)
			}
		}
		if err := r.Finish(journal.End{State: journal.Done, Report: &states.Report{Host: strings.Repeat("x", 5000)}}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	lookers.Wait()
}

func look(t *testing.T, f *journal.Folder) {
	s, err := f.Status("")
	if err != nil || s.State != journal.Running && s.State != journal.Done {
		t.Errorf("status %+v, %v", s, err)
	}
	last := int64(0)
	for ev, err := range f.Events(s.Run) {
		if err != nil || ev.Seq != last+1 {
			t.Errorf("event %d after %d, %v", ev.Seq, last, err)
			return
		}
		last++
	}
	if l, err := f.Ledger(); err != nil || !l.Empty() || len(l.Damaged) > 0 {
		t.Errorf("ledger %+v, %v", l, err)
	}
	list, err := f.List()
	if err != nil || len(list) == 0 || slices.ContainsFunc(list, func(s journal.Status) bool { return s.State != journal.Running && s.State != journal.Done }) {
		t.Errorf("list %+v, %v", list, err)
	}
}
