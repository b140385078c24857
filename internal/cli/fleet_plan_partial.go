package cli

import (
	"context"
	"errors"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// reduceAll leaves out of a saved plan what does not fit any more, on each host by itself, and
// shows it. It gives how much that is. Hosts of which nothing can be done are left alone.
func (v *fleetRun) reduceAll(ctx context.Context, plan *planfile.Fleet) (left int, err error) {
	r := &reduction{fleetRun: v, plan: plan, rests: map[string]*planfile.Rest{}, stale: map[string][]machine.Difference{}}
	v.isPlan, v.isHidden = true, true
	untouched := v.untouchedHosts
	v.untouchedHosts = nil
	outcomes, err := v.run(ctx, fleet.Task{Name: "plan", Repeatable: true, Ask: r.ask}, v.members, fleet.Options{})
	v.isPlan, v.isHidden, v.untouchedHosts = false, false, untouched
	if err != nil {
		return 0, err
	}
	if v.wasInterrupted() {
		return 0, &status{code: exitInterrupted, err: errInterrupted}
	}
	var members []*fleet.Member
	for i := range outcomes {
		o := &outcomes[i]
		for _, d := range r.stale[o.Machine] {
			if err := v.showHostStale(o.Machine, d); err != nil {
				return 0, err
			}
		}
		rest := r.rests[o.Machine]
		switch {
		case o.Status != fleet.Done:
			v.leave(o.Machine, o.Status, o.Err)
			continue
		case rest != nil:
			left += len(rest.Omissions)
			v.rows[o.Machine] = rest.Rows
			if err := v.showOmissions(o.Machine, rest.Omissions); err != nil {
				return 0, err
			}
		}
		members = append(members, v.members[i])
	}
	v.members = members
	jobOf := v.jobOf
	v.jobOf = func(ctx context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
		j, err := jobOf(ctx, m, facts)
		if j != nil && r.rests[m.Name] != nil {
			j.Run = r.rests[m.Name].Run
		}
		return j, err
	}
	return left, nil
}

// reduction finds out what still fits of the plans of hosts.
type reduction struct {
	*fleetRun
	plan *planfile.Fleet

	mu    sync.Mutex
	rests map[string]*planfile.Rest
	stale map[string][]machine.Difference
}

// ask has a host plan again what was planned, and what is left of it.
func (r *reduction) ask(ctx context.Context, c *fleet.Call) (*machine.Result, error) {
	known, err := c.Facts(ctx, r.facts)
	if err != nil {
		return nil, err
	}
	var j *machine.Job
	var saved *planfile.Plan
	err = c.Evaluate(ctx, func() (err error) {
		if j, err = r.prepare(ctx, c.Member, known); err == nil && j != nil {
			saved, err = r.plan.Plan(r.plan.Index(c.Name))
		}
		return err
	})
	if err != nil || j == nil {
		return nil, err
	}
	var stale []machine.Difference
	rest, err := saved.Reduce(func(run *states.StateRun) ([]states.Event, error) {
		one, given := *j, *run
		given.Given = j.Run.Given
		one.Run = &given
		return planEvents(ctx, c, &one)
	}, func(d []machine.Difference) error {
		stale = append(stale, d...)
		return nil
	})
	r.mu.Lock()
	r.rests[c.Name], r.stale[c.Name] = rest, stale
	r.mu.Unlock()
	if wrong, ok := errors.AsType[*planfile.StaleError](err); ok {
		err = &machine.Error{HintError: diag.HintError{Code: machine.CodeStale, Err: wrong, Hint: "plan again"}}
	}
	if err != nil {
		return nil, err
	}
	return &machine.Result{}, nil
}

// planEvents plans on a host, and gives the events as they are compared.
func planEvents(ctx context.Context, c *fleet.Call, j *machine.Job) ([]states.Event, error) {
	var events []states.Event
	_, err := c.Plan(ctx, j, machine.Observer{Note: c.Observer.Note, Event: func(ev states.Event) {
		if ev.Type != states.EventRun { // others have no host there
			ev.Host = ""
		}
		events = append(events, ev)
	}})
	return events, err
}

// showHostStale shows a row of a host that differs.
func (v *fleetRun) showHostStale(host string, d machine.Difference) error {
	text, row := v.stale(d)
	if row.Host = host; v.globals.JSON {
		return v.printLine(row)
	}
	return v.printText(host + ": " + text)
}
