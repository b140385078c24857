package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// siteRun loads a site, and makes ready for the machines that it is about.
func (s *client) siteRun(ctx context.Context, path string) (*fleetRun, error) {
	c, hosts, err := s.chooseHosts(ctx, path)
	if err != nil {
		return nil, err
	}
	v, err := s.fleetRun(ctx, c, hosts)
	if err == nil {
		err = v.latch(ctx, s.clusterPatience)
	}
	return v, err
}

// applyAll applies on all machines, or, unless yes is given, on those on which somebody
// consents to what there is to do.
func (v *fleetRun) applyAll(ctx context.Context, yes, detailed bool, rollout *lang.Rollout) (err error) {
	v.rollout = rollout
	if !yes {
		v.answers = bufio.NewReader(v.In)
	}
	if goesOn, err := v.settleDue(ctx); err != nil || !goesOn {
		return err
	}
	for {
		members, looked := v.members, []fleet.Outcome(nil)
		if !yes {
			members, looked, err = v.consent(ctx, "%s?")
			if err != nil || len(members) == 0 {
				return errors.Join(err, v.exitStatus(looked, false))
			}
		}
		outcomes, err := v.execute(ctx, fleet.Apply(v.facts, v.prepare), members, rollout, looked...)
		if err != nil {
			return err
		}
		if again, err := v.mustAskAgain(outcomes, yes); err != nil || !again {
			return errors.Join(err, v.exitStatus(append(looked, outcomes...), detailed))
		}
	}
}

// mayBegin refuses while this machine is on hold. Others tell of that themselves.
func (v *fleetRun) mayBegin() error {
	if v.hasNames {
		return nil
	}
	return v.mayApply()
}

// mustAskAgain reports whether this machine was not as it was shown, so that what is to be done
// there is shown, and asked for, once more. Who has waited for another apply is told.
func (v *fleetRun) mustAskAgain(outcomes []fleet.Outcome, yes bool) (bool, error) {
	e, ok := outcomes[0].Err.(*machine.Error)
	if v.hasNames || yes || !ok || e.Code != machine.CodeStale || v.lockTimeout > 0 {
		return false, nil
	}
	_, err := fmt.Fprintln(v.Out, "The machine has changed meanwhile. This is the plan now:")
	return true, failure(unread(err))
}

// begin records what is about to be done on hosts, and says how it is called.
func (v *fleetRun) begin(members []*fleet.Member, looked []fleet.Outcome) (*fleet.Execution, error) {
	dir, err := v.stateDir()
	if err != nil {
		return nil, err
	}
	r := fleet.Record{Command: v.command, Site: v.name, Origin: v.place, User: v.user()}
	for _, m := range members {
		r.Hosts = append(r.Hosts, v.recordOf(v.hostOf(m.Name)))
	}
	for _, o := range looked {
		if o.Status != fleet.Done {
			host := v.recordOf(v.hostOf(o.Machine))
			host.Status = o.Status
			r.Hosts = append(r.Hosts, host)
		}
	}
	for _, o := range v.untouchedHosts {
		var host fleet.RecordHost
		if v.resumes != nil {
			host = *recordHost(v.resumes, o.Machine)
		} else {
			host = v.recordOf(v.hostOf(o.Machine))
		}
		host.Status = o.Status
		r.Hosts = append(r.Hosts, host)
	}
	x, err := (&fleet.Executions{Dir: filepath.Join(dir, "executions")}).New(r)
	if err != nil {
		return nil, newStatus(exitFailed, fmt.Errorf("what is done on hosts cannot be recorded, and nothing was done: %w", err), elsewhere)
	}
	v.execution, v.record = x.ID(), x
	if v.globals.JSON {
		return x, v.printLine(executionLine{"execution", x.ID()})
	}
	if !v.globals.Quiet {
		fmt.Fprintln(v.Err, "execution "+x.ID())
	}
	return x, nil
}

// executionLine says how what is done on all hosts is called, for programs.
type executionLine struct {
	Type      string `json:"type"` // "execution"
	Execution string `json:"execution"`
}

// recordOf is a host as it is reached, for records.
func (v *fleetRun) recordOf(h *lang.Host) fleet.RecordHost {
	r := fleet.RecordHost{Name: h.Name, Executor: h.Executor}
	if !h.IsRemote() {
		return r
	}
	to := v.sshHost(*h, "")
	r.RunnerCache = to.Cache
	r.Address, r.Port, r.User, r.Become, r.BecomeMethod = to.Address, to.Port, to.User, to.Become.User, to.Become.Method
	r.Options = append(append(r.Options, v.globals.SSHOption...), to.Options...)
	return r
}

// hintDetached says how to hear of hosts again where something goes on that nobody looks
// after any more.
func (v *fleetRun) hintDetached(outcomes []fleet.Outcome) {
	detached := 0
	for i := range outcomes {
		if outcomes[i].Status == fleet.Detached {
			detached++
		}
	}
	if detached > 0 && !v.globals.JSON {
		fmt.Fprintf(v.Err, "hint: tenet status %s asks %s how it ended\n", v.execution, people(detached, "host", "hosts"))
	}
}

// execute does on members what changes them, as one execution, which is recorded.
// Looked is how it ended with hosts that were only looked at: what went wrong there is
// recorded, too.
func (v *fleetRun) execute(ctx context.Context, task fleet.Task, members []*fleet.Member, rollout *lang.Rollout, looked ...fleet.Outcome) ([]fleet.Outcome, error) {
	if !v.hasNames {
		return v.run(ctx, task, members, fleet.Options{})
	}
	v.site.renewFacts()
	members, err := v.joinClusters(ctx, members)
	if err != nil {
		return nil, err
	}
	if err := v.dropUndeclared(ctx); err != nil {
		return nil, err
	}
	if err := v.survey(ctx); err != nil {
		return nil, err
	}
	var outcomes []fleet.Outcome
	err = v.withHooks(ctx, rollout, func(hooks *fleet.Hooks) (err error) {
		outcomes, err = v.recorded(ctx, task, members, fleet.Options{Rollout: rollout, Hooks: hooks}, looked)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := v.learnLeft(ctx, outcomes); err != nil {
		return nil, err
	}
	v.hintDetached(outcomes)
	v.hintSkipped(append(slices.Clone(looked), outcomes...))
	v.hintDue()
	return outcomes, nil
}

// recorded does it as an execution.
func (v *fleetRun) recorded(ctx context.Context, task fleet.Task, members []*fleet.Member, o fleet.Options, looked []fleet.Outcome) ([]fleet.Outcome, error) {
	x, err := v.begin(members, looked)
	if err != nil {
		return nil, err
	}
	o.Execution = x
	v.tracing.begin = time.Now()
	outcomes, err := v.run(ctx, task, members, o)
	v.traceExecution(outcomes)
	if closed := x.Close(); closed != nil {
		err = errors.Join(err, failure(fmt.Errorf("the record of the execution: %w", closed)))
	}
	return outcomes, err
}

// hintSkipped says how to go on with the hosts whose turn did not come.
func (v *fleetRun) hintSkipped(outcomes []fleet.Outcome) {
	skipped, rest := false, 0
	for i := range outcomes {
		skipped = skipped || outcomes[i].Status == fleet.Skipped
		if outcomes[i].Status != fleet.Done {
			rest++
		}
	}
	if !skipped || v.globals.JSON {
		return
	}
	hosts := "host"
	if rest > 1 {
		hosts = fmt.Sprint(rest, " hosts")
	}
	hint := "hint: -l @%s:%s takes the %s on which it is not done\n"
	if v.isResumption { // what was not begun does not go on
		hint = "hint: tenet apply -l @%s:%s applies the site on the %s on which it is not done\n"
	}
	fmt.Fprintf(v.Err, hint, restOf, v.execution, hosts)
}

// consent shows the plan of all hosts and asks: question has a place for what is to be done
// where. It gives those on which there is
// something to do, none where nobody wants that, and how it ended with the others.
func (v *fleetRun) consent(ctx context.Context, question string) ([]*fleet.Member, []fleet.Outcome, error) {
	v.keepEvents = true
	defer func() { v.keepEvents = false }()
	outcomes, err := v.plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	var members []*fleet.Member
	var rest []fleet.Outcome
	v.rows = map[string][]states.Event{}
	for i, o := range outcomes {
		hasWork := o.Result != nil && o.Result.Counts.Changed > 0 || v.failedBefore[o.Machine]
		if c := v.joinsCluster(o.Machine); c != "" && o.Status == fleet.Done {
			v.noteHost(o.Machine, "it joins the cluster "+c)
			hasWork = true
		}
		if o.Status != fleet.Done || !hasWork {
			rest = append(rest, o)
			continue
		}
		members = append(members, v.members[i]) // those that are left alone come behind, and have no result
		v.rows[o.Machine] = v.events[o.Machine]
	}
	v.events = nil
	if len(members) == 0 || v.wasInterrupted() {
		return nil, rest, nil
	}
	what := "Apply this"
	if n := len(outcomes) - len(members); n > 0 {
		what = fmt.Sprintf("Apply this on %s of %d", people(len(members), "host", "hosts"), len(outcomes))
	}
	if err := v.mayBegin(); err != nil { // before anybody is asked
		return nil, nil, err
	}
	yes, err := v.ask(ctx, v.answers, fmt.Sprintf(question, what))
	if err != nil || !yes {
		return nil, nil, err
	}
	return members, rest, nil
}
