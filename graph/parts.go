package graph

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// checkParts looks at what parts of one state require of each other, and at
// what guards name.
func (p *planner) checkParts(d *decl) {
	p.checkGuards(&d.Options)
	links := make([][]link, len(d.Parts))
	for i := range d.Parts {
		part := &d.Parts[i]
		p.checkGuards(&part.Options)
		p.checkAbsent(d, part)
		p.checkPresent(d, part)
		for _, r := range part.Options.Require {
			links[i] = append(links[i], p.ownLinks(d, part, r, "requires")...)
		}
		for _, r := range part.Options.Follows {
			links[i] = append(links[i], p.ownLinks(d, part, r, "follows")...)
		}
	}
	p.checkResults(d, links)
	if d.isParallel() {
		p.reportCycles("requirements", links, sortLinks(links).cyclic, func(i int) (string, diag.Range) {
			return partAddress(d, d.Address, &d.Parts[i]), d.Parts[i].Range
		})
	}
}

// ownLinks gives the parts of d that come before one of its parts, and reports what cannot.
func (p *planner) ownLinks(d *decl, part *states.PartDeclaration, r states.Ref, verb string) []link {
	if !isOwnPart(d, r) {
		return nil
	}
	found := partsNamed(d, r.Part)
	if len(found) == 0 {
		p.diags.Add(diag.Diagnostic{
			Summary: fmt.Sprintf("%s has no part %s", d.Address, r.Part), Range: r.Range,
			Hint: suggest(r.Part, partNames(d)),
		})
	}
	var links []link
	for _, other := range found {
		k := partIndex(d, other)
		if k > partIndex(d, part) && !d.isParallel() {
			p.reportOrder(d, part, other, verb, r.Range)
		}
		links = append(links, link{to: k, verb: verb, at: r.Range})
	}
	return links
}

// checkAbsent reports a part that inherits an absence that its type does not
// know.
func (p *planner) checkAbsent(d *decl, part *states.PartDeclaration) {
	m := p.registry.ModuleOf(part.Type)
	if m == nil || m.NoAbsent == "" || part.Options.LeftOut || d.ensureOf(part) != states.Absent {
		return
	}
	p.diags.Add(diag.Diagnostic{
		Summary: fmt.Sprintf("a %s cannot be absent", part.Type), Detail: m.NoAbsent, Range: part.Range,
		Hint: `give the part ensure = "present", or take ensure = "absent" from what holds it`,
	})
}

// checkPresent reports what a part that is to be there needs. Where it is not known whether
// it is to be there, or what it was given, that is another mistake.
func (p *planner) checkPresent(d *decl, part *states.PartDeclaration) {
	m := p.registry.ModuleOf(part.Type)
	if m == nil || part.Options.LeftOut || d.Options.LeftOut || d.ensureOf(part) == states.Absent || p.isDoubtful || part.Options.Doubtful {
		return
	}
	for _, a := range m.Attributes {
		if a.Present && part.Values[a.Name] == nil && part.Results[a.Name] == nil && !slices.Contains(part.Unknown, a.Name) {
			p.reportAlways(diag.Diagnostic{
				Summary: fmt.Sprintf("%s needs the attribute %q", part.Type, a.Name), Detail: a.Doc, Range: part.Range,
				Hint: fmt.Sprintf("add it: %s = …", a.Name),
			})
		}
	}
}

// reportAlways reports what is wrong whatever else is.
func (p *planner) reportAlways(d diag.Diagnostic) {
	p.diags.Add(d)
	p.always.Add(d)
}

func (p *planner) checkGuards(o *states.Options) {
	for _, g := range o.Guards {
		for _, r := range g.WouldChange {
			p.units(r)
		}
	}
}

func (d *decl) isParallel() bool { return d.Parallel || d.state != nil && d.state.Parallel }

func partIndex(d *decl, part *states.PartDeclaration) int {
	for i := range d.Parts {
		if &d.Parts[i] == part {
			return i
		}
	}
	return -1
}

// reportOrder reports a part that requires or follows one behind it, in a state whose parts
// run in order.
func (p *planner) reportOrder(d *decl, part, other *states.PartDeclaration, verb string, at diag.Range) {
	p.diags.Add(diag.Diagnostic{
		Summary: fmt.Sprintf("%s %s %s, which runs after it", part.Address, verb, other.Address), Range: at,
		Detail:  fmt.Sprintf("The parts of %s run in the order of their declaration.", d.Address),
		Hint:    fmt.Sprintf("declare %s first, or mark the state with parallel = true", other.Address),
		Related: []diag.Related{{Message: other.Address + " is declared here", Range: other.Range}},
	})
}
