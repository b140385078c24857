package program

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// findHosts evaluates the hosts, groups and roles of a site with scripts. Where
// these declare some they run for it once, with what is known then.
func (e preparation) findHosts(need bool) {
	scripts := e.site.dir.Scripts
	written := slices.Concat(hostCalls(scripts), scripts.Calls("role"))
	x := newEvaluation(e.ctx, e.site, e.target).preparation()
	if len(written) == 0 {
		x.site = x.site.reparse(&x.list)
		x.decodeRest(nil)
		x.site.resolveRoles()
		x.link(func(l *linker) { l.inventory() })
		x.list = nil // the evaluation for a host says the same
	}
	if len(written) > 0 || len(x.site.hostVariables) > 0 {
		x = newEvaluation(e.ctx, e.site, e.target).preparation()
		x.runScripts(true)
		x.addRoles(scripts.Calls("role"))
	}
	hostReader{x.expressions}.inventory(need)
	e.hosts, e.host = x.hosts, x.host
	e.list.Add(x.list...)
	if !need {
		e.site = x.site
	}
}

// hostCalls gives the calls of the words that are about hosts, roles apart.
func hostCalls(scripts syntax.Scripts) []*syntax.Block {
	var out []*syntax.Block
	for _, word := range hostWords() {
		out = append(out, scripts.Calls(word)...)
	}
	return out
}

func hostWords() []string { return []string{"host", "host_group", "cluster", "inventory", "rollout"} }

// addRoles declares the roles that a script would have declared had it not
// ended before, so that hosts may name them, with the roles that they take in.
func (e preparation) addRoles(calls []*syntax.Block) {
	for _, b := range calls {
		if name, ok := label(b); ok && e.site.roles[name] == nil {
			e.site.roles[name] = &role{name: name, src: b.Header, roles: b.Body.Attribute("roles"), vars: e.writtenVars(b)}
		}
	}
	e.site.resolveRoles() // the run for a host says what is wrong with them
}

// writtenVars gives the vars of a role that did not come to run, which must be written out.
func (e preparation) writtenVars(b *syntax.Block) *syntax.Attribute {
	vars := b.Body.Attribute("vars")
	if vars == nil {
		return nil
	}
	if _, ok := vars.Expr.Expression.(*hclsyntax.LiteralValueExpr); ok {
		return vars
	}
	e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the vars of role %q are computed after what depends on the host itself", b.Labels[0]), Range: rangeOf(vars.Range()),
		Detail: "Hosts are looked for before anything is known about one of them, and they have the vars of their roles.",
		Hint:   "declare the role first, or in a file of its own, or write its vars out"})
	return nil
}

func isUncertain(found []syntax.Script, d diag.Diagnostic) bool {
	return slices.ContainsFunc(found, func(s syntax.Script) bool {
		return slices.ContainsFunc(s.Unknown, func(u diag.Diagnostic) bool { return u.Range == d.Range && u.Summary == d.Summary })
	})
}

// missedHosts gives what is wrong with a blind run: nothing, if it came to all hosts
// and groups; the run for a host says what else is wrong.
func (e preparation) missedHosts(found []syntax.Script, list diag.List) diag.List {
	done := map[diag.Range]bool{}
	stopped := map[string]diag.Diagnostic{}
	for _, s := range found {
		for _, b := range s.Body.Blocks {
			done[rangeOf(b.TypeRange)] = true
		}
		if len(s.Unknown) > 0 {
			stopped[s.Name] = s.Unknown[0]
		}
	}
	var out diag.List
	all := true
	for _, b := range hostCalls(e.site.dir.Scripts) {
		if done[rangeOf(b.TypeRange)] {
			continue
		}
		all = false
		why, ok := stopped[b.TypeRange.Filename]
		if !ok {
			continue // the list has why, or the call is left out by a condition
		}
		out.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s() comes after what depends on the host itself", b.Type), Range: rangeOf(b.TypeRange),
			Detail:  "Hosts are looked for before anything is known about one of them.",
			Hint:    "declare hosts and groups first, or in a file of their own",
			Related: []diag.Related{{Message: why.Summary, Range: why.Range}}})
	}
	if all {
		return nil
	}
	list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return isUncertain(found, d) })
	return append(out, list...)
}

// aboutHosts gives the diagnostics that lie within hosts, groups and roles that
// scripts declare, and those about other files.
func aboutHosts(found []syntax.Script, list diag.List) diag.List {
	scripts := map[string]bool{}
	var spans []diag.Range
	for _, s := range found {
		scripts[s.Name] = true
		for _, b := range s.Body.Blocks {
			if b.Type == "role" || slices.Contains(hostWords(), b.Type) {
				spans = append(spans, rangeOf(b.Body.Src))
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool {
		return scripts[d.Range.File] && !slices.ContainsFunc(spans, func(r diag.Range) bool {
			return r.File == d.Range.File && r.Start.Byte <= d.Range.Start.Byte && d.Range.Start.Byte <= r.End.Byte
		})
	})
}
