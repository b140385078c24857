package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// drawEvent is any event that has to do with what runs leave.
func drawEvent(t *rapid.T, seq int) states.Event {
	part := rapid.SampledFrom([]string{"file.a", "file.b", "block.c"})
	handler := rapid.SampledFrom([]string{"command.h", "command.i"})
	handlers := rapid.SliceOfNDistinct(handler, 0, 2, rapid.ID)
	outcome := rapid.SampledFrom([]states.Outcome{
		states.Changed, states.Unchanged, states.Failed, states.Unknown, states.Skipped, states.Blocked, states.Idle,
	})
	ev := states.Event{Seq: int64(seq), Time: time.Unix(int64(seq), 0).UTC()}
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0, 1:
		ev.Type, ev.Address, ev.Handlers = states.EventBegin, part.Draw(t, "part"), handlers.Draw(t, "handlers")
	case 2, 3:
		ev.Type, ev.Address, ev.Outcome, ev.Owes = states.EventPart, part.Draw(t, "part"), outcome.Draw(t, "outcome"), handlers.Draw(t, "owes")
	case 4:
		ev.Type, ev.Address = states.EventStart, handler.Draw(t, "handler")
	case 5:
		ev.Type, ev.Address, ev.Outcome = states.EventInvocation, handler.Draw(t, "handler"), outcome.Draw(t, "outcome")
	case 6:
		ev.Type, ev.Address = states.EventConfirm, part.Draw(t, "block")
		if rapid.Bool().Draw(t, "ended") {
			ev.Outcome = states.Changed
		}
	default:
		ev.Type, ev.Boot = states.EventResume, "again"
	}
	return ev
}

// However runs end, and wherever they are cut, the sum that is kept and the runs
// after it say what all runs together say.
func TestSumAndReplayAgree(t *testing.T) {
	base := inMemory(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		f, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "runs") {
			m := meta()
			m.Origin = rapid.SampledFrom([]string{"/srv/site", "/srv/other"}).Draw(t, "site")
			r, err := f.Start(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			for seq := range rapid.IntRange(0, 12).Draw(t, "events") {
				if err := r.Append(drawEvent(t, seq)); err != nil {
					t.Fatal(err)
				}
			}
			if rapid.Bool().Draw(t, "dies") {
				err = r.Flush()
				if err == nil {
					err = r.Abandon()
				}
				cutSomewhere(t, filepath.Join(dir, "runs", r.ID(), "events.jsonl"))
			} else {
				err = r.Finish(journal.End{State: journal.Done})
			}
			if err != nil {
				t.Fatal(err)
			}
			agree(t, f)
		}
	})
}

// inMemory gives a directory where syncing costs nothing, if there is one.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "tenet-journal-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// cutSomewhere cuts a file as a lost power may.
func cutSomewhere(t *rapid.T, path string) {
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, rapid.Int64Range(0, info.Size()).Draw(t, "size"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func agree(t *rapid.T, f *journal.Folder) {
	cached, err := f.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	owed := filepath.Join(f.Dir(), "owed.json")
	aside := owed + ".aside"
	moved := os.Rename(owed, aside)
	whole, err := f.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	if moved == nil {
		if err := os.Rename(aside, owed); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(names(cached), names(whole)) || !slices.Equal(cached.Unconfirmed, whole.Unconfirmed) || cached.Through != whole.Through {
		t.Fatalf("cached %+v\nreplayed %+v", cached, whole)
	}
}

// What a nameless site of an older format has left becomes that of the first one
// that has a place.
func TestOldRecordsAreAdopted(t *testing.T) {
	l := &journal.Ledger{Debts: []states.Debt{{Handler: "command.h"}, {Site: "web", Handler: "command.h"}}}
	if got := l.Of("/srv/site").Debts; len(got) != 1 || got[0].Site != "/srv/site" {
		t.Errorf("of a nameless site: %+v", got)
	}
	if got := l.Of("web").Debts; len(got) != 1 || got[0].Site != "web" {
		t.Errorf("of a site with a name: %+v", got)
	}
}

// A wave that starts and does not go well is owed, though a wave before it has paid
// all debts of its handler: who stops a service has to start it.
func TestHalfAWaveIsOwed(t *testing.T) {
	before := []states.Event{
		{Type: states.EventPart, Address: "file.a", Outcome: states.Changed, Owes: []string{"state.h"}},
		{Type: states.EventStart, Address: "state.h#1"},
		{Type: states.EventInvocation, Address: "state.h#1", Outcome: states.Changed},
		{Type: states.EventStart, Address: "state.h#2"},
	}
	for outcome, owed := range map[states.Outcome]states.Outcome{
		"": states.Unknown, states.Failed: states.Failed, states.Unknown: states.Unknown,
		states.Changed: "", states.Skipped: "",
	} {
		r := journal.NewReplay(&journal.Ledger{}, "web", "00000001-abcdef")
		for _, ev := range before {
			r.Add(&ev)
		}
		if outcome != "" {
			r.Add(&states.Event{Type: states.EventInvocation, Address: "state.h#2", Outcome: outcome})
		}
		r.End()
		var got states.Outcome
		for _, d := range r.Ledger.Debts {
			got = d.Why
		}
		if got != owed || len(r.Ledger.Debts) > 1 {
			t.Errorf("after %q: owed %+v", outcome, r.Ledger.Debts)
		}
	}
}

// What a notifier brings about while a wave runs, that wave has not picked up.
func TestCalledWhileItRuns(t *testing.T) {
	r := journal.NewReplay(&journal.Ledger{}, "web", "00000001-abcdef")
	for _, ev := range []states.Event{
		{Type: states.EventPart, Address: "file.a", Outcome: states.Changed, Owes: []string{"state.h"}},
		{Type: states.EventPart, Address: "file.b", Outcome: states.Changed, Owes: []string{"state.h"}},
		{Type: states.EventStart, Address: "state.h#1"},
		{Type: states.EventPart, Address: "file.a#2", Outcome: states.Changed, Owes: []string{"state.h"}},
		{Type: states.EventInvocation, Address: "state.h#1", Outcome: states.Changed},
	} {
		r.Add(&ev)
	}
	same(t, "owed", r.Ledger, "web owes state.h to file.a, changed")
}

// A loss of power can take a run's status, and all that its first process has written: that which went on with it names the site.
func TestResumptionNamesItsSite(t *testing.T) {
	for name, first := range map[string]states.Event{
		"web":       {Type: states.EventResume, Site: "web", Origin: "/srv/site"},
		"/srv/site": {Type: states.EventResume, Origin: "/srv/site"},
	} {
		r := journal.NewReplay(&journal.Ledger{}, "", "00000001-abcdef")
		r.Add(&first)
		r.Add(&states.Event{Type: states.EventPart, Address: "file.a", Outcome: states.Changed, Owes: []string{"state.h"}})
		r.End()
		if d := r.Ledger.Debts; len(d) != 1 || d[0].Site != name {
			t.Errorf("owed of %s: %+v", name, d)
		}
	}
	r := journal.NewReplay(&journal.Ledger{}, "web", "00000001-abcdef")
	r.Add(&states.Event{Type: states.EventResume, Origin: "/srv/site"}) // of an older version
	r.Add(&states.Event{Type: states.EventPart, Address: "file.a", Outcome: states.Changed, Owes: []string{"state.h"}})
	if d := r.Ledger.Debts; len(d) != 1 || d[0].Site != "web" {
		t.Errorf("owed: %+v", d)
	}
}
