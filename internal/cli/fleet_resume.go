package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// prepareHosts makes ready for the hosts whose runs go on.
func (v *fleetRun) prepareHosts(ctx context.Context, cmd *applyCmd, t *targets) error {
	if err := v.mayResume(cmd, true); err != nil {
		return err
	}
	x := v.resumes
	if len(t.hosts) == 0 {
		return nothingThere(x, fmt.Sprintf("tenet apply -l @%s:%s applies the site on all hosts on which it is not done", restOf, x.ID))
	}
	if x != nil {
		v.name, v.place = x.Site, x.Origin
		v.interpretOutcome = func(o fleet.Outcome) fleet.Outcome {
			if f := failureOf(&o); f != nil && f.Code == machine.CodeNotFound {
				o.Status, o.Err, o.Result = fleet.Skipped, nothingThere(x, "apply the site there"), nil
			}
			return o
		}
	}
	for _, name := range t.absent {
		v.untouchedHosts = append(v.untouchedHosts, fleet.Outcome{Machine: name, Status: fleet.Skipped, Err: nothingThere(x, "apply the site there")})
	}
	return v.reach(ctx)
}

// resumption is the task to go on with runs: those of an execution, a run by its ID, or the
// last one of each machine.
func (v *fleetRun) resumption(id string) fleet.Task {
	task := fleet.Resume(func(m *fleet.Member) machine.Resumption {
		r := machine.Resumption{
			Run: machine.RunRef{ID: id}, Execution: v.execution, Parallel: v.globals.Parallel, LockTimeout: v.lockTimeout,
			Become: v.become(m.Name, mayBecome(recordHost(v.resumes, m.Name))),
		}
		if v.resumes != nil {
			r.Run.Host = m.Name
		}
		return r
	})
	resume := task.Ask
	task.Ask = func(ctx context.Context, c *fleet.Call) (*machine.Result, error) {
		started := c.Observer.Started
		c.Observer.Started = func(begun machine.Started) {
			if begun.Job != nil { // else the machine alone knows it
				v.view.Prepared(c.Name, begun.Job)
			}
			started(begun)
		}
		return resume(ctx, c)
	}
	return task
}

// mayBecome reports whether parts of a run may act as other accounts, as far as is known
// here: not of a host's last run, whoever began it, nor of one of which no word came.
func mayBecome(then *fleet.RecordHost) bool {
	return then == nil || then.Run == "" || then.Becomes
}

// nothingThere is why a host has nothing of an execution to go on with.
func nothingThere(x *fleet.Record, hint string) error {
	return newStatus(exitFailed, errors.New("nothing of execution "+x.ID+" was begun there"), hint)
}

// withoutSite is the rollout that flags alone ask for; nil: all hosts at once.
func (r *rolloutFlags) withoutSite() (*lang.Rollout, error) {
	if !r.areGiven() {
		return nil, nil
	}
	wanted := &lang.Rollout{}
	if err := r.override(wanted); err != nil {
		return nil, err
	}
	return wanted, nil
}
