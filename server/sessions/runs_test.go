package sessions_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
)

// Whichever way runs are looked for, in parts of whatever size and however few are looked at at once, each comes once and in its place.
func TestRunsInParts(t *testing.T) {
	f := newFleet(t)
	random := rand.New(rand.NewPCG(1, 2))
	type kept struct {
		sessions.RunPosition
		site   string
		failed bool
	}
	var all []kept
	var ids []trust.ID
	for n := range 5 {
		ids = append(ids, trust.ID(fmt.Sprintf("host%d", n)))
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.store.Write(t.Context(), func(tx store.Tx) error {
		all = nil
		for n := range 300 {
			one := kept{sessions.RunPosition{Started: time.Unix(int64(random.IntN(40)), 0).UTC(), Host: ids[random.IntN(len(ids))], Run: fmt.Sprintf("r%03d", n)}, []string{"shop", "base"}[random.IntN(2)], random.IntN(5) == 0}
			all = append(all, one)
			if _, err := tx.Exec(`INSERT INTO sessions_runs (host, run, site, revision, started, ended, failed, counts, error, told) VALUES ($1, $2, $3, '1', $4, $4, $5, $6, '', $4)`,
				string(one.Host), one.Run, one.site, one.Started, one.failed, []byte(`{"changed":1}`)); err != nil {
				return err
			}
		}
		return nil
	}))
	slices.SortFunc(all, func(a, b kept) int {
		if c := b.Started.Compare(a.Started); c != 0 {
			return c
		}
		if a.Host != b.Host && a.Host < b.Host || a.Host == b.Host && a.Run < b.Run {
			return 1
		}
		return -1
	})
	for round := range 60 {
		filter := sessions.RunFilter{Limit: 1 + random.IntN(50), Look: 1 + random.IntN(60)}
		var hosts []trust.ID
		switch random.IntN(3) {
		case 0:
			hosts = ids[:random.IntN(len(ids)+1)]
			filter.Hosts = slices.Clone(hosts)
			if filter.Hosts == nil {
				filter.Hosts = []trust.ID{}
			}
		case 1:
			filter.Sites = []string{"base", "shop"}[:1+random.IntN(2)]
		}
		filter.Outcome = []sessions.Outcome{"", sessions.OutcomeFailed, sessions.OutcomeChanged}[random.IntN(3)]
		if random.IntN(2) == 0 {
			filter.Before = time.Unix(int64(random.IntN(45)), 0)
		}
		if random.IntN(2) == 0 {
			filter.Fits = func(host trust.ID, site string) bool { return host != "host1" && site == "base" }
		}
		var want, got []string
		for _, one := range all {
			if (filter.Hosts == nil || slices.Contains(filter.Hosts, one.Host)) && (filter.Sites == nil || slices.Contains(filter.Sites, one.site)) &&
				(filter.Outcome == "" || one.failed == (filter.Outcome == sessions.OutcomeFailed)) && (filter.Before.IsZero() || one.Started.Before(filter.Before)) &&
				(filter.Fits == nil || filter.Fits(one.Host, one.site)) {
				want = append(want, one.Run)
			}
		}
		for more := true; more; more = filter.After != nil {
			part, err := f.sessions.Runs(t.Context(), filter)
			must(err)
			if len(part.Runs) > filter.Limit {
				t.Fatalf("there are %d runs in a part of %d", len(part.Runs), filter.Limit)
			}
			for _, r := range part.Runs {
				got = append(got, r.Run)
			}
			filter.After = part.Next
		}
		if !slices.Equal(got, want) {
			t.Fatalf("round %d, %+v: %q, not %q", round, filter, got, want)
		}
	}
}
