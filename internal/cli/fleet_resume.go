package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// lastRun stands for the latest run of a machine, whatever its ID.
const lastRun = "last"

// resumeHosts lets hosts go on, each with its own run: that of an execution, or its last
// one. It is an execution of its own.
func (s *client) resumeHosts(ctx context.Context, cmd *applyCmd, t *targets, x *fleet.Record) error {
	rollout, err := cmd.rollingOut.withoutSite()
	if err != nil {
		return err
	}
	if len(t.hosts) == 0 {
		none := nothingThere(x)
		none.hint = fmt.Sprintf("tenet apply -l @%s:%s applies the site on all hosts on which it is not done", restOf, x.ID)
		return none
	}
	v := &fleetRun{client: s, named: true, hosts: t.hosts, resuming: true, resumes: x}
	id := cmd.Resume
	switch {
	case x != nil:
		id, v.name, v.place = x.ID, x.Site, x.Origin
	case id == lastRun:
		id = ""
	}
	how := func(m *fleet.Member) machine.Resumption {
		r := machine.Resumption{
			Run: machine.RunRef{ID: id}, Execution: v.execution, Parallel: s.globals.Parallel, LockTimeout: s.lockTimeout,
			Become: v.become(m.Name, mayBecome(recordHost(x, m.Name))),
		}
		if x != nil {
			r.Run.Host = m.Name
		}
		return r
	}
	v.judged = func(o fleet.Outcome) fleet.Outcome {
		if f := failureOf(&o); f != nil && f.Code == machine.CodeNotFound && x != nil {
			o.Status, o.Err, o.Result = fleet.Spared, nothingThere(x), nil
		}
		return o
	}
	if err := v.reach(ctx); err != nil {
		return err
	}
	for _, name := range t.absent {
		v.others = append(v.others, fleet.Outcome{Machine: name, Status: fleet.Spared, Err: nothingThere(x)})
	}
	outcomes, err := v.execute(ctx, fleet.Resume(how), v.members, rollout)
	if err != nil {
		return err
	}
	return v.ended(outcomes, cmd.DetailedExitcode)
}

// mayBecome reports whether parts of a run may act as other accounts, as far as is known
// here: not of a host's last run, whoever began it, nor of one of which no word came.
func mayBecome(then *fleet.RecordHost) bool {
	return then == nil || then.Run == "" || then.Becomes
}

// nothingThere is why a host has nothing of an execution to go on with.
func nothingThere(x *fleet.Record) *status {
	return &status{code: exitFailed, err: errors.New("nothing of execution " + x.ID + " was begun there"), hint: "apply the site there"}
}

// withoutSite is the rollout that flags alone ask for; nil: all hosts at once.
func (r *rollingOut) withoutSite() (*lang.Rollout, error) {
	if !r.given() {
		return nil, nil
	}
	wanted := &lang.Rollout{}
	if err := r.over(wanted); err != nil {
		return nil, err
	}
	return wanted, nil
}
