package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
)

// planAndSaveAll shows the plans of several hosts, and saves them in one file: also those that
// fail, which can be looked at.
func (v *fleetRun) planAndSaveAll(ctx context.Context, path, out string, rollout *lang.Rollout) ([]fleet.Outcome, error) {
	whole := planfile.Fleet{Program: version(), Created: time.Now(), Site: v.name, Origin: v.origin, Rollout: rollout, Files: v.site.Files()}
	for _, m := range v.site.ModuleFiles() {
		whole.Modules = append(whole.Modules, machine.Modules(m))
	}
	w := planfile.NewFleetWriter(whole, v.site.Registry())
	var mu sync.Mutex
	var wrong error // the first
	prepared := 0
	jobOf := v.jobOf
	v.jobOf = func(ctx context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
		here, err := savedHost(m.Name, facts)
		if err != nil {
			return nil, err
		}
		j, err := jobOf(ctx, m, facts)
		if err != nil || j == nil {
			return nil, err
		}
		err = w.Prepare(here, j.Run, j.Sources())
		mu.Lock()
		defer mu.Unlock()
		prepared++
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("%s: %w", m.Name, err)
		}
		return j, nil
	}
	outcomes, err := v.plan(ctx)
	switch {
	case err != nil:
		return nil, err
	case v.wasInterrupted():
		return nil, &status{code: exitInterrupted, err: errors.New("interrupted: the plan is not saved")}
	case prepared == 0:
		return outcomes, errors.Join(v.exitStatus(outcomes, false), errors.New("the plan is not saved, since there is none of any host"))
	}
	failed := 0
	for i := range outcomes {
		h := v.savedOutcome(&outcomes[i])
		if h.HasFailed() {
			failed++
		}
		if err := w.Add(h); err != nil && wrong == nil {
			wrong = err
		}
	}
	return outcomes, v.saveAll(ctx, w, path, out, failed, wrong)
}

// savedOutcome is how planning has ended on a host, for the file.
func (v *fleetRun) savedOutcome(o *fleet.Outcome) planfile.FleetHost {
	h := planfile.FleetHost{Host: planfile.Host{Name: o.Machine}, Status: string(o.Status), Problem: siteFailure(o), Rows: v.events[o.Machine]}
	if o.Result != nil {
		h.Counts = o.Result.Counts
		h.Outputs = planfile.FleetOutputs{Given: v.givenTo(o.Machine), Gives: o.Result.Outputs}
	}
	return h
}

// saveAll writes the file, unless something is wrong with it.
func (v *fleetRun) saveAll(ctx context.Context, w *planfile.FleetWriter, path, out string, failed int, wrong error) error {
	keys, err := v.readers(ctx, v.site, w.IsSecret(), path)
	if err != nil {
		return err
	}
	var data []byte
	if wrong == nil {
		data, wrong = w.Bytes(keys)
	}
	if err := v.writePlan(ctx, out, data, wrong); err != nil {
		return err
	}
	text := "The plans are saved; to carry them out: tenet apply -i " + path + " " + out
	switch {
	case failed == len(v.hosts):
		text = "The plans are saved to be looked at: tenet show " + out + ". They fail, and cannot be carried out."
	case failed > 0:
		text += " (but for " + people(failed, "host", "hosts") + " whose plan fails)"
	}
	v.notePlan(text)
	if failed < len(v.hosts) && v.runsHooks(v.rollout) {
		hooks := "Hooks of the rollout run when they are carried out, by the site as it is at that time."
		if v.globals.giveValues() {
			hooks += " Give apply the same --var, --var-file and --data."
		}
		v.notePlan(hooks)
	}
	return nil
}
