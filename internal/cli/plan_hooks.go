package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
)

// plannedHooks are those that an apply would run around batches with something to do, with the
// hosts that have it: by their plans, or since they had failed before.
func (v *fleetRun) plannedHooks(outcomes []fleet.Outcome) (list []fleet.RecordHook, err error) {
	if !v.rollout.HasHooks() {
		return nil, nil
	}
	busy := map[string]bool{}
	var names []string
	for _, o := range outcomes {
		names = append(names, o.Machine)
	}
	if v.failedBefore, err = v.failedHosts(names); err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		busy[o.Machine] = o.Result != nil && (o.Result.Counts.Changed > 0 || o.Result.Failed) || o.Status == fleet.Done && v.failedBefore[o.Machine]
	}
	r := *v.rollout
	r.Order = "" // each stage has the same hosts in any order
	batches, err := fleet.Batches(&r, 0, names)
	if err != nil {
		return nil, nil // an apply tells
	}
	var groups [][]fleet.RecordHook // of batches of one stage around which the same runs on the same hosts
	for _, b := range batches {
		around := slices.DeleteFunc(slices.Clone(b.Machines), func(name string) bool { return !busy[name] })
		if len(around) == 0 || len(b.Before)+len(b.After) == 0 {
			continue
		}
		if v.isAnyOrder(b) {
			b.Machines = nil // no hook is known to leave one out
		}
		hooks := b.RecordHooks(fleet.HookPlanned)
		i := slices.IndexFunc(groups, func(g []fleet.RecordHook) bool {
			return g[0].Stage == b.Stage && slices.EqualFunc(g, hooks, func(a, b fleet.RecordHook) bool { return slices.Equal(a.Hosts, b.Hosts) })
		})
		if i < 0 {
			i, groups = len(groups), append(groups, hooks)
			for k := range hooks {
				hooks[k].Batch = nil
			}
		}
		for k := range groups[i] {
			groups[i][k].Batch = append(groups[i][k].Batch, around...)
		}
	}
	return slices.Concat(groups...), nil
}

// isAnyOrder reports whether nobody knows before with which others of its stage a host is in a batch.
func (v *fleetRun) isAnyOrder(b fleet.Batch) bool {
	return v.rollout.Order == langsite.OrderShuffle && b.Of > 1 && b.Of < b.Total
}

// showPlannedHooks names the hooks that an apply would run.
func (v *fleetRun) showPlannedHooks(list []fleet.RecordHook) error {
	if v.globals.JSON {
		for _, h := range list {
			if err := v.printLine(ui.NewHookLine(h, nil)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 || v.globals.Quiet || v.summary {
		return nil
	}
	var out strings.Builder
	title := ""
	for _, h := range list {
		now := "around each batch with something to do"
		if h.Stage != "" {
			now = fmt.Sprintf("around each batch of stage %s with something to do", h.Stage)
		}
		if now = fmt.Sprintf("%s, of %s:", now, namesOf(h.Batch, v.globals.Verbose)); now != title {
			title = now
			fmt.Fprintln(&out, ui.Line(title))
			if failed := slices.DeleteFunc(slices.Clone(h.Batch), func(name string) bool { return !v.failedBefore[name] }); len(failed) > 0 {
				fmt.Fprintln(&out, ui.Line(fmt.Sprintf("  failed the last time, so that hooks run whatever is to be done: %s", namesOf(failed, v.globals.Verbose))))
			}
		}
		what := ui.HookWhat(h)
		if v.rollout.Order == langsite.OrderShuffle && slices.ContainsFunc(h.Hosts, v.isMember) {
			what += ", but not on those of the batch"
		}
		fmt.Fprintf(&out, "  %-11s  %s\n", h.Kind, ui.Line(what))
	}
	return v.print(strings.TrimSuffix(out.String(), "\n"))
}
