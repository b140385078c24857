package watch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/watch"
	"github.com/tenetcm/tenet/states"
)

// Without jitter each round begins an interval after the one before, however
// long it took, unless it took longer than that.
func TestLoopKeepsItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var begun []time.Duration
		takes := []time.Duration{0, 4 * time.Minute, 25 * time.Minute, 0}
		err := watch.Loop(t.Context(), watch.Options{Interval: 10 * time.Minute, Rounds: 4}, func(_ context.Context, n int) error {
			begun = append(begun, time.Since(start))
			time.Sleep(takes[n-1])
			return nil
		})
		want := []time.Duration{0, 10 * time.Minute, 20 * time.Minute, 55 * time.Minute}
		if err != nil || !slices.Equal(begun, want) {
			t.Errorf("%v, began at %v, want %v", err, begun, want)
		}
	})
}

func TestLoopEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Hour)
		defer cancel()
		rounds, start := 0, time.Now()
		err := watch.Loop(ctx, watch.Options{Interval: time.Hour, Jitter: 0.5, Seed: "x"}, func(context.Context, int) error {
			rounds++
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 25*time.Hour || rounds < 20 || rounds > 32 {
			t.Errorf("%v after %d rounds and %s", err, rounds, time.Since(start))
		}
	})
}

func TestLoopEndsWithTheError(t *testing.T) {
	wrong := errors.New("wrong")
	rounds := 0
	err := watch.Loop(t.Context(), watch.Options{Interval: 1}, func(_ context.Context, n int) error {
		if rounds = n; n == 3 {
			return wrong
		}
		return nil
	})
	if err != wrong || rounds != 3 {
		t.Errorf("%v after %d rounds", err, rounds)
	}
}

// Now begins a round at once, and the interval is counted from there.
func TestLoopNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := make(chan struct{}, 1)
		start := time.Now()
		var begun []time.Duration
		go func() {
			time.Sleep(15 * time.Minute)
			now <- struct{}{}
		}()
		err := watch.Loop(t.Context(), watch.Options{Interval: 10 * time.Minute, Rounds: 4, Now: now}, func(context.Context, int) error {
			begun = append(begun, time.Since(start))
			return nil
		})
		want := []time.Duration{0, 10 * time.Minute, 15 * time.Minute, 25 * time.Minute}
		if err != nil || !slices.Equal(begun, want) {
			t.Errorf("%v, began at %v, want %v", err, begun, want)
		}
	})
}

// Pauses are within their bounds, the same for the same seed, and others for
// others.
func TestPauses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := watch.Options{
			Interval: time.Duration(rapid.Int64Range(int64(time.Millisecond), 1<<62).Draw(t, "interval")),
			Jitter:   rapid.Float64Range(0, 0.99).Draw(t, "jitter"), Seed: rapid.String().Draw(t, "seed"),
		}
		other := o
		other.Seed += "-"
		a, b, c := watch.NewPauses(o), watch.NewPauses(o), watch.NewPauses(other)
		differ := o.Jitter < 0.001
		for range 20 {
			d := a.Next()
			low, high := float64(o.Interval)*(1-o.Jitter), float64(o.Interval)*(1+o.Jitter)
			if float64(d) < low*0.999999-1 || float64(d) > high*1.000001 || d <= 0 { // floats are not exact
				t.Fatalf("%s is not from %f to %f", d, low, high)
			}
			if d != b.Next() {
				t.Fatal("the same seed, another pause")
			}
			differ = differ || d != c.Next()
		}
		if !differ {
			t.Error("another seed, the same pauses")
		}
	})
}

// The hosts of a fleet that begins all at once are soon spread.
func TestPausesSpread(t *testing.T) {
	slots := map[int]int{}
	for host := range 1000 {
		p := watch.NewPauses(watch.Options{Interval: 30 * time.Minute, Jitter: 0.1, Seed: fmt.Sprint("host", host)})
		slots[int((p.Next()-27*time.Minute)/(36*time.Second))]++
	}
	for slot := range 10 { // of 36 s each
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
