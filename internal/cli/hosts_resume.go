package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
)

// lastRun stands for the latest run of a machine, whatever its ID.
const lastRun = "last"

// resumeHosts lets hosts go on, each with its own run: that of an execution, or its last
// one. It is an execution of its own.
func (s *client) resumeHosts(ctx context.Context, cmd *applyCmd, m *meant, x *fleet.Record) error {
	rollout, err := cmd.rollingOut.alone()
	if err != nil {
		return err
	}
	if len(m.hosts) == 0 {
		none := nothingThere(x)
		none.hint = fmt.Sprintf("tenet apply -l @%s:%s applies the site on all hosts on which it is not done", restOf, x.ID)
		return none
	}
	from, err := os.Hostname()
	if err != nil {
		return failed(err)
	}
	v := &several{client: s, site: &site{saved: map[string]journal.Source{}}, hosts: m.hosts, from: from, facts: []string{}, resumes: x}
	id := cmd.Resume
	switch {
	case x != nil:
		id, v.name, v.site.origin = x.ID, x.Site, x.Origin
	case id == lastRun:
		id = ""
	}
	v.asks = func(_ context.Context, machine *fleet.Machine, hello *wire.Hello) (*wire.Request, *bundle.Bundle, error) {
		q := &wire.Request{
			Op: wire.OpResume, ID: id, Execution: v.execution, Parallel: s.globals.Parallel, LockTimeout: s.lockTimeout,
			User: s.user(), From: from, Command: s.command,
			BecomeMethod: cmp.Or(s.globals.BecomeMethod, v.hostOf(machine.Name).BecomeMethod),
		}
		if x != nil {
			q.Host = machine.Name
		}
		v.password(q, machine.Name, hello, mayBecome(thenOf(x, machine.Name)))
		return q, nil, nil
	}
	v.judged = func(o fleet.Outcome) fleet.Outcome {
		if f := troubleOf(&o); f != nil && f.Code == wire.CodeNotFound && x != nil {
			o.Status, o.Err, o.End = fleet.Spared, nothingThere(x), nil
		}
		return o
	}
	if err := v.reach(ctx); err != nil {
		return err
	}
	for _, name := range m.untouched {
		v.others = append(v.others, fleet.Outcome{Machine: name, Status: fleet.Spared, Err: nothingThere(x)})
	}
	outcomes, err := v.execute(ctx, wire.OpResume, v.machines, rollout)
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

// alone is a rollout of which no site says anything; nil: all hosts at once.
func (r *rollingOut) alone() (*lang.Rollout, error) {
	if !r.given() {
		return nil, nil
	}
	wanted := &lang.Rollout{}
	if err := r.over(wanted); err != nil {
		return nil, err
	}
	return wanted, nil
}
