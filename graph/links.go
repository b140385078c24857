package graph

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// linkNotes resolves notify and listen, which are each other's inverses, and
// their counterparts for failures.
func (p *planner) linkNotes(d *decl) {
	o := &d.Options
	p.notify(d, "", o.Notify, states.OnChange)
	p.notify(d, "", o.NotifyFailure, states.OnFailure)
	p.listen(d, o.Listen, states.OnChange)
	p.listen(d, o.ListenFailure, states.OnFailure)
	for i := range d.Parts {
		part := &d.Parts[i]
		if part.Options.LeftOut {
			continue
		}
		name := part.Address
		if d.TopLevel {
			name = ""
		}
		p.notify(d, name, part.Options.Notify, states.OnChange)
		p.notify(d, name, part.Options.NotifyFailure, states.OnFailure)
		p.listen(d, part.Options.Listen, states.OnChange)
		p.listen(d, part.Options.ListenFailure, states.OnFailure)
	}
}

func (p *planner) notify(d *decl, part string, refs []states.Ref, on string) {
	for _, r := range refs {
		if r.Self || r.Part != "" {
			p.diags.Add(diag.Diagnostic{
				Summary: "a part inside a state is no handler", Range: r.Range,
				Hint: "notify its state, or make the part a state of its own",
			})
			continue
		}
		for _, h := range p.lookup(r) {
			if p.isHandler(h, r.Range) && !p.hasOtherHandler(h, on, r.Range, false) {
				h.lazy = h.lazy || on == states.OnFailure
				d.notes = append(d.notes, note{handler: h, part: part, on: on, at: r.Range})
			}
		}
	}
}

func (p *planner) listen(h *decl, refs []states.Ref, on string) {
	for _, r := range refs {
		if !p.isHandler(h, r.Range) || p.hasOtherHandler(h, on, r.Range, true) {
			continue
		}
		if r.Self {
			p.diags.Add(diag.Diagnostic{
				Summary: "a state cannot listen to its own part", Range: r.Range,
				Hint: "order the parts in the state instead",
			})
			continue
		}
		for _, d := range p.lookup(r) {
			for _, part := range listenedParts(d, r.Part) {
				d.notes = append(d.notes, note{handler: h, part: part, on: on, at: r.Range, heard: true})
			}
		}
	}
}

// listenedParts gives the parts of d, or of the runs of d, that a name means.
func listenedParts(d *decl, name string) []string {
	if name == "" || d.TopLevel {
		return []string{""}
	}
	var parts []string
	for _, owner := range append([]*decl{d}, d.runs...) {
		for _, part := range partsNamed(owner, name) {
			if !slices.Contains(parts, part.Address) {
				parts = append(parts, part.Address)
			}
		}
	}
	return parts
}

// isHandler reports what cannot be notified.
func (p *planner) isHandler(h *decl, at diag.Range) bool {
	var why, hint string
	switch {
	case !h.isState():
		why, hint = "Only a state can be a handler, since a handler may run several times.", "declare a lazy state, and notify that"
	case h.NeedsRun:
		why, hint = "It has a param without a default, so that only a run can invoke it.", "give the param a default"
	default:
		return true
	}
	p.diags.Add(diag.Diagnostic{
		Summary: h.Address + " cannot be notified", Detail: why, Hint: hint, Range: at,
		Related: []diag.Related{{Message: h.Address + " is declared here", Range: h.Range}},
	})
	return false
}

// inheritNotes gives a run what its state notifies as a whole, and what
// listens to the state's parts; what the parts notify themselves it has
// already.
func (d *decl) inheritNotes() {
	if d.state != nil {
		for _, n := range d.state.notes {
			if n.part == "" || n.heard && len(partsNamed(d, n.part)) > 0 {
				d.notes = append(d.notes, n)
			}
		}
	}
	if d.confirms != nil { // a block that is not confirmed has failed
		for _, n := range d.confirms.notes {
			if n.on == states.OnFailure {
				d.notes = append(d.notes, n)
			}
		}
	}
	slices.SortStableFunc(d.notes, func(a, b note) int {
		return cmp.Or(cmp.Compare(a.handler.index, b.handler.index), cmp.Compare(a.part, b.part), cmp.Compare(a.on, b.on))
	})
	d.notes = slices.CompactFunc(d.notes, func(a, b note) bool {
		return a.handler == b.handler && a.part == b.part && a.on == b.on
	})
	d.notes = slices.DeleteFunc(d.notes, func(n note) bool { return n.handler.isOmitted })
}

// linkRequires resolves what must settle before d: its own requirements, those
// of its parts, of the state that it invokes and of the blocks that hold it.
func (p *planner) linkRequires(d *decl) {
	list := p.ownRequires(d)
	if d.state != nil {
		list = append(list, p.refs(d, d.state.Options.Require)...)
		list = append(list, p.resultRequires(d, nil, d.state.Options.Guards)...)
	}
	for i := range d.Parts {
		if part := &d.Parts[i]; !part.Options.LeftOut {
			list = append(list, p.refs(d, part.Options.Require)...)
			list = append(list, p.resultRequires(d, part.Results, part.Options.Guards)...)
		}
	}
	for _, b := range ancestors(d.blocks) {
		for _, r := range p.ownRequires(b) {
			if b.Component {
				r.component = b
			}
			list = append(list, r)
		}
	}
	d.requires = uniqueRequires(list)
}

func (p *planner) ownRequires(d *decl) []require {
	list := append(p.refs(d, d.Options.Require), d.chainRequires...)
	return append(list, p.resultRequires(d, nil, d.Options.Guards)...)
}

// refs resolves requirements of d, but for those on its own parts.
func (p *planner) refs(d *decl, refs []states.Ref) []require {
	var list []require
	for _, r := range refs {
		if isOwnPart(d, r) {
			continue
		}
		for _, to := range p.units(r) {
			list = append(list, require{to: to, at: r.Range})
		}
	}
	return list
}

// isOwnPart reports whether r names a part of the same invocation.
func isOwnPart(d *decl, r states.Ref) bool {
	return r.Self || r.Part != "" && (r.Address == d.Address || d.state != nil && r.Address == d.state.Address)
}

func uniqueRequires(list []require) []require {
	if len(list) < 2 {
		return list
	}
	slices.SortStableFunc(list, func(a, b require) int { return cmp.Compare(a.to.index, b.to.index) })
	return slices.CompactFunc(list, func(a, b require) bool { return a.to == b.to })
}
