package journal_test

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// BenchmarkConvergedRun is what a run costs that changes nothing, and whose like
// was there before.
func BenchmarkConvergedRun(b *testing.B) {
	f, err := journal.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := f.Start(b.Context(), journal.Meta{Run: run(), Origin: "/srv/site"})
		if err != nil {
			b.Fatal(err)
		}
		for seq := range int64(3) {
			if err := r.Append(states.Event{Seq: seq + 1, Type: states.EventPart, Address: "file.a", Outcome: states.Unchanged}); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Finish(journal.End{State: journal.Done}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend is what an event of a part that stays as it is costs.
func BenchmarkAppend(b *testing.B) {
	f, err := journal.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	r, err := f.Start(b.Context(), journal.Meta{Run: run(), Origin: "/srv/site"})
	if err != nil {
		b.Fatal(err)
	}
	ev := states.Event{
		Type: states.EventPart, Address: "state.web.file.a", ID: "22bd5f99-b86a-5c6f-a9fa-9f5533edf491", Invocation: "state.web",
		Part: "file", Key: "/srv/a", Ensure: states.Present, Outcome: states.Unchanged,
	}
	b.ReportAllocs()
	for b.Loop() {
		ev.Seq++
		if err := r.Append(ev); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Abandon(); err != nil {
		b.Fatal(err)
	}
}
