package fleet_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

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
