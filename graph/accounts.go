package graph

import (
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// holder is a part that sets an account of the host up, or takes it away.
type holder struct {
	final int
	part  *states.PartDeclaration
	takes bool
}

// orderAccounts puts what needs a user or a group of the host behind what sets that up,
// and before what takes it away. An explicit order that contradicts is told: where the
// account is not there yet, the part fails.
func (p *planner) orderAccounts() {
	holders := map[string][]holder{}
	for i, f := range p.finals {
		for part := range f.d.parts() {
			if m := p.registry.ModuleOf(part.Type); m != nil {
				own, _ := m.Accounts(part.Values)
				for _, name := range own {
					holders[name] = append(holders[name], holder{i, part, f.d.ensureOf(part) == states.Absent})
				}
			}
		}
	}
	if len(holders) == 0 {
		return
	}
	warned := map[[2]*states.PartDeclaration]bool{}
	for i, f := range p.finals {
		for part := range f.d.parts() {
			for _, name := range p.needs(f.d, part) {
				for _, h := range holders[name] {
					pair := [2]*states.PartDeclaration{part, h.part}
					if !p.orderHolder(i, part, h) && !warned[pair] {
						warned[pair] = true
						p.warnAccount(f.d, part, name, h)
					}
				}
			}
		}
	}
}

// needs lists the accounts that have to be there for a part. One that is to be absent
// needs only what it is found by.
func (p *planner) needs(d *decl, part *states.PartDeclaration) []string {
	m := p.registry.ModuleOf(part.Type)
	if m == nil {
		return nil
	}
	values := part.Values
	var needed []string
	if m.Needs != nil && d.ensureOf(part) != states.Absent {
		needed = m.Needs(values)
	}
	if d.ensureOf(part) == states.Absent {
		values = map[string]any{}
		for _, name := range m.Keys() {
			values[name] = part.Values[name]
		}
	}
	_, attributes := m.Accounts(values)
	needed = append(needed, attributes...)
	for _, o := range append([]*states.Options{&part.Options}, d.optionSources()...) {
		if o.Become != "" {
			return append(needed, "user "+o.Become) // the nearest counts
		}
	}
	return needed
}

// orderHolder orders a part of final i and the holder of an account that it needs. It
// returns false where the part is to come before what sets the account up.
func (o *outline) orderHolder(i int, part *states.PartDeclaration, h holder) bool {
	switch {
	case h.part == part:
		return true
	case h.takes:
		o.insertAfter(i, h.final)
		return true
	case i != h.final:
		return o.insertAfter(h.final, i)
	}
	d := o.finals[i].d
	ordered := d.isParallel() && len(part.Options.Require) > 0 // by what it says itself
	return ordered || partIndex(d, h.part) < partIndex(d, part)
}

func (p *planner) warnAccount(d *decl, part *states.PartDeclaration, name string, h holder) {
	maker := p.finals[h.final].d
	needs, makes := partAddress(d, d.Address, part), partAddress(maker, maker.Address, h.part)
	p.diags.Add(diag.Diagnostic{
		Severity: diag.Warning,
		Summary:  fmt.Sprintf("%s needs the %s, and comes before %s, which sets it up", needs, name, makes),
		Detail:   "The declared order wins, and where the account is not there yet the part fails.",
		Hint:     fmt.Sprintf("let %s come first, or take away what it requires of the other", makes),
		Range:    part.Range,
		Related:  []diag.Related{{Message: makes + " is declared here", Range: h.part.Range}},
	})
}
