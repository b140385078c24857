package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
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
func sizes(batches []rollout.Batch) string {
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
		batches, err := rollout.Batches(&c.r, 0, names(c.n))
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
		if batches, err := rollout.Batches(&r, 0, names(3)); err == nil {
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
		batches, err := rollout.Batches(&r, seed, list)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, list) {
			t.Fatal("the list was changed")
		}
		checkBatches(t, list, r, batches)
		again, _ := rollout.Batches(&r, seed, list)
		if sizes(again) != sizes(batches) || len(batches) > 0 && !slices.Equal(again[0].Machines, batches[0].Machines) {
			t.Fatal("the same seed gave another order")
		}
	})
}

func checkBatches(t *rapid.T, list []string, r site.Rollout, batches []rollout.Batch) {
	in := map[string]rollout.Batch{}
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

// Within a stage, who is needed comes first, whatever the order of the names; everybody has one turn. That one needs
// another of a later stage, or that they need each other, is an error, and nothing else is.
func TestNeedsOrderBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "machines")
		all := names(n)
		var r site.Rollout
		stageOf := map[string]int{}
		for i, name := range all {
			stageOf[name] = rapid.IntRange(0, 2).Draw(t, fmt.Sprint("stage", i))
		}
		for s := range 2 {
			r.Stages = append(r.Stages, site.Stage{Name: fmt.Sprint(s), Hosts: slices.DeleteFunc(slices.Clone(all), func(name string) bool { return stageOf[name] != s })})
		}
		r.Batch = []site.Amount{{N: rapid.IntRange(1, 4).Draw(t, "batch")}}
		needs := map[string][]string{}
		for range rapid.IntRange(0, 10).Draw(t, "edges") {
			a, b := rapid.SampledFrom(all).Draw(t, "reader"), rapid.SampledFrom(append(all, "elsewhere")).Draw(t, "giver")
			if a != b {
				needs[a] = append(needs[a], b)
			}
		}
		batches, err := rollout.BatchesInOrder(&r, 0, all, needs)
		wrong := cyclic(all, needs)
		for a, list := range needs {
			for _, b := range list {
				wrong = wrong || b != "elsewhere" && stageOf[b] > stageOf[a]
			}
		}
		if (err != nil) != wrong {
			t.Fatalf("needs %v, stages %v: %v", needs, stageOf, err)
		}
		if err != nil {
			if !strings.Contains(fmt.Sprint(err), "read") {
				t.Fatal(err)
			}
			return
		}
		var order []string
		for _, b := range batches {
			order = append(order, b.Machines...)
		}
		if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, slices.Sorted(slices.Values(all))) {
			t.Fatalf("turns of %v", order)
		}
		for a, list := range needs {
			for _, b := range list {
				if b != "elsewhere" && slices.Index(order, b) > slices.Index(order, a) {
					t.Fatalf("%s needs %s: %v", a, b, order)
				}
			}
		}
	})
}

// cyclic reports whether machines need each other.
func cyclic(all []string, needs map[string][]string) bool {
	left := slices.Clone(all)
	for {
		free := slices.DeleteFunc(slices.Clone(left), func(name string) bool {
			return slices.ContainsFunc(needs[name], func(other string) bool { return slices.Contains(left, other) })
		})
		if len(free) == 0 {
			return len(left) > 0
		}
		left = slices.DeleteFunc(left, func(name string) bool { return slices.Contains(free, name) })
	}
}

// One machine first, then a tenth of all of them at a time.
func ExampleBatches() {
	r := site.Rollout{Batch: []site.Amount{{N: 1}, {N: 10, Percent: true}}, Pause: time.Minute}
	batches, err := rollout.Batches(&r, 0, strings.Fields("a b c d e f g h i j k l m n o p q r s t"))
	if err != nil {
		panic(err)
	}
	for _, b := range batches[:3] {
		fmt.Println(b.Number, "of", b.Of, b.Machines)
	}
	// Output:
	// 1 of 11 [a]
	// 2 of 11 [b c]
	// 3 of 11 [d e]
}
