package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// size gives how many files, and bytes, a directory holds.
func size(t *testing.T, dir string) (files int, bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files, bytes = files+1, bytes+info.Size()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, bytes
}

// However often is applied, well or not, the folder does not grow.
func TestFolderOfManyRunsIsBounded(t *testing.T) {
	dir := inMemory(t)
	f := open(t, dir)
	var files, most int
	var bytes int64
	for n := range 1000 {
		switch {
		case n%50 == 49: // dies, and what it has begun is settled by the next one
			dies(t, f, meta(), begun()...)
			continue
		case n%50 == 0 && n > 0:
			r := start(t, f, meta())
			for _, ev := range []states.Event{
				{Type: states.EventPart, Address: "file.b", Outcome: states.Unchanged},
				{Type: states.EventStart, Address: "command.h"},
				{Type: states.EventInvocation, Address: "command.h", Outcome: states.Changed},
				{Type: states.EventStart, Address: "command.i"},
				{Type: states.EventInvocation, Address: "command.i", Outcome: states.Changed},
			} {
				if err := r.Append(ev); err != nil {
					t.Fatal(err)
				}
			}
			finish(t, r, journal.End{State: journal.Done})
		default:
			finish(t, start(t, f, meta()), journal.End{State: journal.Done})
		}
		if n == 101 {
			files, bytes = size(t, dir)
		}
		if n > 101 && n%100 == 1 {
			now, nowBytes := size(t, dir)
			most = max(most, now)
			if now > files+10 || nowBytes > bytes+4096 {
				t.Fatalf("after %d runs %d files with %d bytes, and %d with %d after 101", n, now, nowBytes, files, bytes)
			}
		}
	}
	list, err := f.List()
	if err != nil || len(list) < 25 || len(list) > 31 {
		t.Errorf("%d runs are kept, %v", len(list), err)
	}
	if most == 0 {
		t.Error("nothing was measured")
	}
}

// age makes a run look as if it was started then.
func age(t *testing.T, f *journal.Folder, id string, started time.Time) {
	t.Helper()
	path := filepath.Join(f.Dir(), "runs", id, "status.json")
	data, err := os.ReadFile(path)
	if err == nil {
		data = regexp.MustCompile(`"started":"[^"]*"`).ReplaceAll(data, []byte(`"started":"`+started.UTC().Format(time.RFC3339Nano)+`"`))
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// many makes n runs that have ended.
func many(t *testing.T, f *journal.Folder, n int) (ids []string) {
	t.Helper()
	for range n {
		r := start(t, f, journal.Meta{Keep: -1, KeepFor: -1, Origin: "/srv/site"})
		ids = append(ids, r.ID())
		finish(t, r, journal.End{State: journal.Done, Report: &states.Report{Host: "host"}})
	}
	return ids
}

func kept(t *testing.T, f *journal.Folder) (ids []string) {
	t.Helper()
	list, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		ids = append(ids, s.Run)
	}
	return ids
}

// Runs that are too old go; the latest stays, and so do those from the future,
// which a clock that has jumped makes.
func TestRetentionByAge(t *testing.T) {
	f := open(t, t.TempDir())
	ids := many(t, f, 5)
	now := time.Now()
	age(t, f, ids[0], now.Add(-100*24*time.Hour))
	age(t, f, ids[1], now.Add(100*24*time.Hour))
	age(t, f, ids[2], now.Add(-40*24*time.Hour))
	age(t, f, ids[4], now.Add(-100*24*time.Hour))
	if removed, _, err := f.CleanOld(-1, 30*24*time.Hour); err != nil || !slices.Equal(removed, []string{ids[0], ids[2]}) {
		t.Errorf("removed %v of %v, %v", removed, ids, err)
	}
	same(t, "kept", kept(t, f), ids[1], ids[3], ids[4])

	// A run that ends keeps to its own limits.
	g := open(t, t.TempDir())
	ids = many(t, g, 3)
	age(t, g, ids[0], now.Add(-91*24*time.Hour))
	age(t, g, ids[1], now.Add(-89*24*time.Hour))
	r := start(t, g, meta())
	finish(t, r, journal.End{State: journal.Done})
	same(t, "kept by default", kept(t, g), ids[1], ids[2], r.ID())
	last := start(t, g, journal.Meta{Keep: 2})
	finish(t, last, journal.End{State: journal.Done})
	same(t, "kept by number", kept(t, g), r.ID(), last.ID())
}

// What has left something undone stays, until that is done.
func TestNeededRunsStay(t *testing.T) {
	f := open(t, t.TempDir())
	dead := dies(t, f, meta(), begun()...)
	_, err := f.Clean(dead)
	var needed *journal.NeededError
	if !errors.As(err, &needed) || needed.Run != dead || len(needed.What) != 3 {
		t.Fatalf("cleaned: %v", err)
	}
	if s, err := f.Status(dead); err != nil || s.State != journal.Interrupted {
		t.Errorf("status %+v, %v", s, err)
	}
	ids := many(t, f, 3)
	if removed, _, err := f.CleanOld(1, 0); err != nil || !slices.Equal(removed, ids[:2]) {
		t.Errorf("removed %v, %v", removed, err)
	}
	r := start(t, f, journal.Meta{Keep: 1, Origin: "/srv/site"})
	finish(t, r, journal.End{State: journal.Done})
	same(t, "kept", kept(t, f), dead, r.ID())
	same(t, "left", ledger(t, f), left()...)

	r = start(t, f, journal.Meta{Keep: 1, Origin: "/srv/site"})
	for _, ev := range []states.Event{
		{Type: states.EventPart, Address: "file.b", Outcome: states.Changed},
		{Type: states.EventDropped, Address: "command.h", Owed: ledger(t, f).Debts},
	} {
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, r, journal.End{State: journal.Done})
	same(t, "kept at last", kept(t, f), r.ID())
}

// While a run is in progress, neither it nor what it does not know of is removed.
func TestCleanBesideARun(t *testing.T) {
	f := open(t, t.TempDir())
	ids := many(t, f, 2)
	r := start(t, f, meta())
	if _, err := f.Clean(r.ID()); err == nil {
		t.Error("a run in progress was cleaned")
	}
	if removed, _, err := f.CleanOld(0, 0); err != nil || !slices.Equal(removed, ids) {
		t.Errorf("removed %v, %v", removed, err)
	}
	finish(t, r, journal.End{State: journal.Done})
	if removed, _, err := f.CleanOld(0, 0); err != nil || !slices.Equal(removed, []string{r.ID()}) {
		t.Errorf("removed %v, %v", removed, err)
	}
}

// A record is not removed as long as only its events tell what a site has created.
func TestCleanKeepsWhatIsManaged(t *testing.T) {
	dir, full := t.TempDir(), true
	f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
		if full && op.Kind == journal.OpRename && filepath.Base(op.Path) == "shop.jsonl" {
			return syscall.ENOSPC
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Start(t.Context(), journal.Meta{Run: &states.StateRun{Site: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []states.Event{{Type: states.EventRun, Format: states.EventFormat, Site: "shop"}, begins(2, "/a"), ends(3, "/a", states.Changed)} {
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(journal.End{State: journal.Done}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the run ends with %v", err)
	}
	for _, clean := range []func() error{
		func() error { _, err := f.Clean(r.ID()); return err },
		func() error { _, _, err := f.CleanOld(0, 0); return err },
	} {
		if err := clean(); !errors.Is(err, syscall.ENOSPC) || holds(t, dir, "shop") != "/a" {
			t.Errorf("cleaned: %v; the site holds %q", err, holds(t, dir, "shop"))
		}
	}
	full = false
	if _, err := f.Clean(r.ID()); err != nil || len(kept(t, f)) != 0 || holds(t, dir, "shop") != "/a" {
		t.Errorf("cleaned: %v; the site holds %q", err, holds(t, dir, "shop"))
	}
}

// A run that somebody goes on with, just as it is cleaned, is left to them.
func TestCleanOfARunThatGoesOn(t *testing.T) {
	dir := t.TempDir()
	other := open(t, dir)
	id := dies(t, other, meta(), states.Event{Seq: 1, Type: states.EventRun, Format: states.EventFormat})
	finish(t, start(t, other, journal.Meta{Run: &states.StateRun{Site: "another"}}), journal.End{State: journal.Done})
	var resumed *journal.Run
	f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) (err error) {
		if op.Kind != journal.OpRename || filepath.Base(op.Path) != ".tenet-"+id {
			return nil
		}
		if resumed, err = other.Resume(t.Context(), id, journal.Meta{}); err != nil {
			return err
		}
		lock := filepath.Join(dir, "lock") // as another process
		data, err := os.ReadFile(lock)
		if err != nil {
			return err
		}
		return os.WriteFile(lock, journal.Seal(regexp.MustCompile(`"pid":[0-9]+`).ReplaceAll(data, []byte(`"pid":1`))), 0o600)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Clean(id); err == nil || resumed == nil {
		t.Fatalf("cleaned: %v", err)
	}
	finish(t, resumed, journal.End{State: journal.Done, Changed: true})
	if s, err := other.Status(id); err != nil || s.State != journal.Done {
		t.Errorf("status %+v, %v", s, err)
	}
}
