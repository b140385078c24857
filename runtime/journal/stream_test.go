package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// follower reads a sequence bit by bit, and knows what it has seen.
type follower struct {
	folder *journal.Folder
	since  journal.Since
	seen   map[int64]string // the keys of events by number
	keys   map[string]bool
	gaps   int
}

func follow(folder *journal.Folder) *follower {
	return &follower{folder: folder, seen: map[int64]string{}, keys: map[string]bool{}}
}

// read reads what is there, and says what is wrong with it.
func (f *follower) read() error {
	for e, err := range f.folder.Stream(context.Background(), f.since, false) {
		switch {
		case err != nil:
			return err
		case f.since.Sequence != "" && e.Sequence != f.since.Sequence:
			return fmt.Errorf("the sequence is another one")
		case e.Gap != nil:
			if e.Gap.First != f.since.Number+1 || e.Gap.Last < e.Gap.First || e.Number != e.Gap.Last {
				return fmt.Errorf("after %d there is a gap %+v", f.since.Number, e.Gap)
			}
			f.gaps++
		case e.Number != f.since.Number+1:
			return fmt.Errorf("after %d comes %d", f.since.Number, e.Number)
		case f.keys[e.Event.Key]:
			return fmt.Errorf("the event %s is told twice", e.Event.Key)
		default:
			f.seen[e.Number], f.keys[e.Event.Key] = e.Event.Key, true
		}
		f.since = journal.Since{Number: e.Number, Sequence: e.Sequence}
	}
	return nil
}

// errKilled is that of operations of a process that was killed.
var errKilled = errors.New("killed")

// Whatever dies at whatever operation, who follows gets each event once, in order, and no number stands for two of them; only what was removed is
// a gap.
func TestSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "sequence")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var mu sync.Mutex         // what a run is about to do is written beside its first steps
		left, isTorn := -1, false // operations until the process is killed; below 0: it is not
		folder, err := journal.OpenWith(dir, journal.Options{Volatile: true, Intercept: func(op journal.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if left < 0 {
				return nil
			}
			if left--; left > 0 {
				return nil
			}
			if left = 0; isTorn && len(op.Data) > 1 {
				isTorn = false
				return &journal.Torn{N: len(op.Data) / 2, Err: errKilled}
			}
			left = 1
			return errKilled
		}})
		if err != nil {
			t.Fatal(err)
		}
		reading, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		reader := follow(reading)
		read := func() {
			if err := reader.read(); err != nil {
				t.Fatal(err)
			}
		}
		last, count, removed := "", 0, false
		for range rapid.IntRange(1, 8).Draw(t, "processes") {
			at, torn := -1, false
			if rapid.Bool().Draw(t, "killed") {
				at, torn = rapid.IntRange(1, 60).Draw(t, "at"), rapid.Bool().Draw(t, "torn")
			}
			mu.Lock()
			left, isTorn = at, torn
			mu.Unlock()
			var r *journal.Run
			switch rapid.SampledFrom([]string{"start", "start", "resume", "clean"}).Draw(t, "does") {
			case "start":
				r, err = folder.Start(context.Background(), journal.Meta{Run: run(), Origin: rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "site")})
			case "resume":
				r, err = folder.Resume(context.Background(), last, journal.Meta{})
			case "clean":
				_, _, err = folder.CleanOld(rapid.IntRange(0, 2).Draw(t, "kept"), 0)
				removed = true
			}
			if r == nil {
				_, impossible := errors.AsType[*journal.NotResumableError](err)
				if err != nil && !errors.Is(err, errKilled) && !impossible && !errors.Is(err, journal.ErrNoRun) {
					t.Fatal(err)
				}
				read()
				continue
			}
			last = r.ID()
			seq := int64(0)
			if was := r.Resumed(); was != nil {
				seq = was.Last
			}
			for range rapid.IntRange(0, 4).Draw(t, "events") {
				count++
				if seq++; r.Append(states.Event{Seq: seq, Type: states.EventPart, Format: states.EventFormat, Key: fmt.Sprint(count), Time: time.Now()}) != nil {
					break
				}
				if rapid.Bool().Draw(t, "flushed") && r.Flush() == nil {
					read()
				}
			}
			switch rapid.SampledFrom([]string{"finish", "fail", "pause", "die"}).Draw(t, "ends") {
			case "finish":
				err = r.Finish(journal.End{State: journal.Done})
			case "fail":
				err = r.Finish(journal.End{State: journal.Failed, Changed: true})
			case "pause":
				err = errors.Join(r.Pause(journal.End{}), r.Abandon())
			case "die":
				err = r.Abandon()
			}
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			read()
		}
		mu.Lock()
		left = -1
		mu.Unlock()
		r, err := folder.Start(context.Background(), journal.Meta{Run: run()})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Append(states.Event{Seq: 1, Type: states.EventRun, Key: "last"}), r.Finish(journal.End{State: journal.Done})); err != nil {
			t.Fatal(err)
		}
		read()
		if reader.gaps > 0 && !removed {
			t.Fatalf("%d gaps, and nothing was removed", reader.gaps)
		}
		anew := follow(reading)
		if err := anew.read(); err != nil {
			t.Fatal(err)
		}
		if anew.since != reader.since || !anew.keys["last"] {
			t.Fatalf("who follows is at %v, and who reads anew at %v", reader.since, anew.since)
		}
		for number, key := range anew.seen {
			if reader.seen[number] != key {
				t.Fatalf("%d is %q for who reads anew, and %q for who follows", number, key, reader.seen[number])
			}
		}
	})
}

// events gives the events of a stream in short.
func entries(t *testing.T, f *journal.Folder, since journal.Since) (list []string) {
	t.Helper()
	for e, err := range f.Stream(t.Context(), since, false) {
		switch {
		case err != nil:
			list = append(list, err.Error())
		case e.Gap != nil:
			list = append(list, fmt.Sprintf("gap %d-%d %s", e.Gap.First, e.Gap.Last, e.Gap.Reason))
		default:
			list = append(list, fmt.Sprintf("%d %s", e.Number, e.Event.Key))
		}
	}
	return list
}

func event(seq int64, key string) states.Event {
	return states.Event{Seq: seq, Type: states.EventPart, Format: states.EventFormat, Key: key}
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A run that goes on after another one has its later events after those, and what was removed is told.
func TestSequenceOfRunsThatGoOn(t *testing.T) {
	f := open(t, t.TempDir())
	equal(t, "none", entries(t, f, journal.Since{}))
	id := dies(t, f, meta(), event(1, "a"), event(2, "b"))
	other := start(t, f, journal.Meta{Origin: "/elsewhere"})
	if err := other.Append(event(1, "c")); err != nil {
		t.Fatal(err)
	}
	finish(t, other, journal.End{State: journal.Done})
	r, err := f.Resume(t.Context(), id, journal.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Append(event(3, "d")), r.Pause(journal.End{}), r.Append(event(4, "e"))); err != nil { // the machine has stayed up
		t.Fatal(err)
	}
	finish(t, r, journal.End{State: journal.Done})
	equal(t, "all", entries(t, f, journal.Since{}), "1 a", "2 b", "3 c", "4 d", "5 e")
	equal(t, "some", entries(t, f, journal.Since{Number: 3}), "4 d", "5 e")
	equal(t, "none more", entries(t, f, journal.Since{Number: 5}))
	equal(t, "of another sequence", entries(t, f, journal.Since{Number: 4, Sequence: "other"}), "1 a", "2 b", "3 c", "4 d", "5 e")
	if _, err := f.Clean(other.ID()); err != nil {
		t.Fatal(err)
	}
	equal(t, "one removed", entries(t, f, journal.Since{}), "1 a", "2 b", "gap 3-3 removed", "4 d", "5 e")
	if _, _, err := f.CleanOld(0, 0); err != nil {
		t.Fatal(err)
	}
	last := start(t, f, meta())
	if err := last.Append(event(1, "f")); err != nil {
		t.Fatal(err)
	}
	finish(t, last, journal.End{State: journal.Done})
	equal(t, "all removed", entries(t, f, journal.Since{}), "gap 1-4 removed", "gap 5-5 removed", "6 f")
}

// changeBoot makes it so that the machine has started anew since.
func changeBoot(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "sequence.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, journal.Seal([]byte(strings.ReplaceAll(string(data), journal.BootID(), "another"))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// After a loss of power no number is given again that somebody may have seen, where what had it may be lost; and none is left out where all is on the disk.
func TestSequenceAfterPowerLoss(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	one := func(key string, changed bool) {
		r := start(t, f, meta())
		if err := r.Append(event(1, key)); err != nil {
			t.Fatal(err)
		}
		finish(t, r, journal.End{State: journal.Done, Changed: changed})
	}
	one("a", true)
	changeBoot(t, dir)
	one("b", false)
	equal(t, "durable", entries(t, f, journal.Since{}), "1 a", "2 b")
	changeBoot(t, dir)
	one("c", false)
	equal(t, "not durable", entries(t, f, journal.Since{}), "1 a", "2 b", "gap 3-1048578 power", "1048579 c")
}

// What is damaged is told, and nothing else is lost: neither of records, nor of the sequence itself, nor of a folder of before.
func TestSequenceDamaged(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	first := dies(t, f, meta(), event(1, "a"), event(2, "b"), event(3, "c"))
	dies(t, f, meta(), event(1, "d"))
	path := filepath.Join(dir, "runs", first, "events.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"key":"b"`, `"key":"x"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "an event", entries(t, f, journal.Since{}), "1 a", "gap 2-3 damaged", "4 d")
	if err := os.WriteFile(filepath.Join(dir, "sequence.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, f, journal.Since{}); len(got) != 1 || !strings.Contains(got[0], "damaged") {
		t.Errorf("the sequence: %q", got)
	}
	last := start(t, f, meta())
	if err := last.Append(event(1, "e")); err != nil {
		t.Fatal(err)
	}
	finish(t, last, journal.End{State: journal.Done})
	equal(t, "anew", entries(t, f, journal.Since{Number: 7, Sequence: "former"}), "1 a", "gap 2-3 damaged", "4 d", "5 e")
}

// Who follows gets what comes, of whichever run, until the context ends.
func TestFollowSequence(t *testing.T) {
	f := open(t, t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	got := make(chan string)
	go func() {
		defer close(got)
		for e, err := range f.Stream(ctx, journal.Since{}, true) {
			if err != nil {
				got <- err.Error()
				return
			}
			got <- fmt.Sprintf("%d %s", e.Number, e.Event.Key)
		}
	}()
	for i, key := range []string{"a", "b"} {
		r := start(t, f, meta())
		if err := errors.Join(r.Append(event(1, key)), r.Flush()); err != nil {
			t.Fatal(err)
		}
		if line := <-got; line != fmt.Sprintf("%d %s", i+1, key) {
			t.Errorf("%s", line)
		}
		if i == 0 {
			if err := r.Abandon(); err != nil {
				t.Fatal(err)
			}
		} else {
			finish(t, r, journal.End{State: journal.Done})
		}
	}
	cancel(enough)
	if line := <-got; line != "enough" {
		t.Errorf("%s", line)
	}
}
