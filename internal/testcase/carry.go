package testcase

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/states"
)

// story is what a plan or an apply says of each part, in order.
type story struct {
	order  []string
	ends   map[string]states.Event // the end of each part, and of blocks that are not confirmed
	events []states.Event
	result *runtime.Result
}

func newStory() *story { return &story{ends: map[string]states.Event{}} }

// add adds what happens next.
func (s *story) add(ev states.Event) {
	s.events = append(s.events, ev)
	switch {
	case ev.Type == states.EventPart:
	case ev.Type == states.EventRestored, ev.Type == states.EventConfirm && ev.Error != nil:
		ev.Outcome = states.Failed // of a block that is not confirmed
	default:
		return
	}
	if _, known := s.ends[ev.Address]; !known || ev.Type == states.EventPart {
		s.order = append(s.order, ev.Address)
	}
	s.ends[ev.Address] = ev
}

// hasFailed reports whether any part has failed.
func (s *story) hasFailed() bool {
	return slices.ContainsFunc(s.order, func(a string) bool { return failedOutcome(s.ends[a]) })
}

// tell plans the run, or carries it out.
func (r *caseRun) tell(ctx context.Context, planning bool) (*story, error) {
	s := newStory()
	now := fleet.ForTurn
	if planning {
		now = fleet.ForPlan
	}
	run, err := r.read(r.compilation.run, now)
	if err != nil {
		return s, err
	}
	how := func(ctx context.Context, o runtime.Options) (*runtime.Result, error) {
		return r.carry(ctx, run, planning, o)
	}
	switch {
	case r.records != nil:
	case planning:
		how = func(ctx context.Context, o runtime.Options) (*runtime.Result, error) {
			return runtime.Plan(ctx, run, o)
		}
	default:
		how = func(ctx context.Context, o runtime.Options) (*runtime.Result, error) {
			return runtime.Apply(ctx, run, o)
		}
	}
	result, err := how(ctx, runtime.Options{
		Host: r.compilation.machine, Registry: r.o.Registry, Site: r.site(), Sources: r.compilation.sources, Parallel: 1,
		Continue: startAnew, Events: s.add,
	})
	if s.result = result; result != nil {
		r.hand(planning, result.Outputs)
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s, err
}

// plan plans, and holds the machine to stay as it is.
func (r *caseRun) plan(ctx context.Context) (*story, bool) {
	before, err := snapshot(r.compilation.machine)
	var planned *story
	if err == nil {
		planned, err = r.tell(ctx, true)
	}
	var after map[string]string
	if err == nil {
		after, err = snapshot(r.compilation.machine)
	}
	if err != nil {
		r.failRun("plan", err)
		return nil, false
	}
	for _, name := range changedPaths(before, after) {
		r.fail(Failure{Message: "the plan changed the machine: " + name, Expected: before[name], Got: after[name],
			Hint: "a command that a plan runs (plan = true, or in a guard) must only read"})
	}
	return planned, true
}

func (r *caseRun) apply(ctx context.Context) (*story, bool) {
	applied, err := r.tell(ctx, false)
	if err != nil {
		r.failRun("apply", err)
		return nil, false
	}
	return applied, true
}

// failRun reports a run that could not be carried out.
func (r *caseRun) failRun(what string, err error) {
	r.diagnostics.Add(diag.Diagnostic{Summary: fmt.Sprintf("the %s was stopped: %v", what, err), Hint: diag.HintOf(err), Range: r.c.Range})
}

// row is what a plan says of a part: "create", "maybe update", "maybe no change", "skipped".
func row(ev states.Event) string {
	word := string(ev.Outcome)
	if word == "" {
		word = string(ev.Action)
	}
	if ev.Certain != nil && !*ev.Certain {
		return "maybe " + word
	}
	return word
}

// acts reports whether a plan's row says that something is done.
func acts(ev states.Event) bool { return ev.Outcome == "" && ev.Action != states.NoChange }

// actsForSure reports whether a plan is certain that something is done.
func actsForSure(ev states.Event) bool { return acts(ev) && (ev.Certain == nil || *ev.Certain) }

func failedOutcome(ev states.Event) bool {
	return ev.Outcome == states.Failed || ev.Outcome == states.Unknown
}
