package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

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
		batches, err := fleet.BatchesInOrder(&r, 0, all, needs)
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

// Nobody begins before those whose outputs it reads have ended well, with any number of machines at a time, and none
// does if one of them has not. All others have their turns, and the whole ends.
func TestNothingIsReadThatWasNotGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := names(rapid.IntRange(2, 8).Draw(t, "machines"))
		needs, fails := map[string][]string{}, map[string]bool{}
		for i, reader := range all {
			fails[reader] = rapid.IntRange(0, 4).Draw(t, "fails "+reader) == 0
			for _, giver := range all[:i] {
				if rapid.IntRange(0, 3).Draw(t, reader+" reads "+giver) == 0 {
					needs[reader] = append(needs[reader], giver)
				}
			}
		}
		order := rapid.Permutation(all).Draw(t, "order")
		r := &site.Rollout{MaxFailures: &site.Amount{N: 100, Percent: true}}
		if n := rapid.IntRange(0, 3).Draw(t, "batch"); n > 0 {
			r.Batch = []site.Amount{{N: n}}
		}
		var mu sync.Mutex
		given, wrong := map[string]bool{}, ""
		var list []*fleet.Member
		for _, name := range order {
			list = append(list, &fleet.Member{Name: name})
		}
		outcomes, err := fleet.Run(context.Background(), list, fleet.Task{Name: "give", Ask: func(_ context.Context, c *fleet.Call) (*machine.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, giver := range needs[c.Name] {
				if !given[giver] {
					wrong = c.Name + " has begun before " + giver + " gave anything"
				}
			}
			if fails[c.Name] {
				return nil, &machine.Error{HintError: diag.HintError{Message: "failed"}}
			}
			given[c.Name] = true
			return nil, nil
		}}, fleet.Options{Forks: rapid.IntRange(1, 4).Draw(t, "forks"), Rollout: r, Needs: needs})
		if err != nil || wrong != "" {
			t.Fatal(err, wrong)
		}
		want := map[string]fleet.Status{}
		for _, name := range all {
			want[name] = fleet.Done
			if fails[name] {
				want[name] = fleet.Failed
			}
			if slices.ContainsFunc(needs[name], func(giver string) bool { return want[giver] != fleet.Done }) {
				want[name] = fleet.Skipped
			}
		}
		for _, o := range outcomes {
			if o.Status != want[o.Machine] {
				t.Fatalf("%s ends %s, want %s: %v", o.Machine, o.Status, want[o.Machine], o.Err)
			}
		}
	})
}
