package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
)

func percent(n int) site.Amount { return site.Amount{N: n, Percent: true} }

// names are so many machines.
func names(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint("m", i))
	}
	return list
}

// failing makes machines of which some cannot be reached.
func failing(n int, failing ...int) []*fleet.Member {
	_, list := machines(n, func(i int, m *simulated) {
		if slices.Contains(failing, i) {
			m.refuse = func(int) error { return &dialError{text: "refused"} }
		}
	})
	return list
}

// A rollout stops before the next batch when more have failed than may.
func TestRolloutStops(t *testing.T) {
	for _, c := range []struct {
		n    int
		bad  []int
		r    site.Rollout
		want string // one letter a machine
	}{
		{4, []int{0}, site.Rollout{Batch: []site.Amount{{N: 2}}}, "udss"},
		{4, []int{1, 2}, site.Rollout{Batch: []site.Amount{{N: 1}}, MaxFailures: &site.Amount{N: 1}}, "duus"},
		{4, []int{1, 2}, site.Rollout{Batch: []site.Amount{{N: 1}}, MaxFailures: &site.Amount{N: 2}}, "duud"},
		{20, []int{0, 1, 4}, site.Rollout{Batch: []site.Amount{percent(10)}, MaxFailures: new(percent(10))}, "uudduds" + strings.Repeat("s", 13)},
		{6, []int{0}, site.Rollout{Stages: []site.Stage{
			{Name: "a", Hosts: []string{"m0", "m1"}, MaxFailures: &site.Amount{N: 1}},
			{Name: "b", Hosts: []string{"m2"}},
		}}, "uddddd"},
		{6, []int{2}, site.Rollout{Stages: []site.Stage{
			{Name: "a", Hosts: []string{"m0", "m1"}},
			{Name: "b", Hosts: []string{"m2", "m3"}},
		}}, "ddudss"},
		// In the last stage nobody waits for anything any more.
		{3, []int{0}, site.Rollout{}, "udd"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSeen(t)
			outcomes := mustRun(t, failing(c.n, c.bad...), apply(), fleet.Options{Rollout: &c.r, Listener: s})
			got := ""
			for _, o := range outcomes {
				got += string(o.Status[:1])
				if o.Status == fleet.Skipped && !strings.Contains(o.Err.Error(), "failed") {
					t.Error(o.Err)
				}
			}
			if got != c.want {
				t.Errorf("%+v: %s, want %s", c.r, got, c.want)
			}
			if len(s.ended) != c.n {
				t.Errorf("told of the end of %d", len(s.ended))
			}
		})
	}
}

// Batches come one after the other, with a pause in between that can be cancelled.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		time.AfterFunc(90*time.Second, func() { close(cancelled) })
		s := newSeen(t)
		begun := time.Now()
		outcomes := mustRun(t, failing(3), apply(), fleet.Options{
			Rollout:   &site.Rollout{Batch: []site.Amount{{N: 1}}, Pause: time.Minute},
			Cancelled: cancelled, Listener: s,
		})
		if long := time.Since(begun); long != 90*time.Second {
			t.Error(long)
		}
		equal(t, "statuses", statuses(outcomes), []fleet.Status{fleet.Done, fleet.Done, fleet.Skipped})
		equal(t, "notes", s.notes[""], []string{
			"batch 1 of 3: 1 host", "pausing for 1m0s before batch 2 of 3", "batch 2 of 3: 1 host", "pausing for 1m0s before batch 3 of 3",
		})
	})
}

// The order of a shuffled rollout is told, and can be had again.
func TestShuffle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := func(seed uint64) (*seen, []string) {
			s := newSeen(t)
			mustRun(t, failing(40), apply(), fleet.Options{
				Forks: 1, Rollout: &site.Rollout{Order: site.OrderShuffle}, Seed: seed, Listener: s,
			})
			return s, s.ended
		}
		s, first := order(0)
		var seed uint64
		if _, err := fmt.Sscanf(s.notes[""][0], "the hosts are shuffled with seed %d", &seed); err != nil {
			t.Fatal(s.notes, err)
		}
		_, again := order(seed)
		_, other := order(seed + 1)
		if !slices.Equal(first, again) || slices.Equal(first, other) || slices.Equal(first, names(40)) {
			t.Error(first, again, other)
		}
	})
}
