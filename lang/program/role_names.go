package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
)

// ownVariables gives the variables of the host that is evaluated, sorted by name.
func (e *expressions) ownVariables() []*variable {
	names := e.site.variables.Names()
	list := make([]*variable, 0, len(names))
	for _, name := range names {
		if v, has := e.site.variables.Of(name, e.hostRoles()); has {
			list = append(list, v)
		}
	}
	return list
}

// declarationOf gives the declaration of a base that the host has, or one of those that it does
// not have.
func (e *expressions) declarationOf(base string) *declaration {
	if d, has := e.site.byBase.Of(base, e.hostRoles()); has {
		return d
	}
	return e.site.byBase.First(base)
}

// ownDeclarations gives the declarations of the host. Those that it does not have are among them,
// one of each base, so that references to them mean nothing, and are not wrong.
func (e *evaluator) ownDeclarations() []*declaration {
	if !e.site.byBase.AnyShared() {
		return e.site.declarations
	}
	if e.own == nil {
		for _, d := range e.site.declarations {
			if !e.site.byBase.IsShared(d.base) || e.declarationOf(d.base) == d {
				e.own = append(e.own, d)
			}
		}
	}
	return e.own
}

// ownerError says that only roles that the host does not have declare a variable, a local or data; nil if
// that is not so.
func (e *expressions) ownerError(kind, name string) error {
	var owners []string
	switch kind {
	case "var":
		owners = e.site.variables.Owners(name)
	case "local":
		owners = e.site.locals.Owners(name)
	case "data":
		owners = e.site.data.Owners(name)
	}
	if len(owners) == 0 || slices.ContainsFunc(owners, e.hostRoles().Has) {
		return nil
	}
	which := "the role"
	if len(owners) > 1 {
		which = "the roles"
	}
	return &diag.HintError{Message: fmt.Sprintf("the host %q has no %s.%s: only %s %s", e.target.Host, kind, name, which, declareOrDeclares(owners)),
		Hint: "give the host such a role, declare it at top level, or name it only in what these roles declare"}
}

// declareOrDeclares lists roles with their verb.
func declareOrDeclares(roles []string) string {
	if len(roles) == 1 {
		return fmt.Sprintf("%q declares it", roles[0])
	}
	return fmt.Sprintf("%s and %q declare it", quotedList(roles[:len(roles)-1]), roles[len(roles)-1])
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, ", ")
}

// nameConflict is a name of which those who have two roles have two.
type nameConflict struct {
	name          string
	first, second conflicting
}

// conflicting is one of the two.
type conflicting struct {
	role string
	at   diag.Range
}

// conflicts finds the names of which those who have the roles have two.
func (p *Program) conflicts(roles expr.Roles) []nameConflict {
	var out []nameConflict
	for _, pair := range p.byBase.Conflicts(roles) {
		out = append(out, nameConflict{pair[0].base, conflicting{pair[0].role, rangeOf(pair[0].src)}, conflicting{pair[1].role, rangeOf(pair[1].src)}})
	}
	for _, pair := range p.variables.Conflicts(roles) {
		out = append(out, nameConflict{"var." + pair[0].Name, conflicting{pair[0].role, pair[0].Range}, conflicting{pair[1].role, pair[1].Range}})
	}
	for _, pair := range p.locals.Conflicts(roles) {
		out = append(out, nameConflict{"local." + pair[0].name, conflicting{pair[0].role, rangeOf(pair[0].src)}, conflicting{pair[1].role, rangeOf(pair[1].src)}})
	}
	for _, pair := range p.data.Conflicts(roles) {
		out = append(out, nameConflict{"data." + pair[0].name, conflicting{pair[0].role, rangeOf(pair[0].src)}, conflicting{pair[1].role, rangeOf(pair[1].src)}})
	}
	for _, pair := range p.outputs.Conflicts(roles) {
		out = append(out, nameConflict{"output." + pair[0].Name, conflicting{pair[0].role, pair[0].Range}, conflicting{pair[1].role, pair[1].Range}})
	}
	for i, c := range out {
		if comparePlaces(c.first.at, c.second.at) > 0 {
			out[i].first, out[i].second = c.second, c.first
		}
	}
	return out
}

// reportTwice reports the names of which the host that is evaluated has two.
func (e *expressions) reportTwice() {
	switch {
	case e.host != nil:
		e.list.Add(e.site.CheckNames([]site.Host{e.host.Host})...)
	case len(e.hosts.entries) == 0 && !e.hosts.incomplete:
		for _, c := range e.site.conflicts(expr.AllRoles()) {
			if e.site.roleConflicts[c] {
				continue
			}
			e.list.Add(c.diagnostic("a machine without a host block has all roles, and so", "declare hosts, each with its roles; or give one of them another name"))
		}
	}
}

// CheckNames reports the names of which hosts of the site have two, for the first such host, as far as
// they are declared without a script. An evaluation says the same of its host.
func (p *Program) CheckNames(hosts []site.Host) diag.List {
	var list diag.List
	known := map[string]bool{} // sets of roles
	reported := map[nameConflict]bool{}
	for _, h := range hosts {
		key := strings.Join(h.Roles, " ")
		if known[key] {
			continue
		}
		known[key] = true
		for _, c := range p.conflicts(expr.NewRoles(h.Roles)) {
			if reported[c] || p.roleConflicts[c] {
				continue
			}
			reported[c] = true
			d := c.diagnostic(fmt.Sprintf("the host %q", h.Name),
				"move it into a role of its own that both take in, with roles = [\"NAME\"]; or give one of them another name")
			if !h.Range.IsZero() {
				d.Related = append(d.Related, diag.Related{Message: "the host is declared here", Range: h.Range})
			}
			list.Add(d)
		}
	}
	return list.Sorted()
}

func (c nameConflict) diagnostic(who, hint string) diag.Diagnostic {
	return diag.Diagnostic{Summary: fmt.Sprintf("%s has two of %s: the roles %q and %q both declare it", who, c.name, c.first.role, c.second.role),
		Hint: hint, Range: c.second.at, Related: []diag.Related{{Message: "first declared here", Range: c.first.at}}}
}
