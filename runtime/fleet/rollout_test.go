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
	"pgregory.net/rapid"
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

// sizes shows batches in a line.
func sizes(batches []fleet.Batch) string {
	var list []string
	for _, b := range batches {
		list = append(list, fmt.Sprintf("%s%d/%d:%d", b.Stage, b.Number, b.Of, len(b.Machines)))
	}
	return strings.Join(list, " ")
}

func TestBatches(t *testing.T) {
	for _, c := range []struct {
		n    int
		r    site.Rollout
		want string
	}{
		{0, site.Rollout{}, ""},
		{5, site.Rollout{}, "1/1:5"},
		{5, site.Rollout{Batch: []site.Amount{{N: 2}}}, "1/3:2 2/3:2 3/3:1"},
		{25, site.Rollout{Batch: []site.Amount{{N: 1}, percent(10), percent(100)}}, "1/3:1 2/3:3 3/3:21"},
		{200, site.Rollout{Batch: []site.Amount{percent(30)}}, "1/4:60 2/4:60 3/4:60 4/4:20"},
		{3, site.Rollout{Batch: []site.Amount{percent(1)}}, "1/3:1 2/3:1 3/3:1"},
		{6, site.Rollout{Batch: []site.Amount{{N: 3}}, Stages: []site.Stage{
			{Name: "db", Hosts: []string{"m5", "m1", "elsewhere"}, Batch: []site.Amount{{N: 1}}},
			{Name: "none", Hosts: []string{"m5"}},
		}}, "db1/2:1 db2/2:1 1/2:3 2/2:1"},
	} {
		batches, err := fleet.Batches(&c.r, 0, names(c.n))
		if got := sizes(batches); err != nil || got != c.want {
			t.Errorf("%+v: %s %v, want %s", c.r, got, err, c.want)
		}
	}
	for _, r := range []site.Rollout{
		{Batch: []site.Amount{{}}},
		{Batch: []site.Amount{{N: -1}}},
		{Batch: []site.Amount{percent(101)}},
		{Stages: []site.Stage{{Batch: []site.Amount{percent(0)}}}},
		{MaxFailures: &site.Amount{N: -1}},
		{Stages: []site.Stage{{MaxFailures: new(percent(101))}}},
		{Order: "backwards"},
		{Pause: -1},
	} {
		if batches, err := fleet.Batches(&r, 0, names(3)); err == nil {
			t.Errorf("%+v: %v", r, batches)
		}
	}
}

// Every machine is in one batch, in its order, and batches are as large as they are said
// to be.
func TestBatchesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Custom(func(t *rapid.T) site.Amount {
			a := site.Amount{Percent: rapid.Bool().Draw(t, "percent")}
			a.N = rapid.IntRange(1, 100).Draw(t, "n")
			return a
		})
		list := names(rapid.IntRange(0, 300).Draw(t, "machines"))
		r := site.Rollout{
			Batch: rapid.SliceOfN(amount, 0, 4).Draw(t, "batch"),
			Order: rapid.SampledFrom(append(site.Orders(), "")).Draw(t, "order"),
		}
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range rapid.IntRange(0, 3).Draw(t, "stages") {
			r.Stages = append(r.Stages, site.Stage{
				Name:  fmt.Sprint("s", i),
				Hosts: rapid.SliceOfN(rapid.SampledFrom(append(names(20), "elsewhere")), 0, 30).Draw(t, "hosts"),
				Batch: rapid.SliceOfN(amount, 0, 3).Draw(t, "batch of a stage"),
			})
		}
		before := slices.Clone(list)
		batches, err := fleet.Batches(&r, seed, list)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, list) {
			t.Fatal("the list was changed")
		}
		checkBatches(t, list, r, batches)
		again, _ := fleet.Batches(&r, seed, list)
		if sizes(again) != sizes(batches) || len(batches) > 0 && !slices.Equal(again[0].Machines, batches[0].Machines) {
			t.Fatal("the same seed gave another order")
		}
	})
}

func checkBatches(t *rapid.T, list []string, r site.Rollout, batches []fleet.Batch) {
	in := map[string]fleet.Batch{}
	var order []string
	var stagesOf []string
	for i, b := range batches {
		if len(b.Machines) == 0 || b.Number < 1 || b.Number > b.Of {
			t.Fatalf("batch %+v", b)
		}
		if b.Number == 1 {
			stagesOf = append(stagesOf, b.Stage)
		} else if last := batches[i-1]; last.Stage != b.Stage || last.Number != b.Number-1 {
			t.Fatalf("batch %+v after %+v", b, last)
		}
		for _, m := range b.Machines {
			if _, twice := in[m]; twice {
				t.Fatalf("%s twice", m)
			}
			in[m] = b
			order = append(order, m)
		}
		amounts := r.Batch
		for _, s := range r.Stages {
			if s.Name == b.Stage && len(s.Batch) > 0 {
				amounts = s.Batch
			}
		}
		want := b.Total
		if len(amounts) > 0 {
			a := amounts[min(b.Number-1, len(amounts)-1)]
			want = a.N
			if a.Percent {
				for want = 1; want*100 < b.Total*a.N; {
					want++
				}
			}
		}
		if n := len(b.Machines); n != want && (b.Number != b.Of || n > want) {
			t.Fatalf("batch %+v has %d machines, want %d", b, n, want)
		}
	}
	if len(order) != len(list) {
		t.Fatalf("%d of %d machines are in a batch", len(order), len(list))
	}
	if !slices.IsSorted(stagesOf[:max(0, len(stagesOf)-1)]) { // s0, s1, …, and last those of none
		t.Fatalf("stages %v", stagesOf)
	}
	for _, m := range list {
		want := ""
		for _, s := range slices.Backward(r.Stages) {
			if slices.Contains(s.Hosts, m) {
				want = s.Name
			}
		}
		if in[m].Stage != want {
			t.Fatalf("%s is in stage %q, want %q", m, in[m].Stage, want)
		}
	}
	if r.Order != site.OrderShuffle && len(r.Stages) == 0 && !slices.Equal(order, list) {
		t.Fatalf("order %v", order)
	}
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
