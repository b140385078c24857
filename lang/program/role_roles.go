package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// takenRole is a role that another one takes in.
type takenRole struct {
	name string
	at   diag.Range
}

// resolveRoles finds out which roles each role takes in, directly or not, and what is wrong with that.
func (p *Program) resolveRoles() diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(p.roles)) {
		p.roles[name].readTaken(p.roles, &list)
	}
	order := slices.SortedFunc(maps.Values(p.roles), func(a, b *role) int { return comparePlaces(rangeOf(a.src), rangeOf(b.src)) })
	done := map[string]bool{}
	for _, r := range order {
		p.listTaken(r, nil, done, &list)
	}
	p.roleConflicts = map[nameConflict]bool{}
	for _, r := range order {
		if len(r.taken) == 0 {
			continue
		}
		for _, c := range p.conflicts(r.has) {
			if !p.roleConflicts[c] {
				p.roleConflicts[c] = true
				list.Add(c.diagnostic(fmt.Sprintf("the role %q", r.name), "keep one of the two, or give one of them another name"))
			}
		}
	}
	return list
}

// comparePlaces orders places by their files and positions.
func comparePlaces(a, b diag.Range) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start.Byte, b.Start.Byte))
}

// readTaken reads the attribute roles, which is literal: it is known before anything else.
func (r *role) readTaken(known map[string]*role, list *diag.List) {
	r.taken = nil
	if r.roles == nil {
		return
	}
	const hint = `write the names of roles: roles = ["NAME"]`
	wrong := func(at diag.Range, hint, summary string, args ...any) {
		list.Add(diag.Diagnostic{Summary: "roles: " + fmt.Sprintf(summary, args...), Hint: hint, Range: at})
	}
	take := func(name string, at diag.Range) {
		if known[name] == nil {
			names := slices.Sorted(maps.Keys(known))
			wrong(at, cmp.Or(diag.DidYouMean(name, names), diag.Choices(names)), "there is no role %q", name)
			return
		}
		r.taken = append(r.taken, takenRole{name, at})
	}
	elements := []hclsyntax.Expression{r.roles.Expr.Expression}
	tuple, isList := elements[0].(*hclsyntax.TupleConsExpr)
	if isList {
		elements = tuple.Exprs
	}
	for _, x := range elements {
		at := rangeOf(x.Range())
		if t, ok := x.(*hclsyntax.ScopeTraversalExpr); ok && isList && len(t.Traversal) == 2 && t.Traversal.RootName() == "role" {
			if name, ok := stepName(t.Traversal, 1); ok {
				take(name, at)
				continue
			}
		}
		v, diags := x.Value(nil)
		if diags.HasErrors() {
			wrong(at, hint, "they cannot be computed: they are known before anything else")
			continue
		}
		if isList {
			if name, err := expr.Text(v); err != nil {
				wrong(at, hint, "%v", err)
			} else {
				take(name, at)
			}
			continue
		}
		names, err := expr.Texts(v)
		if err != nil && !v.IsNull() {
			wrong(at, hint, "%v", err)
		}
		for _, name := range names {
			take(name, at)
		}
	}
}

// listTaken lists the roles that a role takes in, each once, those that others take in before them, and
// itself last. path are those that take it in, outermost first.
func (p *Program) listTaken(r *role, path []*role, done map[string]bool, list *diag.List) {
	if done[r.name] {
		return
	}
	r.all = nil
	path = append(path, r)
	have := map[string]bool{r.name: true}
	for _, t := range r.taken {
		inner := p.roles[t.name]
		if i := slices.Index(path, inner); i >= 0 {
			list.Add(roleCycle(path[i:], t))
			continue
		}
		p.listTaken(inner, path, done, list)
		for _, name := range inner.all {
			if !have[name] {
				have[name] = true
				r.all = append(r.all, name)
			}
		}
	}
	r.all = append(r.all, r.name)
	r.has, done[r.name] = expr.NewRoles(r.all), true
}

func roleCycle(roles []*role, last takenRole) diag.Diagnostic {
	names := make([]string, 0, len(roles)+1)
	d := diag.Diagnostic{Range: last.at, Hint: "take what both need into a third role, which both take in"}
	if len(roles) == 1 {
		d.Hint = "leave it out: a role has what it declares itself"
	}
	for i, r := range roles {
		names = append(names, r.name)
		if i < len(roles)-1 {
			next := r.taken[slices.IndexFunc(r.taken, func(t takenRole) bool { return t.name == roles[i+1].name })]
			d.Related = append(d.Related, diag.Related{Message: fmt.Sprintf("%s takes in %s here", r.name, next.name), Range: next.at})
		}
	}
	d.Summary = "roles take each other in: " + strings.Join(append(names, last.name), " → ")
	return d
}

// withTaken adds to roles those that they take in, before them, each once.
func (p *Program) withTaken(names []string) []string {
	if !slices.ContainsFunc(names, func(name string) bool { return len(p.roles[name].all) > 1 }) {
		return names
	}
	var out []string
	have := map[string]bool{}
	for _, name := range names {
		for _, one := range p.roles[name].all {
			if !have[one] {
				have[one] = true
				out = append(out, one)
			}
		}
	}
	return out
}
