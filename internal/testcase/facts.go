package testcase

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host/facts"
)

// hostFacts gives facts of hosts that the site names. Machines of the case tell theirs; other hosts
// do not answer, and are known for what the case says.
func (r *caseRun) hostFacts(_ context.Context, wanted []lang.HostFact) map[lang.HostFact]lang.HostFactValue {
	answers := map[lang.HostFact]lang.HostFactValue{}
	for _, w := range wanted {
		var a lang.HostFactValue
		a.Value, a.Err = r.hostFact(w)
		answers[w] = a
	}
	return answers
}

func (r *caseRun) hostFact(w lang.HostFact) (any, error) {
	if of := r.factsOf(w.Host); of != nil {
		return of.Fact(w.Name)
	}
	known := facts.New(nil, nil)
	if !slices.Contains(known.Names(), w.Name) {
		return known.Fact(w.Name) // an error that lists them
	}
	hint := fmt.Sprintf("give %s a machine: machine %q { … }", w.Host, w.Host)
	if w.IsNow {
		return nil, &diag.HintError{Message: "it does not answer", Hint: hint}
	}
	of, _ := the[map[string]any](r.c.block, "hosts")[w.Host].(map[string]any)
	told, _ := of["facts"].(map[string]any)
	value, ok := told[w.Name]
	if !ok {
		return nil, &diag.HintError{Message: "the case does not say it",
			Hint: fmt.Sprintf("%s; or say what it has told: hosts = { %s = { facts = { %s = … } } }", hint, w.Host, w.Name)}
	}
	return value, nil
}

// factsOf gives the facts of a machine; nil: the host has none.
func (r *caseRun) factsOf(host string) *facts.Facts {
	switch {
	case r.peers != nil:
		return r.peers(host)
	case host == r.hostName:
		return r.facts
	}
	return nil
}

// unknownFacts reports facts of hosts that there are not.
func (r *caseRun) unknownFacts() (list diag.List) {
	all, names := the[map[string]any](r.c.block, "hosts"), facts.New(nil, nil).Names()
	for _, host := range slices.Sorted(maps.Keys(all)) {
		told, _ := all[host].(map[string]any)["facts"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(told)) {
			if !slices.Contains(names, name) {
				list.Add(diag.Diagnostic{Summary: fmt.Sprintf("there is no fact %q", name), Range: r.c.block.fields["hosts"].at, Hint: nearest(name, names)})
			}
		}
	}
	return list
}
