package source_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "200") }

// origin is a source in memory: its newest revision, and what is wrong with it.
type origin struct {
	now     source.Revision
	away    error            // of Look and Fetch
	torn    bool             // Fetch fails on the way
	refuses map[string]error // by revision
	looks   int
	fetches int
	former  source.Former // of the last Fetch
	// crash ends the process in Fetch, with the folder half-made.
	crash bool
}

var errCrash = errors.New("the process dies")

func (o *origin) Look(context.Context, source.Revision) (source.Revision, error) {
	o.looks++
	return o.now, o.away
}

func (o *origin) Fetch(_ context.Context, r source.Revision, former source.Former, dir string) (source.Fetched, error) {
	o.fetches, o.former = o.fetches+1, former
	if o.away != nil {
		return source.Fetched{}, o.away
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return source.Fetched{}, err
	}
	if o.crash {
		panic(errCrash)
	}
	if o.torn {
		return source.Fetched{}, errors.New("the connection is lost")
	}
	if err := o.refuses[r.ID]; err != nil {
		return source.Fetched{}, source.Refuse(err)
	}
	return source.Fetched{Rewritten: strings.HasPrefix(r.ID, "other") && !former.IsZero()}, os.WriteFile(filepath.Join(dir, "id"), []byte(r.ID), 0o600)
}

// world is a follower in simulated time.
type world struct {
	*origin
	t      failer
	dir    string
	time   time.Time
	f      *source.Follower
	events []source.Event
	o      source.Options
	broken map[string]bool // revisions that do not load
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newWorld(t failer, dir string, o source.Options) *world {
	w := &world{origin: &origin{refuses: map[string]error{}}, t: t, dir: dir, time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), o: o, broken: map[string]bool{}}
	w.begin()
	return w
}

// begin is a process that begins.
func (w *world) begin() {
	w.t.Helper()
	f, err := source.Open(source.Config{Source: w.origin, Dir: w.dir, Options: w.o, Now: func() time.Time { return w.time }, Random: func() float64 { return 0.5 },
		Tell: func(e source.Event) { w.events = append(w.events, e) }, Check: w.check})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.f = f
}

func (w *world) check(_ context.Context, dir string) error {
	id, err := os.ReadFile(filepath.Join(dir, "id"))
	if err == nil && w.broken[string(id)] {
		err = &diag.HintError{Message: "site.hcl:3:1: it does not load", Hint: "mend it"}
	}
	return err
}

// turn goes to the next turn, and takes it.
func (w *world) turn() bool {
	w.t.Helper()
	if next := w.f.Next(); next.After(w.time) {
		w.time = next
	}
	changed, err := w.f.Turn(context.Background())
	if err != nil {
		w.t.Fatalf("turn: %v", err)
	}
	return changed
}

// holds is the revision whose files count.
func (w *world) holds() string {
	w.t.Helper()
	if w.f.Folder() == "" {
		return ""
	}
	id, err := os.ReadFile(filepath.Join(w.f.Folder(), "id"))
	if err != nil {
		w.t.Fatalf("the folder: %v", err)
	}
	return string(id)
}

func (w *world) kinds() string {
	var list []string
	for _, e := range w.events {
		list = append(list, strings.TrimSpace(string(e.Kind)+" "+e.Revision.ID))
	}
	w.events = nil
	return strings.Join(list, ", ")
}

func (w *world) expect(holds, kinds string) {
	w.t.Helper()
	if got := w.holds(); got != holds {
		w.t.Fatalf("it holds %q, and not %q", got, holds)
	}
	if got := w.kinds(); got != kinds {
		w.t.Fatalf("told was %q, and not %q", got, kinds)
	}
}

func TestFollow(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{})
	w.now.ID = "one"
	w.turn()
	w.expect("one", "adopted one")
	began := w.time
	w.turn()
	if w.expect("one", ""); w.time.Sub(began) != source.DefaultPoll || w.fetches != 1 {
		t.Errorf("the next look comes after %v; %d fetches", w.time.Sub(began), w.fetches)
	}

	// What does not load leaves the former one; it is told once, tried again, and named as skipped when another one comes.
	w.now.ID, w.broken["two"] = "two", true
	w.turn()
	w.expect("one", "rejected two")
	if p := w.f.State().Problem; p == nil || p.Message != "site.hcl:3:1: it does not load" || p.Hint != "mend it" {
		t.Errorf("the problem is %+v", p)
	}
	w.turn()
	w.expect("one", "")
	w.begin() // another process knows
	w.turn()
	w.expect("one", "")
	w.now.ID = "three"
	w.turn()
	w.expect("three", "skipped two, adopted three")
	w.now.ID, w.refuses["four"] = "four", errors.New("it is not signed")
	w.turn()
	w.expect("three", "rejected four")
	w.now.ID = "three" // it was put back
	w.turn()
	w.expect("three", "skipped four")
	if w.f.State().Problem != nil {
		t.Errorf("there is a problem still: %+v", w.f.State().Problem)
	}
	w.now.ID = "other"
	w.turn()
	w.expect("other", "rewritten other, adopted other")

	// What keeps one from being used may be mended elsewhere.
	w.now.ID, w.broken["five"] = "five", true
	w.turn()
	w.expect("other", "rejected five")
	w.broken["five"] = false
	w.turn()
	w.expect("five", "adopted five")
}

// A source that is away for weeks is told of once, asked at intervals that grow up to those of polls, and nothing changes meanwhile.
func TestAway(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{Poll: time.Hour})
	w.now.ID = "one"
	w.turn()
	w.expect("one", "adopted one")
	w.now.ID, w.away = "two", errors.New("no route to host")
	began, looks := w.time, w.looks
	for w.time.Sub(began) < 14*24*time.Hour {
		w.turn()
	}
	if w.expect("one", "away"); w.looks-looks > 1000 || w.looks-looks < 300 {
		t.Errorf("it was asked %d times in two weeks", w.looks-looks)
	}
	if s := w.f.State(); s.Away.IsZero() || s.AwayText != "no route to host" || s.Problem != nil {
		t.Errorf("it stands at %+v", s)
	}
	w.begin() // nor is it told again after a restart
	w.turn()
	w.away = nil
	w.turn()
	w.expect("two", "back, adopted two")
	w.now.ID, w.torn = "three", true
	w.turn()
	w.expect("two", "away")
	w.torn = false
	w.turn()
	w.expect("three", "back, adopted three")
}

func TestWhen(t *testing.T) {
	from := time.Date(2030, 1, 1, 1, 0, 0, 0, time.UTC)
	w := newWorld(t, t.TempDir(), source.Options{Poll: time.Hour, Downtimes: []source.Downtime{{From: from, To: from.Add(5 * time.Hour), Reason: "the line is repaired"}}})
	w.now.ID = "one"
	w.turn()
	w.now.ID, w.away = "two", errors.New("no route to host")
	w.turn()
	if w.expect("one", "adopted one, away"); !w.time.Equal(from.Add(5 * time.Hour)) {
		t.Errorf("it was asked in a downtime, at %v", w.time)
	}
	if changed, err := w.f.Turn(t.Context()); changed || err != nil {
		t.Error(changed, err)
	}
	looks := w.looks
	w.f.Hint()
	w.turn()
	if w.looks != looks+1 {
		t.Error("a hint does not have it look")
	}
}

// What looks well, and cannot be fetched, is tried at growing intervals, and told once. A revision that was rejected before stays so.
func TestFetchFails(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{Poll: time.Hour})
	w.now.ID = "one"
	w.turn()
	w.now.ID, w.broken["two"] = "two", true
	w.turn()
	w.expect("one", "adopted one, rejected two")
	w.now.ID, w.torn = "three", true
	began, fetches := w.time, w.fetches
	for w.time.Sub(began) < 24*time.Hour {
		w.turn()
	}
	if w.expect("one", "skipped two, away"); w.fetches-fetches > 60 {
		t.Errorf("it was fetched %d times in a day", w.fetches-fetches)
	}
	w.now.ID, w.broken["two"], w.torn = "two", false, false
	w.turn()
	w.expect("two", "back, adopted two")
}

// After a loss of power files may be there that are not what was written: nothing is made of them.
func TestFilesAreTorn(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{})
	w.now.ID = "one"
	w.turn()
	if err := os.Truncate(filepath.Join(w.f.Folder(), "id"), 0); err != nil {
		t.Fatal(err)
	}
	w.begin()
	if folder := w.f.Folder(); folder != "" {
		t.Errorf("it has the files of %s still", folder)
	}
	w.turn()
	w.expect("one", "adopted one, adopted one")
}

func TestFolderIsLost(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{})
	w.now.ID = "one"
	w.turn()
	if err := os.RemoveAll(w.f.Folder()); err != nil {
		t.Fatal(err)
	}
	w.begin()
	w.turn()
	w.expect("one", "adopted one, adopted one")
	if err := os.WriteFile(filepath.Join(w.dir, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Open(source.Config{Source: w.origin, Dir: w.dir}); err == nil || diag.HintOf(err) == "" {
		t.Errorf("a damaged record: %v", err)
	}
}

// A process that dies when a revision is recorded, and not at its place yet: the next one puts it there.
func TestDiesBeforePlace(t *testing.T) {
	w := newWorld(t, t.TempDir(), source.Options{})
	w.now.ID = "two"
	w.turn()
	sum := sha256.Sum256([]byte("two\x00"))
	if err := os.Rename(w.f.Folder(), filepath.Join(w.dir, "revisions", hex.EncodeToString(sum[:16]))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "site"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "site", "id"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.begin()
	w.expect("two", "adopted two")
}

// Whatever happens in whatever order, and wherever processes die: what counts was verified and loads, its files are whole, nothing else is kept, and in the
// end it is the newest, if that can be used.
func TestFollowsAnyStory(t *testing.T) {
	rapidtest.For(t, "60")
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "tenet-follow-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := newWorld(t, dir, source.Options{})
		used := map[string]bool{"": true} // that could be used when it was looked at
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				w.now.ID = fmt.Sprintf("r%d", rapid.IntRange(0, 6).Draw(t, "revision"))
				w.broken[w.now.ID] = rapid.IntRange(0, 3).Draw(t, "loads") == 0
				if delete(w.refuses, w.now.ID); rapid.IntRange(0, 3).Draw(t, "verified") == 0 {
					w.refuses[w.now.ID] = errors.New("it is not signed")
				}
			case 2:
				w.away = errors.New("away")
			case 3:
				w.torn = true
			case 4:
				w.away, w.torn = nil, false
			case 5:
				w.begin()
			case 6:
				w.crash = true
			}
			if w.now.ID == "" {
				continue
			}
			if w.away == nil && !w.torn && !w.broken[w.now.ID] && w.refuses[w.now.ID] == nil {
				used[w.now.ID] = true
			}
			before := w.holds()
			func() {
				defer func() {
					if p := recover(); p != nil && p != any(errCrash) {
						panic(p)
					} else if p != nil {
						w.begin()
					}
				}()
				w.turn()
			}()
			w.crash = false
			if got := w.holds(); got != before && (got != w.now.ID || !used[got]) {
				t.Fatalf("it holds %q, which could not be used", got)
			}
		}
		if w.now.ID == "" {
			return
		}
		w.away, w.torn, w.crash = nil, false, false
		before := w.holds()
		w.turn()
		w.turn()
		want := before
		if !w.broken[w.now.ID] && w.refuses[w.now.ID] == nil {
			want = w.now.ID
		}
		if got := w.holds(); got != want && got != w.now.ID {
			t.Fatalf("in the end it holds %q, and not %q", got, want)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "revisions"))
		if err != nil || len(entries) > 0 {
			t.Fatalf("it keeps %v, %v", entries, err)
		}
	})
}
