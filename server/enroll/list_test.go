package enroll

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Pages of a list, taken together, are all that fits, in order and once, whatever the filter and the size of pages; what another server has changed is seen.
func TestList(t *testing.T) {
	w := newWorld(t)
	standby, err := Open(w.ctx, w.store, w.authority, w.contents, w.registry.options)
	must(t, err)
	states := []State{identity.Pending, identity.Approved, identity.Active, identity.Locked, identity.Revoked}
	var hosts []*Host
	for k := range 40 {
		key := newKey(t)
		certificate, keys := rawKeys(t, key, 1)
		hosts = append(hosts, &Host{ID: key.ID(), Keys: keys, certificate: certificate, AskedAt: noon, Name: fmt.Sprintf("%s%d", []string{"web", "db", "Web"}[k%3], k), value: make([]byte, 16)})
	}
	must(t, w.registry.change(w.ctx, func(tx store.Tx) ([]*Host, error) {
		for k, h := range hosts {
			h.State, h.Question, h.Labels = states[k%5], k%4 == 0, map[string]string{"k": fmt.Sprint(k % 7)}
			if k%5 == 4 || k%5 == 0 { // names may be the same
				h.Name = "web1"
			}
			if err := writeHost(tx, h); err != nil {
				return nil, err
			}
		}
		return hosts, nil
	}))
	rapid.Check(t, func(rt *rapid.T) {
		f := Filter{Prefix: rapid.SampledFrom([]string{"", "w", "web1", "d", "x", "~"}).Draw(rt, "prefix"), Question: rapid.Bool().Draw(rt, "question"),
			States: rapid.SliceOfN(rapid.SampledFrom(states), 0, 3).Draw(rt, "states"), Limit: rapid.IntRange(1, 20).Draw(rt, "limit")}
		if k := rapid.IntRange(0, 7).Draw(rt, "label"); k < 7 {
			f.Fits = func(t access.Target) bool { return t.Labels["k"] == fmt.Sprint(k) }
		}
		var want []Position
		for _, h := range hosts {
			if strings.HasPrefix(h.Name, f.Prefix) && (!f.Question || h.Question) && (len(f.States) == 0 || slices.Contains(f.States, h.State)) && (f.Fits == nil || f.Fits(h.Target())) {
				want = append(want, Position{h.Name, h.ID})
			}
		}
		slices.SortFunc(want, Position.compare)
		var got []Position
		for {
			page, err := standby.List(w.ctx, f)
			must(t, err)
			for _, h := range page {
				got = append(got, Position{h.Name, h.ID})
			}
			if len(page) < f.Limit {
				break
			}
			f.After = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
	_, err = w.registry.Rename(w.ctx, ada, hosts[1].ID, "zulu")
	must(t, err)
	for _, r := range []*Registry{w.registry, standby} {
		if list, err := r.List(w.ctx, Filter{Prefix: "z"}); err != nil || len(list) != 1 {
			t.Errorf("%d hosts, %v", len(list), err)
		}
		if ids := r.Select(func(t access.Target) bool { return t.Name == "zulu" }); len(ids) != 1 {
			t.Errorf("selected %v", ids)
		}
	}
}
