package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

// next says whether all is well on the machine, and else what to do. Empty: whoever
// applies now is to be awaited.
func (now shownStatus) next() (advice []string) {
	if now.Applying != nil {
		return nil
	}
	if now.Hold != nil {
		advice = append(advice, "tenet unhold lets applies start again")
	}
	for i := range now.Loops {
		if now.Loops[i].Phase == reconcile.Help {
			advice = append(advice, "mend what has failed, or change the site; tenet retry has it tried again at once")
			break
		}
	}
	if now.Status.Status == nil {
		return advice
	}
	if now.State == journal.Rebooting {
		return append(advice, "nothing: the run goes on by itself once the machine has started anew")
	}
	var sites []string
	for site := range now.Failures {
		sites = append(sites, site)
	}
	for _, d := range now.Owed {
		sites = append(sites, d.Site)
	}
	for _, b := range now.Unknown {
		sites = append(sites, b.Site)
	}
	for _, u := range now.Unconfirmed {
		sites = append(sites, u.Site)
	}
	slices.Sort(sites)
	for _, site := range slices.Compact(sites) {
		run, place := now.Failures[site], ""
		if run != nil && run.Site != "" && run.Origin != "" {
			place = " (" + run.Origin + ")"
		}
		followed := now.followedAt(run)
		switch {
		case followed != nil && followed.Late:
			advice = append(advice, "tenet watch --yes "+followed.Address+" goes on: it does what is left")
		case followed != nil:
			advice = append(advice, "nothing, if tenet watch runs: it goes on with "+followed.Address+"; else start it: tenet watch --yes "+followed.Address)
		case site == adHoc:
			advice = append(advice, "do it again, as it was given on the command line")
		case run != nil && run.GoesOn:
			advice = append(advice, fmt.Sprintf("apply %s%s again: that does what is left; or go on with its run: tenet apply --resume %s", site, place, run.Run))
		default:
			advice = append(advice, "apply "+site+place+" again: that does what is left")
		}
	}
	if advice == nil && now.State != journal.Done { // it did not get as far as saying what it is of
		advice = append(advice, "apply its site again")
	}
	if advice == nil && now.Report != nil && !now.Report.Ready {
		advice = append(advice, "see what is not in its target, above")
	}
	if advice == nil && len(now.Damaged) == 0 {
		advice = append(advice, "nothing is left to do")
	}
	return advice
}

// siteLabel tells which site a run is of, and where that lies.
func (now shownStatus) siteLabel() string {
	text := cmp.Or(now.Site, now.Origin)
	if now.Site != "" && now.Origin != "" {
		text += "  (" + now.Origin + ")"
	}
	if now.Root != "" {
		text += "  below " + now.Root
	}
	return text
}

// nothingYet says that there is nothing to look at, and where it has been sought.
func (s *client) nothingYet() error {
	dir, err := s.stateDir()
	if err != nil {
		return err
	}
	hint := ""
	if os.Geteuid() != 0 && s.globals.StateDir == "" && s.globals.Root == "" {
		hint = "what root has applied only root can see"
	}
	if executions, err := s.executions(); err == nil {
		if list, _ := executions.List(); len(list) > 0 {
			hint = "tenet status " + list[len(list)-1].ID + " asks the hosts of the last execution, and tenet history lists all"
		}
	}
	return newStatus(exitFailed, fmt.Errorf("nothing has been applied yet to this machine: no run is recorded in %s", dir), hint)
}
