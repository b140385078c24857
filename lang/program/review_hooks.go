package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// idleHooks warns of hooks that never run in an apply of all hosts: since all their hosts belong to the only batch
// that they are around, and what is worked on runs no hooks; or since there is no batch that they are around.
func (e *evaluator) idleHooks(hosts []site.Host) (list diag.List) {
	r, d := e.hosts.rollout, e.site.rollout
	if r == nil || d == nil {
		return nil
	}
	around := map[diag.Range][][]string{} // by hook, the hosts of each stage
	batches := map[diag.Range]int{}
	add := func(hooks []site.Hook, sizes []site.Amount, members []string) {
		for _, h := range hooks {
			if len(members) > 0 {
				around[h.Range] = append(around[h.Range], members)
				batches[h.Range]++
			}
			if len(sizes) > 0 && sizes[0].BatchSize(len(members)) < len(members) {
				batches[h.Range]++ // or more
			}
		}
	}
	var staged []string
	for i, s := range r.Stages {
		if d.stages[i].batch != nil && s.Batch == nil || d.batch != nil && s.Batch == nil {
			return nil // it is not known, or wrong
		}
		staged = append(staged, s.Hosts...)
		add(s.BeforeEach, s.Batch, s.Hosts)
		add(s.AfterEach, s.Batch, s.Hosts)
	}
	if d.batch != nil && r.Batch == nil {
		return nil
	}
	var rest []string
	for _, h := range hosts {
		if !slices.Contains(staged, h.Name) {
			rest = append(rest, h.Name)
		}
	}
	add(r.BeforeEach, r.Batch, rest)
	add(r.AfterEach, r.Batch, rest)
	for _, h := range e.hosts.hooks {
		at := rangeOf(h.decl.src)
		isOutside := func(name string) bool { return !slices.Contains(around[at][0], name) }
		switch {
		case batches[at] == 0:
			list.Add(diag.Diagnostic{Severity: diag.Warning, Range: at, Summary: h.decl.word + " runs nowhere: no batch has it around it",
				Detail: "Every stage has one of its own, and every host is in a stage.", Hint: "leave it out, or take those of the stages out"})
		case batches[at] == 1 && len(h.hosts) > 0 && !slices.ContainsFunc(h.hosts, isOutside):
			list.Add(diag.Diagnostic{Severity: diag.Warning, Range: at,
				Summary: fmt.Sprintf("%s runs nowhere in an apply of all hosts: those that it names (%s) are in the only batch", h.decl.word, strings.Join(h.hosts, ", ")),
				Detail:  "A hook runs on no host of the batch that it is around.",
				Hint:    "put it into a stage of the other hosts: stage \"web\" { hosts = \"@web\" … }; or add batch = 1"})
		}
	}
	return list
}
