package program

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

// rolloutDecl is rollout { … }.
type rolloutDecl struct {
	src                              hcl2.Range
	batch, maxFailures, pause, order *syntax.Attribute
	stages                           []*stageDecl
	hooks                            hookDecls
}

// stageDecl is stage "NAME" { … }.
type stageDecl struct {
	name                      string
	src                       hcl2.Range
	hosts, batch, maxFailures *syntax.Attribute
	hooks                     hookDecls
}

func (d *decoder) rollout(b *syntax.Block) {
	d.check(b.Body, d.shapes.Rollout, nil)
	if first := d.site.rollout; first != nil {
		d.list.Add(diag.Diagnostic{Summary: "the rollout is described twice", Range: rangeOf(b.Header), Hint: "join the two rollout blocks",
			Related: []diag.Related{{Message: "first described here", Range: rangeOf(first.src)}}})
		return
	}
	a := b.Body.Attribute
	r := &rolloutDecl{src: b.Header, batch: a("batch"), maxFailures: a("max_failures"), pause: a("pause"), order: a("order"), hooks: d.hooks(b.Body)}
	d.site.rollout = r
	for _, sub := range b.Body.Blocks {
		if sub.Type != "stage" {
			continue
		}
		d.check(sub.Body, d.shapes.Stage, nil)
		if !d.identifier(sub) {
			continue
		}
		a := sub.Body.Attribute
		s := &stageDecl{name: sub.Labels[0], src: sub.Header, hosts: a("hosts"), batch: a("batch"), maxFailures: a("max_failures"), hooks: d.hooks(sub.Body)}
		if i := slices.IndexFunc(r.stages, func(first *stageDecl) bool { return first.name == s.name }); i >= 0 {
			d.duplicate("the stage "+s.name, sub.Header, rangeOf(r.stages[i].src))
			continue
		}
		if s.hosts == nil {
			d.errorAt(sub.Header, `add hosts = "db*" or hosts = ["@db", "!db3"]`, "the stage %s names no hosts", s.name)
			continue
		}
		r.stages = append(r.stages, s)
	}
}

// evaluateRollout evaluates the site's rollout, nil where it has none. What is said about
// other hosts than the one that is evaluated is said for all of them.
func (e hostReader) evaluateRollout() *site.Rollout {
	d := e.site.rollout
	if d == nil {
		return nil
	}
	if len(e.site.hosts) == 0 && len(e.site.inventories) == 0 {
		e.errorAt(d.src, "declare hosts: host \"NAME\" { … }", "the site declares a rollout, but no hosts")
		return nil
	}
	r := &site.Rollout{Range: rangeOf(d.src), Order: site.OrderInventory}
	r.Batch, r.MaxFailures = e.batch(d.batch), e.maxFailures(d.maxFailures)
	if v, ok := e.attribute(d.pause, e.root); ok {
		pause, err := expr.Duration(v)
		if err != nil {
			e.wrongValue(d.pause, err, "")
		}
		r.Pause = pause
	}
	if text, ok := e.singleText(d.order, e.root); ok {
		if !slices.Contains(site.Orders(), text) {
			e.wrongValue(d.order, fmt.Errorf("%q is no order of hosts", text), cmp.Or(diag.DidYouMean(text, site.Orders()), `write "inventory" or "shuffle"`))
		}
		r.Order = text
	}
	r.BeforeEach, r.AfterEach = e.evaluateHooks(d.hooks.before), e.evaluateHooks(d.hooks.after)
	stageOf := map[string]*stageDecl{}
	for _, sd := range d.stages {
		s := site.Stage{Name: sd.name, Range: rangeOf(sd.src), Batch: e.batch(sd.batch), MaxFailures: e.maxFailures(sd.maxFailures)}
		if sd.batch == nil {
			s.Batch = r.Batch
		}
		s.BeforeEach, s.AfterEach = r.BeforeEach, r.AfterEach
		if len(sd.hooks.before) > 0 {
			s.BeforeEach = e.evaluateHooks(sd.hooks.before)
		}
		if len(sd.hooks.after) > 0 {
			s.AfterEach = e.evaluateHooks(sd.hooks.after)
		}
		var twice []string
		for _, h := range e.stageHosts(sd) {
			if stageOf[h.Name] != nil {
				twice = append(twice, h.Name)
				continue
			}
			stageOf[h.Name] = sd
			s.Hosts = append(s.Hosts, h.Name)
		}
		if len(twice) > 0 {
			first := stageOf[twice[0]]
			e.list.Add(diag.Diagnostic{Severity: diag.Warning, Range: rangeOf(sd.hosts.Range()),
				Summary: fmt.Sprintf("the stage %s has hosts of an earlier one: %s", sd.name, strings.Join(twice, ", ")),
				Detail:  "A host takes its turn in the first stage that names it.", Hint: fmt.Sprintf("leave it out: \"!%s\"", twice[0]),
				Related: []diag.Related{{Message: fmt.Sprintf("the stage %s is here", first.name), Range: rangeOf(first.src)}}})
		}
		r.Stages = append(r.Stages, s)
	}
	return r
}

func (e hostReader) batch(a *syntax.Attribute) []site.Amount {
	v, ok := e.attribute(a, e.root)
	if !ok {
		return nil
	}
	amounts, err := expr.Batch(v)
	if err != nil {
		e.wrongValue(a, err, "")
	}
	return amounts
}

func (e hostReader) maxFailures(a *syntax.Attribute) *site.Amount {
	v, ok := e.attribute(a, e.root)
	if !ok {
		return nil
	}
	amount, err := expr.MaxFailures(v)
	if err != nil {
		e.wrongValue(a, err, "")
	}
	return amount
}

// stageHosts gives the hosts that a stage names.
func (e hostReader) stageHosts(d *stageDecl) (found []site.Host) {
	all := e.hosts.list()
	p, _, right := e.pattern(d.hosts, all)
	if !right || e.hosts.incomplete {
		return nil // who fits is not known
	}
	for _, h := range all {
		if p.Matches(h.Name, h.Groups) {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		e.wrongValue(d.hosts, fmt.Errorf("the stage %s has no hosts: none of the site fits", d.name), "tenet inspect hosts lists the hosts and their groups")
	}
	return found
}

// Rollout gives the site's rollout for the hosts that are meant, nil for all: its
// stages hold no others, and those without one are left out. It is nil where the site
// has none.
func (p *Program) Rollout(ctx context.Context, t expr.Target, hosts []site.Host) (*site.Rollout, diag.List) {
	e := newEvaluation(ctx, p, t)
	e.preparation().takeInventory()
	r, list := e.hosts.rollout, onlyErrors(e.findings()) // Hosts has warned
	if r == nil || hosts == nil {
		return r, list
	}
	out := *r
	out.Stages = nil
	for _, s := range r.Stages {
		s.Hosts = slices.DeleteFunc(slices.Clone(s.Hosts), func(name string) bool {
			return !slices.ContainsFunc(hosts, func(h site.Host) bool { return h.Name == name })
		})
		if len(s.Hosts) > 0 {
			out.Stages = append(out.Stages, s)
		}
	}
	return &out, list
}
