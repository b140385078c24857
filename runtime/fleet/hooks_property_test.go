package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// hooksOf says how to run the hooks of a world.
func (w *world) hooksOf(failed map[string]bool) *fleet.Hooks {
	members := map[string]*fleet.Member{}
	for name, h := range w.hosts {
		members[name] = h.member()
	}
	return &fleet.Hooks{
		Members: members, Failed: failed, Plan: fleet.Plan(nil, same(job())),
		Task: func(h fleet.HookRun) fleet.Task {
			return fleet.Apply(nil, preparing(func(_ context.Context, m *fleet.Member) (*machine.Job, error) {
				return &machine.Job{
					Execution: h.Execution, Origin: fmt.Sprintf("%s %s/%s", h.State, strings.Join(h.Batch, " "), strings.Join(h.Failed, " ")),
					Run: &states.StateRun{Format: states.Format, Host: m.Name},
				}, nil
			}))
		},
	}
}

// apply is one controller: it does what is due, and then the rollout.
func (w *world) apply(names []string, r *site.Rollout) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w.stop, w.dead, w.ops = stop, false, 0
	w.arrivesAt = rapid.IntRange(1, 12).Draw(w.t, "arrives at")
	w.log = append(w.log, fmt.Sprintf("== apply %d on %v, batches %v, %v may fail", w.want, names, r.Batch, r.MaxFailures))
	defer func() {
		if w.dead {
			w.restore()
		}
	}()
	executions := &fleet.Executions{Dir: w.dir}
	all := slices.Collect(func(yield func(string) bool) {
		for name := range w.hosts {
			if !yield(name) {
				return
			}
		}
	})
	options := func(x *fleet.Execution) fleet.Options {
		failed, err := executions.FailedHosts(all, func(*fleet.Record) bool { return true })
		if err != nil {
			w.t.Fatal(err)
		}
		return fleet.Options{Forks: 1, Rollout: r, Patience: fleet.NotAgain, Execution: x, Hooks: w.hooksOf(failed)}
	}
	due, err := executions.Due()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range due {
		x, err := executions.Open(one.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := fleet.Settle(ctx, x, options(x)); err != nil {
			w.log = append(w.log, "settle: "+err.Error())
			return
		}
	}
	record := fleet.Record{Command: "apply", Site: "shop"}
	var members []*fleet.Member
	for _, name := range names {
		record.Hosts = append(record.Hosts, fleet.RecordHost{Name: name})
		members = append(members, w.hosts[name].member())
	}
	x, err := executions.New(record)
	if err != nil {
		w.t.Fatal(err)
	}
	task := fleet.Apply(nil, preparing(func(_ context.Context, m *fleet.Member) (*machine.Job, error) {
		return &machine.Job{Execution: x.ID(), Run: &states.StateRun{Format: states.Format, Host: m.Name}}, nil
	}))
	if _, err := fleet.Run(ctx, members, task, options(x)); err != nil {
		w.t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// Whatever fails, and wherever controllers die: a machine is only worked on while it is drained, a
// broken one is never undrained, and one that is well is not left drained once an apply went well.
func TestHooksProperty(t *testing.T) {
	dir := t.TempDir()
	turn := 0
	rapid.Check(t, func(t *rapid.T) {
		turn++
		w := &world{t: t, hosts: map[string]*worldHost{}, dir: filepath.Join(dir, fmt.Sprint(turn))}
		defer os.RemoveAll(w.dir)
		defer func() {
			if t.Failed() {
				t.Log(strings.Join(w.log, "\n"))
			}
		}()
		var webs, lbs []string
		for i := range rapid.IntRange(1, 4).Draw(t, "webs") {
			webs = append(webs, fmt.Sprint("web", i))
		}
		for i := range rapid.IntRange(1, 2).Draw(t, "lbs") {
			lbs = append(lbs, fmt.Sprint("lb", i))
		}
		for _, name := range slices.Concat(webs, lbs) {
			h := &worldHost{world: w, name: name, runs: map[string]*worldRun{}, withdrawn: map[string]bool{}}
			if slices.Contains(lbs, name) {
				h.drained = map[string]bool{}
			}
			w.hosts[name] = h
		}
		rollout := func() *site.Rollout {
			return &site.Rollout{
				Batch:       []site.Amount{{N: rapid.IntRange(1, 3).Draw(t, "batch")}},
				MaxFailures: &site.Amount{N: rapid.IntRange(0, 2).Draw(t, "max failures")},
				BeforeEach:  []site.Hook{{Hosts: lbs, State: "state.drain"}}, AfterEach: []site.Hook{{Hosts: lbs, State: "state.undrain"}},
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "applies") {
			w.want += rapid.IntRange(0, 1).Draw(t, "version")
			names := webs
			if rapid.Bool().Draw(t, "limited") {
				names = webs[rapid.IntRange(0, len(webs)-1).Draw(t, "from"):]
			}
			w.killAt, w.late = rapid.IntRange(-20, 30).Draw(t, "killed at"), rapid.Bool().Draw(t, "after it")
			fates := rapid.SliceOfN(rapid.SampledFrom([]fate{well, well, well, well, well, fails, unreachable, lost, lostFails}), 60, 60).Draw(t, "fates")
			next := 0
			w.faults = func(string) fate {
				next++
				return fates[next%len(fates)]
			}
			w.apply(names, rollout())
		}
		// What goes on by itself comes to its end; of hooks the next apply waits for that.
		for _, name := range webs {
			h := w.hosts[name]
			for _, r := range h.runs {
				h.finish(r)
			}
		}
		w.killAt, w.faults = -1, func(string) fate { return well }
		w.apply(webs, rollout())
		if w.onWay != nil {
			w.onWay()
		}
		for _, name := range webs {
			if h := w.hosts[name]; h.broken || h.version != w.want {
				t.Errorf("%s is at version %d of %d, broken: %t", name, h.version, w.want, h.broken)
			}
		}
		for _, name := range lbs {
			if d := w.hosts[name].drained; len(d) > 0 {
				t.Errorf("%s: still drained: %v", name, d)
			}
		}
		if due, err := (&fleet.Executions{Dir: w.dir}).Due(); err != nil || len(due) > 0 {
			t.Errorf("due in the end: %v, %v", due, err)
		}
	})
}
