package testcase

import (
	"context"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// converge plans and applies again: nothing is to be left to do, but for the
// parts that the case lets repeat. Of what a plan is not certain, because it
// depends on one of these, the apply tells. Where a part failed there is nothing
// to converge.
func (r *caseRun) converge(ctx context.Context, applied *story) {
	want := r.expectation(untilApply)
	if converges, given := get[bool](want, "converges"); given && !converges {
		return
	}
	if applied.hasFailed() {
		return
	}
	repeats := the[[]item](want, "repeats")
	planned, ok := r.plan(ctx)
	if !ok {
		return
	}
	for _, address := range planned.order {
		if ev := planned.ends[address]; actsForSure(ev) && !slices.Contains(keys(repeats), address) {
			r.fail(Failure{Message: "a second plan has something to do: " + address, Expected: string(states.NoChange),
				Got: row(ev) + because(ev) + changesText(ev), Hint: convergeHint(ev)})
		}
	}
	again, ok := r.apply(ctx)
	if !ok {
		return
	}
	for _, address := range again.order {
		ev := again.ends[address]
		switch {
		case failedOutcome(ev):
			f := unexpectedFailure(ev)
			f.Message += " in a second apply"
			r.fail(f)
		case ev.Outcome == states.Changed && !slices.Contains(keys(repeats), address) && !actsForSure(planned.ends[address]):
			r.fail(Failure{Message: "a second apply changes " + address, Expected: string(states.Unchanged),
				Got: outcome(ev) + changesText(ev), Hint: convergeHint(ev)})
		}
	}
	for _, i := range repeats {
		ev, there := again.ends[i.key]
		switch {
		case !there:
			r.fail(Failure{Message: "there is no part " + i.key, Hint: nearest(i.key, again.order), Range: i.at})
		case ev.Outcome != states.Changed:
			r.fail(Failure{Message: i.key + " does not repeat", Expected: string(states.Changed), Got: outcome(ev) + because(ev), Range: i.at})
		}
	}
}

func convergeHint(ev states.Event) string {
	if ev.Action == states.Execute {
		return "give it creates, removes or a guard, or list it in repeats of expect_apply"
	}
	return "two parts undo each other, or a value differs each time"
}
