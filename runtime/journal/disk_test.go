package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// oneRun is a short apply, up to its first error.
func oneRun(t *testing.T, f *journal.Folder) error {
	t.Helper()
	r, err := f.Start(t.Context(), journal.Meta{Run: run()})
	if err != nil {
		return err
	}
	err = errors.Join(
		r.Append(states.Event{Seq: 1, Type: states.EventRun, Format: states.EventFormat}),
		r.Append(states.Event{Seq: 2, Type: states.EventBegin, Address: "file.a"}),
		r.Sync(),
		r.Output("file.a", "stdout", []byte("hello")),
		r.Append(states.Event{Seq: 3, Type: states.EventPart, Address: "file.a", Outcome: states.Changed}),
	)
	if err != nil {
		return errors.Join(err, r.Abandon())
	}
	return r.Finish(journal.End{State: journal.Done, Changed: true})
}

// Whatever operation fails says so, whichever of a run's it is.
func TestEveryOperationMayFail(t *testing.T) {
	base := inMemory(t)
	for k := int64(1); ; k++ {
		var n atomic.Int64
		dir := filepath.Join(base, fmt.Sprint(k))
		f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
			if n.Add(1) == k && op.Kind != journal.OpLink { // it is written anew instead
				return syscall.ENOSPC
			}
			return nil
		}})
		if err == nil {
			err = oneRun(t, f)
		}
		if n.Load() < k {
			if err != nil || k < 20 {
				t.Errorf("%d operations, %v", n.Load(), err)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("operation %d failed, and the run says %v", k, err)
		}
		if err := oneRun(t, open(t, dir)); err != nil {
			t.Errorf("a run after operation %d has failed: %v", k, err)
		}
	}
}

// A torn write leaves its beginning, and an abandoned run writes nothing more.
func TestTornWrite(t *testing.T) {
	dir := t.TempDir()
	dead := errors.New("dead")
	f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
		if op.Kind == journal.OpWrite && strings.HasSuffix(op.Path, "events.jsonl") {
			return &journal.Torn{N: 40, Err: dead}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, f, journal.Meta{})
	for seq := range int64(9) {
		if err := r.Append(states.Event{Seq: seq, Type: states.EventBegin, Address: "file.a"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Flush(); !errors.Is(err, dead) {
		t.Errorf("flushed: %v", err)
	}
	if err := r.Abandon(); err != nil {
		t.Error(err)
	}
	if err := r.Append(states.Event{}); err == nil {
		t.Error("appended to an abandoned run")
	}
	data, err := os.ReadFile(filepath.Join(dir, "runs", r.ID(), "events.jsonl"))
	if err != nil || len(data) != 40 {
		t.Errorf("left %q, %v", data, err)
	}
	if s, err := f.Status(""); err != nil || s.State != journal.Interrupted {
		t.Errorf("status %+v, %v", s, err)
	}
}

// What is synced comes after what was written of it: the events, what the run is
// made of, and the names of both.
func TestSyncFollowsWrites(t *testing.T) {
	var mu sync.Mutex
	dirty := map[string]bool{}
	dir := t.TempDir()
	f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
		mu.Lock()
		defer mu.Unlock()
		switch op.Kind {
		case journal.OpSync:
			delete(dirty, op.Path)
		case journal.OpWrite, journal.OpTruncate:
			dirty[op.Path] = true
		case journal.OpOpen, journal.OpMkdir, journal.OpLink:
			dirty[filepath.Dir(op.Path)] = true
		case journal.OpRename: // the new name has what the old one had
			dirty[filepath.Dir(op.Path)], dirty[op.Path] = true, true
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, f, meta())
	if err := errors.Join(r.Append(states.Event{Seq: 1, Type: states.EventBegin}), r.Sync()); err != nil {
		t.Fatal(err)
	}
	for path := range dirty {
		if (path == dir || strings.HasPrefix(path, filepath.Join(dir, "runs"))) && !strings.HasSuffix(path, ".new") && !strings.Contains(path, ".tenet-") {
			t.Errorf("%s is not synced", path)
		}
	}
	if err := errors.Join(r.Append(states.Event{Seq: 2, Type: states.EventPart}), r.Flush()); err != nil {
		t.Fatal(err)
	}
	if got := events(t, f, r.ID()); len(got) != 2 {
		t.Errorf("flushed %+v", got)
	}
	finish(t, r, journal.End{State: journal.Done})
}

// In a tree that somebody else has made, links in the state folder lead nowhere.
func TestNoLinkLeadsOut(t *testing.T) {
	for _, name := range []string{"lock", "format", "runs", "owed.json", "managed.json", "managed"} {
		outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "state")
		victim := filepath.Join(outside, "victim")
		if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Mkdir(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		to := victim
		if name == "runs" || name == "managed" {
			to = outside
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if f, err := journal.Open(dir); err == nil {
			err = oneRun(t, f)
			if name == "lock" && err == nil {
				t.Error("locked a file outside")
			}
		}
		data, err := os.ReadFile(victim)
		if err != nil || string(data) != "precious" {
			t.Errorf("%s: now %q, %v", name, data, err)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

// A pipe in the place of a file keeps nobody waiting.
func TestPipesDoNotBlock(t *testing.T) {
	for _, name := range []string{"lock", "owed.json", "hold", "runs/00000001-abcdef/status.json", "runs/00000001-abcdef/events.jsonl"} {
		dir := t.TempDir()
		f := open(t, dir)
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = f.List()
			_, _ = f.Ledger()
			_, _ = f.Held()
			if r, err := f.Start(t.Context(), meta()); err == nil {
				_ = r.Finish(journal.End{State: journal.Done})
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s: still waiting", name)
		}
	}
}

// A folder in an empty tree is its owner's alone, and the tree is not.
func TestFolderInAnEmptyTree(t *testing.T) {
	root := t.TempDir()
	open(t, filepath.Join(root, "var/lib/tenet"))
	for name, want := range map[string]fs.FileMode{"var": 0o755, "var/lib": 0o755, "var/lib/tenet": 0o700} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v, want %v (%v)", name, info.Mode().Perm(), want, err)
		}
	}
}
