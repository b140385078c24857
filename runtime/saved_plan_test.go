package runtime_test

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	differs "github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// rowsOf plans, and gives the rows.
func rowsOf(t *rapid.T, run *states.StateRun, o runtime.Options) ([]states.Event, *runtime.Result) {
	var events []states.Event
	o.Events = func(ev states.Event) { events = append(events, ev) }
	result, err := runtime.Plan(t.Context(), run, o)
	if err != nil {
		t.Fatal(err)
	}
	return events, result
}

// A plan that was saved and read says the same again on an unchanged machine. On a
// changed one, what still fits of it is left, and doing that does nothing that
// the plan did not say.
func TestSavedPlans(t *testing.T) {
	registry := modules.Standard()
	fitted, reduced, nothing := 0, 0, 0
	rapidtest.For(t, "200")
	check := func(t *rapid.T) {
		compiled, _ := graph.Compile(drawSite(t, registry), graph.Options{Registry: registry})
		if compiled == nil {
			return // a cycle
		}
		o := runtime.Options{Host: drawHost(t), Registry: registry, Parallel: 1}
		rows, result := rowsOf(t, compiled.Run, o)
		if result.Failed {
			return // is not saved
		}
		saved := &planfile.Plan{Run: compiled.Run, Rows: rows, Files: fstest.MapFS{}}
		data, err := saved.Bytes(registry, nil)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planfile.Open(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := rowsOf(t, plan.Run, o)
		if differences, err := planfile.Compare(plan.Rows, again); err != nil || len(differences) > 0 {
			t.Fatalf("it does not fit at once: %v\n%v", err, pretty(differences))
		}
		byHand(t, o.Host)
		rest, err := plan.Reduce(func(run *states.StateRun) ([]states.Event, error) {
			events, _ := rowsOf(t, run, o)
			return events, nil
		}, func([]differs.Difference) error { return nil })
		if _, stale := err.(*planfile.StaleError); stale {
			nothing++
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(rest.Omissions) == 0 {
			fitted++
		} else {
			reduced++
		}
		said := doing(plan.Rows)
		done := map[string]states.Action{}
		o.Events = func(ev states.Event) {
			if ev.Type == states.EventPart && (ev.Outcome == states.Changed || ev.Outcome == states.Failed) {
				done[ev.Address] = ev.Action
			}
		}
		if _, err := runtime.Apply(t.Context(), rest.Run, o); err != nil {
			t.Fatal(err)
		}
		for address, action := range done {
			if said[address] != action {
				t.Fatalf("%s: %s is done, and %q was said\nleft out %v\nrun %v", address, action, said[address], pretty(rest.Omissions), pretty(plan.Run.Invocations))
			}
		}
		if len(rest.Omissions) == 0 && !maps.Equal(said, done) {
			t.Fatalf("said %v, done %v", said, done)
		}
	}
	seen := func() bool { return fitted > 0 && reduced > 0 && nothing > 0 }
	for goes := 0; goes < 20 && !seen(); goes++ { // one plan in fifty is reduced: a go may be without
		rapid.Check(t, check)
	}
	t.Logf("%d plans fitted, %d were reduced, of %d nothing was left", fitted, reduced, nothing)
	if !seen() && !testing.Short() {
		t.Error("the test shows little")
	}
}

// doing gives the parts that rows say would act, and how.
func doing(rows []states.Event) map[string]states.Action {
	said := map[string]states.Action{}
	for _, ev := range rows {
		if ev.Type == states.EventPart && ev.Outcome == "" && ev.Action != states.NoChange {
			said[ev.Address] = ev.Action
		}
	}
	return said
}

// byHand changes one thing on a host, or nothing.
func byHand(t *rapid.T, h host.Host) {
	path := rapid.SampledFrom(paths()).Draw(t, "path by hand")
	switch rapid.IntRange(0, 3).Draw(t, "by hand") {
	case 1:
		_ = h.Remove(path) // which may be impossible, as it may be for a person
	case 2:
		_ = h.WriteFile(t.Context(), path, host.Text("by hand\n"), host.Meta{})
	case 3:
		_ = h.Mkdir(path, host.Meta{})
	}
}

// What is done of a plan, without a handler that it notifies, owes that handler.
func TestPartOfAPlanOwes(t *testing.T) {
	p := newPast(t)
	run := compile(t, modules.Standard(), conf+"file \"/stale\" {}\n"+strings.Replace(handler, "lazy = true", "lazy = true\n require = [file[\"/stale\"]]", 1)).Run
	rest, _ := graph.Remove(run, []string{"file[\"/stale\"]"})
	p.carry(t, runtime.Apply, rest)
	p.didRun(t)
	p.owes(t, "state.h by file[\"/conf\"] changed")
	p.carry(t, runtime.Apply, run)
	p.didRun(t, "h")
	p.owes(t)
}
