package graph

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// isInvoked reports whether a declaration has an invocation, or is a block.
func (d *decl) isInvoked() bool { return d.base >= 0 || len(d.waves)+len(d.pinNodes) > 0 }

// isIdle reports whether a lazy state could be called, and nothing does.
func (d *decl) isIdle() bool {
	return d.isState() && d.lazy && !d.isOmitted && !d.NeedsRun && len(d.waves)+len(d.pinNodes) == 0
}

// notifies tells what an idle handler notifies, should it run.
func notifies(d *decl) []states.Notification {
	var out []states.Notification
	for _, n := range d.notes {
		note := states.Notification{Address: n.handler.Address, On: n.on}
		if n.part != "" {
			note.Part = d.Address + "." + n.part
		}
		out = append(out, note)
	}
	return out
}

// leftOut lists the parts that are declared and not in the run: those of whole
// declarations, and single parts of declarations that are in it; of acts only those
// that are not selected. A state that has runs is declared by these alone; what a
// block holds, by itself.
func (p *planner) leftOut(inRun func(*decl) bool) []states.Resource {
	var out []states.Resource
	for _, d := range p.decls {
		in := inRun(d)
		if !in && (d.isBlock() && (!d.isOmitted || !d.Component) || len(d.runs) > 0 && !d.lazy) {
			continue
		}
		if !in && (len(d.Parts) == 0 || d.NeedsRun) { // they were not evaluated
			out = append(out, states.Resource{Address: d.Address})
			continue
		}
		for i := range d.Parts {
			part := &d.Parts[i]
			m := p.registry.ModuleOf(part.Type)
			if in && !part.Options.LeftOut || m == nil || m.IsAct() && !p.isUnselected(d, part) {
				continue
			}
			out = append(out, states.Resource{Type: part.Type, Key: part.Key, Address: partAddress(d, d.Address, part)})
		}
	}
	slices.SortFunc(out, func(a, b states.Resource) int { return cmp.Compare(a.Address, b.Address) })
	return out
}

// isUnselected reports whether a part that is not in the run would be, but for the
// selection.
func (p *planner) isUnselected(d *decl, part *states.PartDeclaration) bool {
	return !part.Options.LeftOut && (d.isInvoked() || d.isIdle())
}

// isLeftOut reports whether the selection leaves out a lazy state that nothing in
// it invokes: targets and tags all that they do not name, exclusions what they
// name and what requires that.
func (x *selector) isLeftOut(d *decl) bool {
	if len(x.selection.Targets)+len(x.selection.Tags) > 0 && !d.hasTag(x.selection.Tags) {
		return true
	}
	return x.isDropped(d, map[*decl]bool{})
}

func (x *selector) isDropped(d *decl, seen map[*decl]bool) bool {
	if x.dropped[d] {
		return true
	}
	if seen[d] {
		return false
	}
	seen[d] = true
	if slices.Contains(x.excludes, d.Address) || slices.Contains(x.excludes, d.Base) {
		return true
	}
	for _, b := range ancestors(d.blocks) {
		if slices.Contains(x.excludes, b.Address) || slices.Contains(x.excludes, b.Base) {
			return true
		}
	}
	return slices.ContainsFunc(effectiveRequires(d.requires), func(r require) bool { return x.isDropped(r.to, seen) })
}
