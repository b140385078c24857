package program

import (
	"fmt"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

const hostsHint = "hosts are known before anything about one of them: use locals, variables and functions that need no fact, no result, no secret and not hosts()"

// inventory links hosts, groups, the rollout and the variables of roles: see hostScope.
func (l *linker) inventory() {
	for _, r := range l.site.roles {
		s := hostScope("the vars of a role")
		s.has = l.site.rolesOf(r.name)
		l.attribute(r.vars, s)
	}
	link := func(s scope, r *reach, more ...*syntax.Attribute) {
		l.attributes(s, append(more, r.port, r.user, r.executor, r.become, r.becomeMethod, r.sshOptions, r.runnerCache, r.window, r.reconcile, r.vars)...)
		s.roles = true
		l.attribute(r.roles, s)
	}
	for _, h := range l.site.hosts {
		s := hostScope("a host")
		l.attribute(h.forEach, s)
		s.each = h.forEach != nil
		link(s, &h.reach, h.hostName, h.address, h.labels)
	}
	for _, g := range l.site.groups {
		more := []*syntax.Attribute{g.hosts, g.labels, g.priority}
		if c := g.cluster; c != nil {
			more = append(more, c.leader, c.together, c.ensure)
		}
		link(hostScope("a "+g.kind()), &g.reach, more...)
	}
	for _, i := range l.site.inventories {
		l.attributes(scope{valuesOf: "an inventory"}, i.command, i.ansible, i.opendut)
	}
	if r := l.site.rollout; r != nil {
		s := hostScope("a rollout")
		l.attributes(s, r.batch, r.maxFailures, r.pause, r.order)
		for _, stage := range r.stages {
			l.attributes(s, stage.hosts, stage.batch, stage.maxFailures)
		}
		for h := range r.eachHook() {
			l.attributes(s, h.hosts, h.params)
		}
	}
}

// hostScope is that of what is evaluated together with the hosts, before anything is known
// about one of them.
func hostScope(what string) scope { return scope{valuesOf: what, hosts: true} }

// local links the expression of a local, once.
func (l *linker) local(x *local) {
	if !l.localsLinked[x] {
		l.localsLinked[x] = true
		l.expression(x.expr, l.scopeOf(x.role))
	}
}

// data links the expressions of data, once.
func (l *linker) data(x *dataDecl) {
	if l.dataLinked[x] {
		return
	}
	l.dataLinked[x] = true
	before := len(l.list)
	defer func() { addCalls(l.list, before, x.calls) }()
	l.attributes(l.scopeOf(x.role), x.attributes()...)
}

// hostValue links a value that hosts may use; false: they may not.
func (w *walker) hostValue(n *hclsyntax.ScopeTraversalExpr, root string) bool {
	switch root {
	case "var", "local", "data", "each":
	default:
		what := root
		if name, ok := stepName(n.Traversal, 1); ok {
			what += "." + name
		}
		w.errorAt(n.SrcRange, fmt.Sprintf("%s cannot refer to %s", w.scope.valuesOf, what), hostsHint)
		return true
	}
	name, _ := stepName(n.Traversal, 1)
	w.value(n, root)
	if !isLinkerName(n.Traversal.RootName()) {
		return true // a mistake, which is reported
	}
	found := &lateFinder{linker: w.linker, visited: map[string]bool{}}
	found.need(root, name)
	if found.isOfRoles(w.scope.has) {
		w.errorAt(n.SrcRange, fmt.Sprintf("%s cannot use %s.%s, which depends on what roles declare", w.scope.valuesOf, root, name),
			"hosts are known before their roles: declare what is needed here at top level")
		return true
	}
	if found.late != nil {
		w.errorAt(n.SrcRange, fmt.Sprintf("%s cannot use %s.%s, which needs %s", w.scope.valuesOf, root, name, found.late.What), hostsHint)
		w.relate(diag.Related{Message: found.late.What + " is needed here", Range: rangeOf(found.late.Src)})
		return true
	}
	for _, name := range found.variables {
		if _, known := w.site.hostVariables[name]; !known {
			if w.site.hostVariables == nil {
				w.site.hostVariables = map[string]hcl2.Range{}
			}
			w.site.hostVariables[name] = n.SrcRange
		}
	}
	return true
}

// isOfRoles reports whether any of the names that were looked into is declared by roles alone, other than
// these, or by several.
func (f *lateFinder) isOfRoles(except expr.Roles) bool {
	for key := range f.visited {
		var owners []string
		switch root, name, _ := strings.Cut(key, "."); root {
		case "local":
			owners = f.site.locals.Owners(name)
		case "data":
			owners = f.site.data.Owners(name)
		case "var":
			owners = f.site.variables.Owners(name)
		}
		if len(owners) > 1 || len(owners) == 1 && !except.Has(owners[0]) {
			return true
		}
	}
	return false
}

// relate adds a place to the last diagnostic.
func (w *walker) relate(r diag.Related) {
	if !w.quiet {
		last := &w.list[len(w.list)-1]
		last.Related = append(last.Related, r)
	}
}

// needsLate notes that the expression needs something which hosts may not use.
func (w *walker) needsLate(what string, src hcl2.Range) {
	if w.to.Late == nil {
		w.to.Late = &syntax.Late{What: what, Src: src}
	}
}

// lateCall notes calls of functions that hosts may not use, and reports hosts() where they call it
// themselves: none are known yet. A secret may be one of their vars.
func (w *walker) lateCall(n *hclsyntax.FunctionCallExpr) {
	switch n.Name {
	case "hosts", "secret":
		if w.scope.hosts && n.Name == "hosts" {
			w.errorAt(n.NameRange, w.scope.valuesOf+" cannot call hosts()", hostsHint)
			return
		}
		w.needsLate(n.Name+"()", n.NameRange)
	case expr.RefFunction:
		w.needsLate("a reference", n.NameRange)
	}
}

// lateFinder looks through variables, locals and data for what hosts may not use.
type lateFinder struct {
	*linker
	visited   map[string]bool
	late      *syntax.Late
	variables []string // that are needed
}

func (f *lateFinder) need(root, name string) {
	key := root + "." + name
	if f.visited[key] || f.late != nil {
		return
	}
	f.visited[key] = true
	switch root {
	case "local":
		for _, x := range f.site.locals.All(name) {
			f.local(x)
			f.lookInto(x.expr)
		}
	case "data":
		for _, x := range f.site.data.All(name) {
			f.data(x)
			for _, a := range x.attributes() {
				f.lookInto(a.Expr)
			}
		}
	case "var":
		f.variables = append(f.variables, name)
		for _, v := range f.site.variables.All(name) {
			if v.attr != nil {
				f.lookInto(v.attr.Expr)
			}
		}
		for _, file := range f.site.values {
			if a := file.body.Attribute(name); a != nil {
				f.lookInto(a.Expr)
			}
		}
	}
}

func (f *lateFinder) lookInto(x *syntax.Expression) {
	if f.late == nil {
		f.late = x.Late
	}
	for _, n := range x.Needs {
		f.need(n.Kind, n.Name)
	}
}
