package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/states"
)

// converger is how one host fares that is applied again and again.
type converger struct {
	end              convergence
	failed           bool // its last run
	changed          bool // by any of them
	handlers         map[string]bool
	latest, previous []changingPart
	outcome          fleet.Outcome // the last one
}

// note notes what a run changes.
func (c *converger) note(ev *states.Event) { noteChange(&c.latest, c.handlers, ev) }

// convergeAll applies on all hosts, and again on those where the run before has changed
// something, or failed. Each time is an execution by itself, and goes batch by batch where
// that is wanted.
func (v *fleetRun) convergeAll(ctx context.Context, cmd *applyCmd, rollout *lang.Rollout) error {
	limit := *cmd.UntilConverged
	v.rollout = rollout
	if !cmd.Yes {
		v.answers = bufio.NewReader(v.In)
	}
	if goesOn, err := v.settleDue(ctx); err != nil || !goesOn {
		return err
	}
	members, looked := v.members, []fleet.Outcome(nil)
	if !cmd.Yes {
		var err error
		members, looked, err = v.consent(ctx, fmt.Sprintf("%%s, and again until nothing changes (%d times at most)?", limit))
		if err != nil || len(members) == 0 {
			return cmp.Or(err, v.exitStatus(looked, false))
		}
	}
	all := members
	v.convergers = map[string]*converger{}
	for _, m := range all {
		v.convergers[m.Name] = &converger{end: convergence{Type: "convergence", Host: m.Name, Limit: limit, Changing: []changingPart{}}}
	}
	for run := 1; ; run++ {
		outcomes, err := v.execute(ctx, fleet.Apply(v.facts, v.prepare), members, rollout, looked...)
		if err != nil {
			return err
		}
		if err := v.endHere(outcomes); err != nil {
			return err
		}
		members = v.changingMembers(members, outcomes)
		if len(members) == 0 || run == limit || v.wasInterrupted() {
			break
		}
		again := fmt.Sprintf("\nAgain, run %d of %d at most", run+1, limit)
		if v.hasNames {
			again += ", on " + people(len(members), "host", "hosts")
		}
		if err := v.tell("%s:", again); err != nil {
			return err
		}
		v.rows, v.shownJob = nil, nil // what was consented to is done
		v.shownDiagnostics.nextEvaluation()
	}
	return v.showConvergences(all, looked, cmd.DetailedExitcode)
}

// changingMembers takes note of how a run ended on members, and gives those on which another one
// may lead further: on no other where a rollout was stopped.
func (v *fleetRun) changingMembers(members []*fleet.Member, outcomes []fleet.Outcome) []*fleet.Member {
	var again []*fleet.Member
	stopped := false
	for _, m := range members {
		o, c := outcomeOf(outcomes, m.Name), v.convergers[m.Name]
		c.outcome = o
		stopped = stopped || o.Status == fleet.Skipped
		if o.Result == nil || o.Status != fleet.Done && o.Status != fleet.Failed {
			continue // no run, or none that has ended
		}
		r := o.Result
		c.end.Runs++
		c.failed, c.changed = r.Failed, c.changed || r.Counts.Changed > 0
		c.end.Converged = o.Status == fleet.Done && !r.Failed && r.Counts.Changed == 0
		if c.end.Changing = []changingPart{}; !c.end.Converged {
			c.end.Changing = persistent(c.previous, c.latest, c.end.Runs)
			again = append(again, m)
		}
		c.previous, c.latest = c.latest, nil
	}
	if stopped {
		return nil
	}
	return again
}

// showConvergences tells how it ended, hosts alike together, and gives the exit status. How it
// ended with a host where no run did was told before.
func (v *fleetRun) showConvergences(members []*fleet.Member, looked []fleet.Outcome, detailed bool) error {
	if !v.hasNames {
		c := v.convergers[members[0].Name]
		return v.showConvergence(c.end, c.failed, c.changed && detailed)
	}
	outcomes := looked
	var codes []int
	var good, bad hostGroups
	for _, m := range members {
		c := v.convergers[m.Name]
		outcomes = append(outcomes, c.outcome)
		if detailed && c.changed {
			codes = append(codes, exitChanges)
		}
		if v.globals.JSON {
			if err := v.printLine(c.end); err != nil {
				return err
			}
		}
		runs := plural(c.end.Runs, "run")
		switch {
		case c.end.Runs == 0:
		case c.end.Converged:
			good.add(m.Name, "converged after "+runs)
		default:
			codes = append(codes, exitFailed)
			text, hint := c.end.explain(runs, c.failed)
			if hint != "" {
				text += "\n  hint: " + hint
			}
			bad.add(m.Name, text)
		}
	}
	for _, text := range good.order {
		if err := v.tell("%s", ui.Clean(v.title(good.hosts[text])+" "+text)); err != nil {
			return err
		}
	}
	for _, text := range bad.order {
		if !v.globals.JSON {
			fmt.Fprintln(v.Err, ui.Clean(v.title(bad.hosts[text])+" "+strings.TrimSpace(text)))
		}
	}
	return v.exitStatus(outcomes, false, codes...)
}

// endHere is why there is no other run on this machine; nil: there may be.
func (v *fleetRun) endHere(outcomes []fleet.Outcome) error {
	o := &outcomes[0]
	if v.hasNames || o.Err == nil && o.Result != nil && !o.Result.Interrupted && !o.Result.Rebooting {
		return nil
	}
	return v.exitStatus(outcomes, false)
}
