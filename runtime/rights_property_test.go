package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// tally counts the rows that a property has compared.
type tally struct {
	certain, unchanged, maybes int
	goesOn                     bool // rows are compared after a failure of what a plan does not foresee, too
}

// falseRows plans a run, applies it, and lists the rows that were certain and differ.
func (c *tally) falseRows(ctx context.Context, h host.Host, run *states.StateRun) (lies []string, err error) {
	rows := map[string]states.Event{}
	o := runtime.Options{Host: h, Registry: modules.Standard(), Parallel: 1}
	o.Events = func(ev states.Event) { rows[ev.Address] = ev }
	if _, err := runtime.Plan(ctx, run, o); err != nil {
		return nil, err
	}
	o.Events = func(ev states.Event) {
		row := rows[ev.Address]
		certain := row.Certain
		if row.Outcome == states.Blocked { // as certain as what it is by
			certain = rows[strings.TrimPrefix(row.Reason, "by ")].Certain
		}
		by := rows[strings.TrimPrefix(ev.Reason, "by ")]
		switch {
		case ev.Type != states.EventPart || certain == nil:
		case ev.Outcome == states.Blocked && strings.Contains(by.Reason, "whose effects cannot be foreseen"): // a program's row says so for all
		case !*certain:
			c.maybes++
		default:
			c.certain++
			was, is := told(row), told(ev)
			if was != is && (was != "unchanged" || is != "blocked") { // what is not done stays as it is
				lies = append(lies, fmt.Sprintf("%s was certain to be %s, and is %s", ev.Address, was, is))
			}
		}
	}
	_, err = runtime.Apply(ctx, run, o)
	return lies, err
}

// told is what a row says, and what has come of it, in the same words.
func told(ev states.Event) string {
	switch {
	case ev.Outcome == states.Blocked:
		return "blocked"
	case ev.Outcome == states.Failed:
		return "failed"
	case ev.Action == states.NoChange || ev.Outcome == states.Unchanged:
		return "unchanged"
	}
	text := fmt.Sprintf("%s %s", ev.Action, changed(ev))
	if ev.Outcome != states.Changed && ev.Outcome != "" {
		text = string(ev.Outcome) + " " + text
	}
	if ev.Error != nil {
		text += ": " + ev.Error.Message
	}
	return text
}

// A plan of a user without the rights of root claims nothing that is refused to this
// user then, in whatever tree. Memory refuses what the kernel would.
func TestPlanOfPlainUserHolds(t *testing.T) {
	registry := modules.Standard()
	var rows tally
	rapidtest.For(t, "2000")
	rapid.Check(t, func(t *rapid.T) {
		site, tree := drawOwnedSite(t, registry, true), drawOwned(t, false)
		compiled, _ := graph.Compile(site, graph.Options{Registry: registry})
		if compiled == nil {
			return // parts that contradict each other
		}
		h, err := inMemory(tree)
		if err != nil {
			t.Fatal(err)
		}
		h.Obey(plainUser())
		lies, err := rows.falseRows(t.Context(), h, compiled.Run)
		if err != nil {
			t.Fatal(err)
		}
		if len(lies) > 0 {
			t.Fatalf("%s\n%s\n%+v", strings.Join(lies, "\n"), pretty(compiled.Run.Invocations), tree)
		}
	})
	t.Logf("%d certain rows held, %d were maybes", rows.certain, rows.maybes)
	if (rows.certain < 500 || rows.maybes < 500) && !testing.Short() {
		t.Error("too few rows: the test shows little")
	}
}
