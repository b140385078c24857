package graph

import (
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// hasOtherHandler reports a part that is notified of changes, though it is another type that
// reacts to them: a service that runs stays as it is, and a restart restarts it.
func (p *planner) hasOtherHandler(h *decl, on string, at diag.Range, listens bool) bool {
	if !h.TopLevel || len(h.Parts) == 0 || on != states.OnChange {
		return false
	}
	part := &h.Parts[0]
	m := p.registry.ModuleOf(part.Type)
	if m == nil || m.HandlerType == "" || p.registry.ModuleOf(m.HandlerType) == nil {
		return false
	}
	hint := fmt.Sprintf("write notify = [%s], and declare the handler: %s %q {}", states.LabelAddress(m.HandlerType, part.Key), m.HandlerType, part.Key)
	if listens {
		hint = fmt.Sprintf("let a handler listen: %s %q { listen = […] }", m.HandlerType, part.Key)
	}
	p.diags.Add(diag.Diagnostic{
		Summary: fmt.Sprintf("%s is no handler", h.Address), Range: at, Hint: hint,
		Detail:  fmt.Sprintf("A %s that is in its condition already stays as it is; a %s acts whenever it is notified.", part.Type, m.HandlerType),
		Related: []diag.Related{{Message: h.Address + " is declared here", Range: h.Range}},
	})
	return true
}

// warnEager warns of states that are notified, and that run by themselves, too, though
// nothing says that they should: they are handlers, most likely.
func (p *planner) warnEager() {
	notified, required := map[*decl]note{}, map[*decl]bool{}
	for _, d := range p.decls {
		for _, n := range d.notes {
			if _, known := notified[n.handler]; !known {
				notified[n.handler] = n
			}
		}
		for _, r := range d.requires {
			required[r.to] = true
		}
	}
	seen := map[string]bool{}
	for _, h := range p.decls {
		n, is := notified[h]
		if !is || h.lazy || required[h] || len(h.runs) > 0 || seen[h.Base] {
			continue
		}
		seen[h.Base] = true
		hint := "if it is to run only when it is notified, add lazy = true"
		if !h.TopLevel {
			hint = "if it is to run only when it is notified, write handler in the place of state"
		}
		p.diags.Add(diag.Diagnostic{
			Severity: diag.Warning, Summary: fmt.Sprintf("%s is notified, and runs without that, too", h.Base), Range: h.Range, Hint: hint,
			Detail:  "It is not lazy: every apply runs it once by itself, and again if something notifies it after that.",
			Related: []diag.Related{{Message: "it is notified here", Range: n.at}},
		})
	}
}
