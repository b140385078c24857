package testcase

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/states"
)

func keys(list []item) []string {
	out := []string{}
	for _, i := range list {
		out = append(out, i.key)
	}
	return out
}

// compare compares two plain values; texts of several lines line by line.
func (r *caseRun) compare(what string, want, got any, at diag.Range) {
	a, b := printable(want), printable(got)
	if a == b && (want == nil) == (got == nil) {
		return
	}
	f := Failure{Message: what + " is another", Expected: a, Got: b, Range: at}
	if strings.Contains(strings.TrimSuffix(a, "\n"), "\n") || strings.Contains(strings.TrimSuffix(b, "\n"), "\n") {
		f.Diff = runtime.Diff(a, b)
	}
	r.fail(f)
}

// compareLists compares lists whose order counts.
func (r *caseRun) compareLists(message string, want, got []string, at diag.Range) {
	if slices.Equal(want, got) {
		return
	}
	lines := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return strings.Join(list, "\n") + "\n"
	}
	r.fail(Failure{Message: message, Expected: lines(want), Got: lines(got), Diff: runtime.Diff(lines(want), lines(got)), Range: at})
}

// checkPlan compares a plan with what is expected of it.
func (r *caseRun) checkPlan(planned *story) {
	want := r.expectation(untilPlan)
	for _, i := range the[[]item](want, "rows") {
		r.compareRow(planned, i, "the plan's row of ", row)
	}
	if list, ok := get[[]item](want, "changes"); ok {
		for _, i := range list {
			r.compareRow(planned, i, "the plan's row of ", row)
		}
		for _, address := range planned.order {
			ev := planned.ends[address]
			if acts(ev) && !slices.Contains(keys(list), address) {
				r.fail(Failure{Message: "the plan has a further change: " + address, Expected: "no row", Got: row(ev) + because(ev),
					Range: want.fields["changes"].at})
			}
		}
	}
	r.golden(want, func(name string) ([]byte, error) { return goldenPlan(name, planned) })
}

// compareRow compares what is said of one part.
func (r *caseRun) compareRow(s *story, want item, what string, say func(states.Event) string) {
	ev, there := s.ends[want.key]
	if !there {
		r.fail(Failure{Message: "there is no part " + want.key, Expected: printable(want.value), Hint: nearest(want.key, s.order), Range: want.at})
		return
	}
	if said := say(ev); said != want.value {
		r.fail(Failure{Message: what + want.key + " is another", Expected: printable(want.value), Got: said + because(ev), Range: want.at})
	}
}

// because adds the reason that an event gives.
func because(ev states.Event) string {
	switch {
	case ev.Error != nil:
		return ": " + ev.Error.Message
	case ev.Reason != "":
		return ": " + ev.Reason
	}
	return ""
}

func outcome(ev states.Event) string { return string(ev.Outcome) }

// checkApply compares an apply with what is expected of it.
func (r *caseRun) checkApply(applied *story) {
	want := r.expectation(untilApply)
	outcomes, failures := the[[]item](want, "outcomes"), the[[]item](want, "failures")
	for _, i := range outcomes {
		r.compareRow(applied, i, "the outcome of ", outcome)
	}
	if list, ok := get[[]item](want, "changed"); ok {
		var changed []string
		for _, address := range applied.order {
			if applied.ends[address].Outcome == states.Changed {
				changed = append(changed, address)
			}
		}
		r.compareLists("other parts have changed", slices.Sorted(slices.Values(keys(list))), slices.Sorted(slices.Values(changed)),
			want.fields["changed"].at)
	}
	for _, i := range failures {
		r.checkFailure(applied, i)
	}
	for _, address := range applied.order {
		ev := applied.ends[address]
		if failedOutcome(ev) && !slices.Contains(keys(outcomes), address) && !slices.Contains(keys(failures), address) {
			r.fail(unexpectedFailure(ev))
		}
	}
}

// checkFailure holds a part to fail with a message.
func (r *caseRun) checkFailure(applied *story, want item) {
	ev, there := applied.ends[want.key]
	p := want.value.(*regexp.Regexp)
	switch {
	case !there:
		r.fail(Failure{Message: "there is no part " + want.key, Hint: nearest(want.key, applied.order), Range: want.at})
	case ev.Error == nil:
		r.fail(Failure{Message: want.key + " was to fail", Expected: p.String(), Got: outcome(ev) + because(ev), Range: want.at})
	case !p.MatchString(ev.Error.Message):
		r.fail(Failure{Message: want.key + " failed for another reason", Expected: p.String(), Got: ev.Error.Message, Range: want.at})
	}
}

// unexpectedFailure is the failure of a part of which no one expects it.
func unexpectedFailure(ev states.Event) Failure {
	f := Failure{Message: ev.Address + " failed", Got: outcome(ev) + because(ev)}
	if e := ev.Error; e != nil {
		f.Hint = e.Hint
		if e.Source != "" {
			f.Got += "\nat " + e.Source
		}
		switch {
		case strings.Contains(e.Message, "no answer for ["):
			f.Hint = "say what it answers, with a block command in the case's machine"
		case strings.Contains(e.Message, "there is no program"):
			f.Hint = `give the machine the program: command "NAME" { … }`
		case strings.Contains(e.Message, "offer no package named"):
			f.Hint = `offer it: package "NAME" { available = ["1.0"] } in the case's machine`
		case strings.Contains(e.Message, "no unit named"):
			f.Hint = `describe it: service "NAME" {} in the case's machine, or services = ["NAME"] in the package that brings it`
		}
	}
	return f
}

// checkForetold holds the apply to do what the plan was certain of: to change
// what it said, to the last attribute, and nothing that it said would stay. What
// follows a failure may be otherwise.
func (r *caseRun) checkForetold(planned, applied *story) {
	open := false
	for _, address := range applied.order {
		did, said := applied.ends[address], planned.ends[address]
		certain := said.Certain == nil || *said.Certain
		switch {
		case failedOutcome(did):
			open = true
		case certain && acts(said) && !open && did.Outcome != states.Changed:
			r.fail(Failure{Message: "the apply does not do what the plan was certain of: " + address,
				Expected: row(said), Got: outcome(did) + because(did), Hint: engineFault})
		case certain && !acts(said) && !open && did.Outcome == states.Changed:
			r.fail(Failure{Message: "the apply does what the plan did not foretell: " + address,
				Expected: row(said) + because(said), Got: outcome(did) + changesText(did), Hint: engineFault})
		case certain && acts(said) && !open && changesText(said) != changesText(did):
			r.fail(Failure{Message: "the apply changes other attributes than the plan foretold: " + address,
				Expected: changesText(said), Got: changesText(did), Hint: engineFault})
		}
	}
}

const engineFault = "this is a fault of a module, or of the simulated machine"

// changesText writes changes without their diffs, which only plans have of new
// files.
func changesText(ev states.Event) string {
	var out strings.Builder
	for _, c := range ev.Changes {
		fmt.Fprintf(&out, "\n%s: %s → %s", c.Attribute, printable(c.From), printable(c.To))
	}
	return out.String()
}
