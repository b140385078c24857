package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// identifying are the facts by which a saved plan knows its machine.
func identifying() []string { return []string{"hostname", "machine_id"} }

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

// planAndSave shows the plan of the one host, and saves it.
func (v *fleetRun) planAndSave(ctx context.Context, path, out string) ([]fleet.Outcome, error) {
	if !slices.Contains(v.facts, machine.AllFacts) {
		v.facts = append(slices.Clone(v.facts), identifying()...)
	}
	var j *machine.Job
	var here planfile.Host
	jobOf := v.jobOf
	v.jobOf = func(ctx context.Context, m *fleet.Member, facts *machine.Facts) (_ *machine.Job, err error) {
		if here, err = savedHost(m.Name, facts); err == nil {
			j, err = jobOf(ctx, m, facts)
		}
		return j, err
	}
	v.keep = true
	outcomes, err := v.plan(ctx)
	if err != nil {
		return nil, err
	}
	o := &outcomes[0]
	if o.Status != fleet.Done || o.Result == nil {
		return outcomes, errors.Join(v.ended(outcomes, false), errors.New("the plan is not saved, since it fails"))
	}
	c := *v.site
	c.declared = &v.hosts[0]
	return outcomes, v.saveRows(ctx, &c, j, path, out, here, v.events[o.Machine], o.Result.Counts)
}

// applyThere does what a saved plan says on the host that it was made for, which a site
// says how to reach.
func (s *client) applyThere(ctx context.Context, cmd *applyCmd, plan *planfile.Plan) error {
	host, err := s.hostNamed(ctx, plan.Host.Name)
	if err != nil {
		return err
	}
	j, err := s.plannedJob(ctx, plan, cmd.Site)
	if err != nil {
		return err
	}
	v := &fleetRun{client: s, hosts: []lang.Host{*host}, name: plan.Run.Site, origin: plan.Origin, place: plan.Origin, line: j.Line,
		facts: identifying(), rows: map[string][]states.Event{host.Name: plan.Rows}}
	v.jobOf = func(_ context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
		here, err := savedHost(m.Name, facts)
		if err != nil {
			return nil, err
		}
		if why := plan.Host.Differs(here); why != "" {
			return nil, &status{code: exitFailed, err: errors.New("the plan is refused: " + why), hint: "apply it where it was made for"}
		}
		one := *j
		return &one, nil
	}
	if err := v.reach(ctx); err != nil {
		return err
	}
	rest := &planfile.Rest{}
	if cmd.Partial {
		if rest, err = s.reduce(j, plan, func() ([]states.Event, error) { return v.planThere(ctx) }); err != nil {
			return err
		}
		v.rows[host.Name] = rest.Rows
	}
	return orLeftOut(v.applyAll(ctx, true, cmd.DetailedExitcode, nil), rest)
}

// planThere plans on the only host, and shows nothing of it.
func (v *fleetRun) planThere(ctx context.Context) ([]states.Event, error) {
	v.keep, v.hidden = true, true
	defer func() { v.keep, v.hidden = false, false }()
	outcomes, err := v.plan(ctx)
	if err != nil {
		return nil, err
	}
	o := &outcomes[0]
	if o.Status == fleet.Interrupted {
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	}
	if f := failureOf(o); f != nil {
		return nil, &status{code: statusOf(o), err: fmt.Errorf("%s: %s", o.Machine, f.Message), hint: f.Hint}
	}
	return v.events[o.Machine], nil
}

// hostNamed is the host of that name of the site that --inventory names.
func (s *client) hostNamed(ctx context.Context, name string) (*lang.Host, error) {
	s.secretsHidden = true
	c, err := s.load(ctx, s.globals.Inventory)
	if err != nil {
		return nil, err
	}
	hosts, err := s.selected(ctx, c)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(hosts, func(h lang.Host) bool { return h.Name == name })
	if i < 0 {
		return nil, usage("tenet inspect hosts lists the hosts", "the plan is for %s, and %s declares no such host", name, s.globals.Inventory)
	}
	return &hosts[i], nil
}
