package watch_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/watch"
	"github.com/tenetcm/tenet/states"
)

// The hosts of a fleet that begins all at once are soon spread, each by its own seed, and the same way each time.
func TestRandom(t *testing.T) {
	slots := map[int]int{}
	for host := range 1000 {
		seed := fmt.Sprint("host", host)
		n := watch.Random(seed)()
		if again := watch.Random(seed)(); again != n || n < 0 || n >= 1 {
			t.Fatalf("%s gives %v, and %v", seed, n, again)
		}
		slots[int(n*10)]++
	}
	for slot := range 10 {
		if n := slots[slot]; n < 60 || n > 140 {
			t.Errorf("slot %d has %d hosts of 1000", slot, n)
		}
	}
}

func part(address string, action states.Action) *states.Event {
	return &states.Event{Type: states.EventPart, Address: address, Action: action, Time: time.Now(), Duration: time.Second}
}

func TestDrift(t *testing.T) {
	var d watch.Drift
	look := func(want []watch.News, gone []watch.Vanished, events ...*states.Event) {
		t.Helper()
		for i, ev := range events {
			if got := d.Add(ev); got != want[i] {
				t.Errorf("%s: %v, want %v", ev.Address, got, want[i])
			}
		}
		if got := d.End(); !slices.Equal(got, gone) {
			t.Errorf("gone: %v, want %v", got, gone)
		}
	}
	owed := &states.Event{Type: states.EventOwed, Address: "state.reload"}
	news := func(list ...watch.News) []watch.News { return list }
	look(news(watch.NoNews, watch.Drifted, watch.Drifted), nil, part("a", states.NoChange), part("b", states.Update), owed)
	look(news(watch.NoNews, watch.NoNews, watch.NoNews), nil, part("a", states.NoChange), part("b", states.Update), owed)
	// In another way; one that is back is named but once.
	look(news(watch.Drifted, watch.Drifted), []watch.Vanished{{Type: states.EventOwed, Address: "state.reload"}},
		part("a", states.Remove), part("b", states.Create))
	look(news(watch.Restored, watch.NoNews), nil, part("a", states.NoChange), part("b", states.Create))
	// A run that did not end says nothing about what it did not reach.
	d.Add(part("a", states.NoChange))
	d.Forget()
	look(news(watch.NoNews), []watch.Vanished{{Type: states.EventPart, Address: "b"}}, part("a", states.NoChange))
	look(nil, nil)
}

// Whoever hears all the news knows what is not as declared, and how.
func TestDriftTellsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d watch.Drift
		known := map[watch.Vanished]string{}
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			is := map[watch.Vanished]string{}
			breaks := rapid.IntRange(0, 5).Draw(t, "breaks") == 0
			for _, address := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID).Draw(t, "parts") {
				ev := part(address, rapid.SampledFrom([]states.Action{states.NoChange, states.Update, states.Remove}).Draw(t, "action"))
				what := watch.Vanished{Type: ev.Type, Address: address}
				if ev.Action != states.NoChange {
					is[what] = string(ev.Action)
				}
				switch news := d.Add(ev); {
				case breaks: // who listens drops what a run has said that did not end
				case news == watch.Drifted:
					known[what] = string(ev.Action)
				case news == watch.Restored:
					delete(known, what)
				}
			}
			if breaks {
				d.Forget()
				continue
			}
			for _, gone := range d.End() {
				delete(known, gone)
			}
			if !maps.Equal(known, is) {
				t.Fatalf("it is known that %v, and it is %v", known, is)
			}
		}
	})
}

// In an apply, what was changed is told each time, a failure once.
func TestDriftOfApplies(t *testing.T) {
	var d watch.Drift
	outcome := func(o states.Outcome, message string) *states.Event {
		return &states.Event{Type: states.EventPart, Address: "a", Outcome: o, Error: &states.Failure{Message: message}}
	}
	for i, step := range []struct {
		ev   *states.Event
		want watch.News
	}{
		{outcome(states.Changed, ""), watch.Drifted},
		{outcome(states.Unchanged, ""), watch.NoNews},
		{outcome(states.Changed, ""), watch.Drifted},
		{outcome(states.Changed, ""), watch.Drifted},
		{outcome(states.Failed, "x"), watch.Drifted},
		{outcome(states.Failed, "x"), watch.NoNews},
		{outcome(states.Failed, "y"), watch.Drifted},
		{outcome(states.Unchanged, ""), watch.Restored},
		{outcome(states.Skipped, ""), watch.NoNews},
	} {
		if got := d.Add(step.ev); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
		d.End()
	}
}

// However many rounds there are, what is remembered is what is not as declared.
func TestDriftDoesNotGrow(t *testing.T) {
	var d watch.Drift
	round := func(n int) {
		for i := range 100 {
			action := states.NoChange
			if (i+n)%10 == 0 {
				action = states.Update
			}
			d.Add(part(fmt.Sprintf("round%d.part%d", n%50, i), action))
		}
		if d.Len() != 10 {
			t.Fatalf("remembers %d of 10", d.Len())
		}
		d.End()
	}
	size := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for n := range 200 {
		round(n)
	}
	before := size()
	for n := range 1000 {
		round(n)
	}
	if after := size(); after > before+64<<10 {
		t.Errorf("%d bytes before 1000 rounds, %d after", before, after)
	}
}
