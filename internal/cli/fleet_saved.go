package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// identityFacts are the facts by which a saved plan knows its machine.
func identityFacts() []string { return []string{"hostname", "machine_id"} }

// savedHost tells by its facts which machine a host is.
func savedHost(name string, facts *machine.Facts) (planfile.Host, error) {
	h := planfile.Host{Name: name}
	for fact, to := range map[string]*string{"hostname": &h.Hostname, "machine_id": &h.Machine} {
		value, err := facts.Fact(fact)
		if err != nil {
			return h, err
		}
		*to, _ = value.(string) // empty: it has none
	}
	return h, nil
}

// planAndSave shows the plans of the hosts, and saves them.
func (v *fleetRun) planAndSave(ctx context.Context, path, out string, rollout *lang.Rollout) ([]fleet.Outcome, error) {
	if v.hasNames && !slices.Contains(v.facts, machine.AllFacts) {
		v.facts = append(slices.Clone(v.facts), identityFacts()...)
	}
	if err := v.survey(ctx); err != nil {
		return nil, err
	}
	v.keepEvents = true
	if len(v.hosts) > 1 || v.runsHooks(rollout) || v.exchange != nil && v.exchange.isRead { // the file tells of them
		return v.planAndSaveAll(ctx, path, out, rollout)
	}
	var j *machine.Job
	var here planfile.Host
	jobOf := v.jobOf
	v.jobOf = func(ctx context.Context, m *fleet.Member, facts *machine.Facts) (_ *machine.Job, err error) {
		if v.hasNames {
			here, err = savedHost(m.Name, facts)
		}
		if err == nil {
			j, err = jobOf(ctx, m, facts)
		}
		if err == nil && !v.hasNames {
			here, err = v.localHost(j.Run.Host)
		}
		return j, err
	}
	outcomes, err := v.plan(ctx)
	if err != nil {
		return nil, err
	}
	o := &outcomes[0]
	failed := o.Status == fleet.Failed && o.Err == nil && o.Result != nil // by its rows, which can be looked at
	switch isSaved := o.Status == fleet.Done && o.Result != nil || failed; {
	case !isSaved && !v.hasNames:
		return nil, v.notSaved(outcomes)
	case !isSaved:
		return outcomes, errors.Join(v.exitStatus(outcomes, false), errors.New("the plan is not saved, since it fails"))
	}
	c := *v.site
	if v.hasNames {
		c.declared = &v.hosts[0]
	}
	plan := &planfile.Plan{
		Program: version(), Created: time.Now(), Host: here, Run: j.Run, Places: j.Sources(), Failed: failed,
		Rows: v.events[o.Machine], Counts: o.Result.Counts, Files: j.Files, Origin: j.Origin, Modules: j.Modules,
	}
	return outcomes, v.savePlan(ctx, &c, path, out, plan, j.Registry)
}

// planSilently plans on the only machine, and shows nothing of it.
func (v *fleetRun) planSilently(ctx context.Context) ([]states.Event, error) {
	v.keepEvents, v.isHidden = true, true
	defer func() { v.keepEvents, v.isHidden, v.shownJob = false, false, nil }() // the next job may be another
	outcomes, err := v.plan(ctx)
	if err != nil {
		return nil, err
	}
	o := &outcomes[0]
	if o.Status == fleet.Interrupted {
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	}
	if f := failureOf(o); f != nil && !v.hasNames {
		return nil, v.exitStatus(outcomes, false)
	} else if f != nil {
		return nil, newStatus(statusOf(o), fmt.Errorf("%s: %s", o.Machine, f.Message), f.Hint)
	}
	return v.events[o.Machine], nil
}

// hostNamed is the host of that name of the site that --inventory names, and all that this declares.
func (s *client) hostNamed(ctx context.Context, name string) (host *lang.Host, declared []lang.Host, err error) {
	s.secretsHidden = true
	c, err := s.load(ctx, s.globals.Inventory)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := s.selectHosts(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	declared, _, diags := c.Hosts(ctx, c.Target)
	if err := s.diagnose(c, diags); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(hosts, func(h lang.Host) bool { return h.Name == name })
	if i < 0 {
		return nil, nil, usage("tenet inspect hosts lists the hosts", "the plan is for %s, and %s declares no such host", name, s.globals.Inventory)
	}
	return &hosts[i], declared, nil
}

// notSaved is why the plan of this machine is not saved.
func (v *fleetRun) notSaved(outcomes []fleet.Outcome) error {
	switch o := &outcomes[0]; {
	case o.Status == fleet.Interrupted:
		return &status{code: exitInterrupted, err: errors.New("interrupted: the plan is not saved")}
	}
	return v.exitStatus(outcomes, false)
}
