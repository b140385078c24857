package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
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
	byStage := map[string][]string{}
	var stages []fleet.Batch
	for _, b := range batches {
		if _, known := byStage[b.Stage]; !known {
			stages = append(stages, b)
		}
		byStage[b.Stage] = slices.Concat(byStage[b.Stage], slices.DeleteFunc(slices.Clone(b.Machines), func(name string) bool { return !busy[name] }))
	}
	for _, b := range stages {
		around := byStage[b.Stage]
		if len(around) == 0 {
			continue
		}
		add := func(kind fleet.HookKind, hooks []lang.Hook) {
			for _, h := range hooks {
				list = append(list, fleet.RecordHook{Kind: kind, Stage: b.Stage, State: h.State, Params: h.Params, Hosts: h.Hosts, Batch: around, Status: fleet.HookPlanned})
			}
		}
		add(fleet.BeforeEach, b.Before)
		add(fleet.AfterEach, b.After)
	}
	return list, nil
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
		fmt.Fprintf(&out, "  %-11s  %s\n", h.Kind, ui.Line(ui.HookWhat(h)))
	}
	return v.print(strings.TrimSuffix(out.String(), "\n"))
}
