package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// factsFrom gives the facts that a host told, and those of --facts in their place.
func (v *fleetRun) factsFrom(told *machine.Facts) (func(name string) (any, error), error) {
	if !v.hasNames { // they are gathered when they are wanted
		h, err := v.newHost()
		if err != nil {
			return nil, err
		}
		here, err := v.client.facts(h)
		if err != nil {
			return nil, err
		}
		return here.Fact, nil
	}
	known := facts.New(nil, nil)
	own := func(name string) (any, error) {
		if !slices.Contains(known.Names(), name) {
			return known.Fact(name) // an error that lists them
		}
		return told.Fact(name)
	}
	if v.globals.Facts == "" {
		return own, nil
	}
	given, err := v.client.facts(nil)
	return func(name string) (any, error) {
		if given.IsGiven(name) {
			return given.Fact(name)
		}
		return own(name)
	}, err
}

// findings are the diagnostics of hosts: what is said of several of them is said once.
type findings struct {
	list   []*finding
	byText map[string]*finding
	hosts  map[string]bool // that were evaluated
}

// finding is a diagnostic, and the hosts that it is about.
type finding struct {
	diag.Diagnostic
	hosts []string
}

// find notes what the evaluation for a host has found.
func (v *fleetRun) find(name string, diags diag.List) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := &v.findings
	if f.hosts == nil {
		f.hosts = map[string]bool{}
	}
	f.hosts[name] = true
	for _, d := range diags {
		text, err := json.Marshal(d)
		if err != nil {
			text = []byte(d.Error())
		}
		one := f.byText[string(text)]
		if one == nil {
			if f.byText == nil {
				f.byText = map[string]*finding{}
			}
			one = &finding{Diagnostic: d}
			f.byText[string(text)] = one
			f.list = append(f.list, one)
		}
		if !slices.Contains(one.hosts, name) { // a host may be evaluated more than once
			one.hosts = append(one.hosts, name)
		}
	}
}

// hostDiagnostic is a diagnostic about hosts, for programs.
type hostDiagnostic struct {
	Type  string   `json:"type"` // "diagnostic"
	Hosts []string `json:"hosts"`
	diag.Diagnostic
}

// showFindings prints the diagnostics of hosts. A line names those hosts, unless it is
// all.
func (v *fleetRun) showFindings() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	order := map[string]int{}
	for i, h := range v.hosts {
		order[h.Name] = i
	}
	byHosts, all := map[string]diag.List{}, []string{}
	e := plainjson.NewEncoder(ui.SafeJSON(v.Err))
	for _, f := range v.findings.list {
		slices.SortFunc(f.hosts, func(a, b string) int { return order[a] - order[b] })
		if v.globals.JSON {
			if err := e.Encode(hostDiagnostic{"diagnostic", f.hosts, f.Diagnostic}); err != nil {
				return failure(unread(err))
			}
			continue
		}
		title := ""
		if len(f.hosts) < len(v.findings.hosts) {
			title = namesOf(f.hosts, v.globals.Verbose) + ":"
		}
		if byHosts[title] == nil {
			all = append(all, title)
		}
		byHosts[title] = append(byHosts[title], f.Diagnostic)
	}
	for _, title := range all {
		if title != "" && !v.shownDiagnostics.wereAllShown(byHosts[title]) {
			fmt.Fprintln(v.Err, ui.Clean(title))
		}
		if err := v.show(byHosts[title].Sorted(), v.source()); err != nil && !byHosts[title].HasErrors() {
			return err
		}
	}
	return nil
}

// siteFailure is failureOf, where it may be the site that is wrong for a host.
func siteFailure(o *fleet.Outcome) *states.Failure {
	list, ok := errors.AsType[diag.List](o.Err)
	if !ok {
		return failureOf(o)
	}
	f := &states.Failure{Code: ui.CodeSite}
	for _, d := range list {
		if d.Severity == diag.Error {
			f.Message, f.Hint, f.Source = d.Summary, d.Hint, d.Range.String()
			break
		}
	}
	return f
}

// exitStatus gives the exit status of what was done on hosts. Codes are further ones.
func (v *fleetRun) exitStatus(outcomes []fleet.Outcome, detailed bool, codes ...int) error {
	if !v.hasNames {
		return v.exitStatusHere(outcomes, detailed, codes...)
	}
	for i := range outcomes {
		o := &outcomes[i]
		codes = append(codes, statusOf(o))
		if o.Result != nil && detailed && o.Result.Counts.Changed > 0 {
			codes = append(codes, exitChanges)
		}
	}
	if v.wasInterrupted() {
		codes = append(codes, exitInterrupted)
	}
	if len(v.brokenHooks) > 0 {
		codes = append(codes, exitFailed)
	}
	if code := worst(codes); code != exitDone {
		return &status{code: code}
	}
	return nil
}

// source gives the text of files that diagnostics may name.
func (v *fleetRun) source() func(file string) ([]byte, bool) {
	if c := cmp.Or(v.site, v.hookSite); c != nil {
		return c.source
	}
	return nil
}

// exitStatusHere is exitStatus for this machine.
func (v *fleetRun) exitStatusHere(outcomes []fleet.Outcome, detailed bool, codes ...int) error {
	if len(outcomes) == 0 { // nobody wanted it
		return nil
	}
	o := &outcomes[0]
	e, refused := errors.AsType[*machine.Error](o.Err)
	switch st, ok := errors.AsType[*status](o.Err); {
	case ok:
		return st
	case refused && e.Code == machine.CodeStale:
		return v.staleHere(e.Differences)
	case (o.Status == fleet.Interrupted || o.Status == fleet.Skipped) && !refused && o.Result == nil:
		return &status{code: exitInterrupted, err: errInterrupted}
	case o.Err != nil:
		return v.ran(o.Err)
	case o.Result != nil:
		if err := exitCode(o.Result, detailed); err != nil {
			return err
		}
	}
	if code := worst(codes); code != exitDone {
		return &status{code: code}
	}
	return nil
}

// staleHere refuses what does not fit this machine any more; what differs was shown.
func (v *fleetRun) staleHere(differences []machine.Difference) error {
	if v.isSavedPlan {
		return staleError(differences, "plan again, or apply what still fits with --partial")
	}
	return newStatus(exitFailed, errors.New("the machine has changed meanwhile, and nothing was applied"), "look at the plan as it is now")
}
