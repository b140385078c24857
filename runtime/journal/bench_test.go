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
