package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// applyFleetPlan does on each host what a saved plan says of it, if a plan now says the same.
func (s *client) applyFleetPlan(ctx context.Context, cmd *applyCmd, plan *planfile.Fleet) error {
	rollout := plan.Rollout
	if cmd.rolloutFlags.areGiven() {
		if rollout == nil {
			rollout = &lang.Rollout{}
		}
		if err := cmd.rolloutFlags.override(rollout); err != nil {
			return err
		}
	}
	v, err := s.plannedFleet(ctx, plan, cmd.Site)
	if err != nil {
		return err
	}
	left := 0
	if cmd.Partial {
		if left, err = v.reduceAll(ctx, plan); err != nil {
			return err
		}
	}
	if len(v.members) == 0 && len(v.clusters) == 0 {
		return newStatus(exitFailed, errors.New("none of these hosts has a plan that can be carried out, and nothing was done"), "tenet show FILE shows what fails; put it right, and plan again")
	}
	if err := s.preparePlannedHooks(ctx, v, plan, rollout); err != nil {
		return err
	}
	err = v.applyAll(ctx, true, cmd.DetailedExitcode, rollout)
	if err == nil && left > 0 {
		err = newStatus(exitFailed, fmt.Errorf("%d of the plans left out", left), "plan again for the rest")
	}
	return err
}

// preparePlannedHooks finds the site whose hooks run around what a saved plan does. The plan says which
// hooks these are, and the site what they do. Where none runs around these hosts, no site is needed, and
// nothing says with which variables it is to be evaluated.
func (s *client) preparePlannedHooks(ctx context.Context, v *fleetRun, plan *planfile.Fleet, rollout *lang.Rollout) error {
	if !v.runsHooks(rollout) {
		if rollout.HasHooks() { // they run around other hosts
			rollout.BeforeEach, rollout.AfterEach = nil, nil
			for i := range rollout.Stages {
				rollout.Stages[i].BeforeEach, rollout.Stages[i].AfterEach = nil, nil
			}
		}
		if s.globals.giveValues() {
			return usage("give them to tenet plan -o FILE", "--var, --var-file and --data are for hooks, and none runs around these hosts")
		}
		return nil
	}
	path := cmp.Or(s.globals.Inventory, ".")
	if info, err := os.Stat(path); err == nil && !isSitePath(path, info) {
		return usage("name the site that the plan was made of: -i SITE", "the rollout of the plan has hooks, and %s does not say what they do", path)
	}
	s.secretsHidden = false
	c, err := s.load(ctx, path)
	if err != nil {
		return err
	}
	c.Target.Inventory = v.inventory // nobody is asked twice which hosts there are
	if found := c.Diagnostics(); found.HasErrors() {
		return s.diagnose(c, found)
	}
	if c.Name() != plan.Site || plan.Site == "" && c.Origin != v.place {
		return usage("name that site: -i SITE", "the hooks of the plan are those of %s, and %s is another site", cmp.Or(plan.Site, plan.Origin), path)
	}
	v.hookSite, v.place = c, c.Origin // where a named site is now
	return nil
}

// plannedFleet makes ready for a saved plan on its hosts, or those of them that --limit
// selects. How they are reached says a site, and not the plan. File is what it was read from.
func (s *client) plannedFleet(ctx context.Context, plan *planfile.Fleet, file string) (*fleetRun, error) {
	hosts, declared, inventory, err := s.plannedHosts(ctx, plan)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, failure(err)
	}
	registry, err := runner.Modules(modules.Standard(), plan.Files, plan.Modules)
	if err != nil {
		return nil, s.ran(err)
	}
	v := &fleetRun{client: s, hasNames: true, isSavedPlan: true, inventory: inventory, name: plan.Site, origin: plan.Origin, place: placeOf(plan.Origin),
		facts: identityFacts(), rows: map[string][]states.Event{}}
	for _, h := range hosts {
		saved := &plan.Hosts[plan.Index(h.Name)]
		if saved.HasFailed() {
			v.leave(h.Name, fleet.Skipped, withoutPlan(saved))
			continue
		}
		v.hosts = append(v.hosts, h)
		v.rows[h.Name] = saved.Rows
	}
	var lines savedLines
	v.line = lines.line
	v.jobOf = func(_ context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
		j, err := jobOfPlan(plan, m.Name, facts)
		if j != nil {
			j.Registry, j.Plan = registry, path
			lines.add(j)
		}
		return j, err
	}
	err = v.reach(ctx)
	v.hosts = hosts
	if err == nil {
		err = failure(v.exchangeOf(plan))
	}
	if err == nil {
		err = v.latchPlan(ctx, plan, declared)
	}
	return v, err
}

// leave leaves a host alone, and says how it ended with it.
func (v *fleetRun) leave(host string, status fleet.Status, why error) {
	v.untouchedHosts = append(v.untouchedHosts, fleet.Outcome{Machine: host, Status: status, Err: why})
}

// withoutPlan is why nothing is done on a host whose plan fails.
func withoutPlan(h *planfile.FleetHost) error {
	text := "its plan fails, and cannot be carried out"
	if h.Problem != nil {
		text = "there is no plan of it: " + h.Problem.Message
	}
	return newStatus(exitFailed, errors.New(text), "put that right, and plan again")
}

// jobOfPlan is what a saved plan says that a host is to do; nil: nothing. It is refused to a host
// that is another one than it was made for.
func jobOfPlan(plan *planfile.Fleet, host string, facts *machine.Facts) (*machine.Job, error) {
	here, err := savedHost(host, facts)
	if err != nil {
		return nil, err
	}
	one, err := plan.Plan(plan.Index(host))
	if err != nil || one == nil {
		return nil, err
	}
	if why := one.Host.Differs(here); why != "" {
		return nil, newStatus(exitFailed, errors.New("the plan is refused: "+why), "apply it where it was made for, or plan again")
	}
	j := &machine.Job{Run: one.Run, Files: one.Files, Modules: one.Modules, Origin: one.Origin}
	j.Places, j.Line = machine.PlacesOf(one.Places)
	return j, nil
}

// savedLines are the lines that declarations are on, of all hosts.
type savedLines struct {
	mu    sync.Mutex
	lines map[string]string
}

func (l *savedLines) add(j *machine.Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string]string{}
	}
	for _, place := range j.Places {
		l.lines[fmt.Sprint(place.File, ":", place.Start.Line)] = j.Line(place.File, place.Start.Line)
	}
}

func (l *savedLines) line(file string, number int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[fmt.Sprint(file, ":", number)]
}

// plannedHosts are the hosts of a saved plan, as the site that --inventory names says how they
// are reached: all, or those that --limit selects; with all that the site declares, and what the programs of its inventories answer.
func (s *client) plannedHosts(ctx context.Context, plan *planfile.Fleet) (hosts, declared []lang.Host, _ inventoryProgram, _ error) {
	path := s.globals.Inventory
	if path == "" {
		path = "."
		if !lang.IsSite(os.DirFS(path)) {
			return nil, nil, nil, usage("name the site that declares them: -i SITE", "the plan is for %s, and nothing says how they are reached", people(len(plan.Hosts), "host", "hosts"))
		}
	}
	s.secretsHidden = true
	c, err := s.loadBy(ctx, path, s.openInventory)
	if err != nil {
		return nil, nil, nil, err
	}
	c.Target.Inventory = askedOnce(c.Target.Inventory)
	stop := s.limitEvaluation()
	declared, groups, diags := c.Hosts(ctx, c.Target)
	stop()
	if err := s.diagnose(c, diags); err != nil {
		return nil, nil, nil, err
	}
	hosts = slices.DeleteFunc(slices.Clone(declared), func(h lang.Host) bool { return plan.Index(h.Name) < 0 })
	if s.globals.Limit != "" {
		if hosts, err = s.expandExecutions(hosts, groups); err != nil {
			return nil, nil, nil, err
		}
		if len(hosts) == 0 {
			return nil, nil, nil, usage("tenet show --summary FILE lists its hosts", "--limit %s leaves no host of the plan", s.globals.Limit)
		}
		return hosts, declared, c.Target.Inventory, nil
	}
	var missing []string
	for i := range plan.Hosts {
		if name := plan.Hosts[i].Name; !slices.ContainsFunc(hosts, func(h lang.Host) bool { return h.Name == name }) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		noun := "host"
		if len(missing) > 1 {
			noun = "hosts"
		}
		return nil, nil, nil, usage("tenet inspect hosts lists the hosts; -l leaves some of the plan out", "the plan is for %s, and %s declares no such %s",
			namesOf(missing, false), path, noun)
	}
	return hosts, declared, c.Target.Inventory, nil
}
