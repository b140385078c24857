package program

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// linker finds what the names in expressions mean. It rewrites "var.a.b" to a
// variable named "var.a" with the rest as it is, and likewise local, data, param,
// each and fact; a reference becomes a variable named like its address. So
// an evaluation provides exactly the values that are used, each under one
// name, however many others there are; and all references have one type.
type linker struct {
	site  *Program
	list  diag.List
	quiet bool // undefined names are not reported
	// arithmetic gives numbers their canonical form.
	arithmetic *expr.Arithmetic
	// secrets are those that expressions name literally.
	secrets          []namedSecret
	visitedTemplates map[string]bool // template files that lint has looked into
	templates        *expr.Files     // those that lint reads
	localsLinked     map[*local]bool
	dataLinked       map[*dataDecl]bool
}

func newLinker(p *Program, quiet bool) *linker {
	return &linker{site: p, quiet: quiet, arithmetic: expr.NewArithmetic(), localsLinked: map[*local]bool{}, dataLinked: map[*dataDecl]bool{}}
}

// scope is where an expression stands.
type scope struct {
	self     *expr.Entry
	has      expr.Roles   // that a host has if it has the expression
	params   *declaration // the state whose params are known; nil: none
	each     bool
	parent   bool // each.parent
	valuesOf string
	hosts    bool // it is evaluated with the hosts: see hostScope
	roles    bool // role.NAME is a role's name
	node     bool // node, path and parent are a node of data
	// result is the module of the part whose conditions may name its result.
	result *states.Module
	// validates is the variable whose conditions these are: they do not use it.
	validates string
}

// program links every expression of the program.
func (l *linker) program() {
	l.values()
	l.references()
}

// values links what gives variables their values.
func (l *linker) values() {
	for _, name := range l.site.variables.Names() {
		for _, v := range l.site.variables.All(name) {
			l.attribute(v.attr, scope{valuesOf: "the default of a variable"})
		}
	}
	for _, f := range l.site.values {
		for _, a := range f.body.Attributes {
			l.attribute(a, scope{valuesOf: "a file of values"})
		}
	}
}

func (l *linker) validations(v *variable) {
	s := l.scopeOf(v.role)
	s.validates = v.Name
	for _, check := range v.validations {
		l.expression(check.condition, s)
		l.expression(check.message, s)
	}
}

// references links what may refer to anything that is declared.
func (l *linker) references() {
	for _, name := range l.site.variables.Names() {
		for _, v := range l.site.variables.All(name) {
			l.validations(v)
		}
	}
	for _, name := range l.site.locals.Names() {
		for _, x := range l.site.locals.All(name) {
			l.local(x)
		}
	}
	for _, name := range l.site.data.Names() {
		for _, x := range l.site.data.All(name) {
			l.data(x)
		}
	}
	for _, name := range l.site.outputs.Names() {
		for _, o := range l.site.outputs.All(name) {
			l.attribute(o.value, l.scopeOf(o.role))
		}
	}
	l.inventory()
	if r := l.site.rollout; r != nil {
		for h := range r.eachHook() {
			l.attribute(h.state, scope{})
		}
	}
	for _, d := range l.site.declarations {
		l.declaration(d)
		for _, other := range d.group {
			if other != d {
				l.declaration(other)
			}
		}
	}
	for _, m := range l.site.moved {
		if !l.site.isMoved(m.to) {
			l.attribute(m.to, scope{})
		}
	}
}

func (l *linker) declaration(d *declaration) {
	before := len(l.list)
	defer func() { addCalls(l.list, before, d.calls) }()
	s := l.scopeOf(d.role)
	l.attribute(d.forEach, s)
	for _, p := range d.params {
		l.attribute(p.attr, s)
	}
	s.each = d.forEach != nil
	l.attributes(s, d.parallel, d.lazy, d.deferred, d.state, d.args, d.ordered, d.recovered,
		d.members.attr, d.rescue.attr, d.always.attr)
	l.options(d.options, d.guards, s)
	if d.rule != nil {
		l.attributes(s, d.rule.attributes()...)
		ofNode := s
		ofNode.node = true
		l.attribute(d.rule.hosts, ofNode)
	}
	inner := s
	if !d.topLevel {
		inner.self, inner.params = d.entry, d
	}
	l.parts(d, inner)
}

// scopeOf is where the declarations of a role stand, or those of the site itself.
func (l *linker) scopeOf(role string) scope { return scope{has: l.site.rolesOf(role)} }

// parts links the parts of a declaration.
func (l *linker) parts(d *declaration, inner scope) {
	for _, p := range d.parts {
		before := len(l.list)
		l.attribute(p.forEach, inner)
		s := inner
		s.parent = inner.each
		s.each = inner.each || p.forEach != nil
		l.options(p.options, p.guards, s)
		for _, a := range p.attributes {
			s.result = nil
			if p.module.Attribute(a.Name).Kind == states.KindCondition {
				s.result = p.module
			}
			l.attribute(a, s)
		}
		addCalls(l.list, before, p.calls)
	}
}

func (l *linker) options(options []option, guards []guard, s scope) {
	for _, o := range options {
		l.attribute(o.attr, s)
	}
	for _, g := range guards {
		l.attributes(s, g.exists, g.missing, g.command, g.wouldChange)
	}
}

func (l *linker) attributes(s scope, list ...*syntax.Attribute) {
	for _, a := range list {
		l.attribute(a, s)
	}
}

func (l *linker) attribute(a *syntax.Attribute, s scope) {
	if a != nil {
		l.expression(a.Expr, s)
	}
}

func (l *linker) expression(e *syntax.Expression, s scope) {
	if literal, ok := e.Expression.(*hclsyntax.LiteralValueExpr); ok && literal.Val.Type() != cty.Number {
		l.lintLiteral(literal)
		e.SameForAllHosts = !literal.Val.ContainsMarked()
		return
	}
	w := &walker{linker: l, scope: s, to: e}
	hclsyntax.Walk(e.Expression, w) // its diagnostics are the walker's: none
	if w.namesHosts {
		e.Expression, w.works = expr.ReplaceHostAttributes(e.Expression, stepInHost), true
	}
	if w.varies && w.asksForHosts && l.site.dir.Scripts == nil {
		e.Expression = expr.Share(e.Expression)
	}
	if e.SameForAllHosts = !w.varies; e.SameForAllHosts && w.works {
		e.Cache = &atomic.Pointer[syntax.CachedValue]{}
	}
}

// walker links one expression.
type walker struct {
	*linker
	scope  scope
	to     *syntax.Expression
	locals []map[string]struct{} // names that for expressions give
	texts  int                   // templates around the node
	// values are the component.NAME that are values, though nothing follows.
	values map[*hclsyntax.ScopeTraversalExpr]bool
	varies bool // see syntax.Expression.Fixed
	works  bool // it calls functions, or goes over something
	// namesHosts says that it may name an attribute of a host.
	namesHosts bool
	// asksForHosts says that it calls hosts().
	asksForHosts bool
}

// Enter rewrites a node before its children are visited.
func (w *walker) Enter(n hclsyntax.Node) hcl2.Diagnostics {
	w.arithmetic.Replace(n)
	if err := expr.TooLarge(n); err != nil {
		w.errorAt(n.Range(), err.Error(), diag.HintOf(err))
	}
	w.lint(n)
	switch n := n.(type) {
	case hclsyntax.ChildScope:
		w.locals = append(w.locals, n.LocalNames)
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr:
		w.texts++
	case *hclsyntax.FunctionCallExpr:
		w.secret(n)
		w.lateCall(n)
		w.asksForHosts = w.asksForHosts || n.Name == "hosts"
		w.works, w.varies = true, w.varies || !expr.IsFixed(n.Name) || expr.AsksForRecords(n)
	case *hclsyntax.LiteralValueExpr:
		w.varies = w.varies || n.Val.ContainsMarked()
	case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
		w.works = true
	case *hclsyntax.IndexExpr:
		if call := w.computedReference(n); call != nil {
			n.Collection = &hclsyntax.TupleConsExpr{Exprs: []hclsyntax.Expression{call}, SrcRange: n.SrcRange}
			n.Key = &hclsyntax.LiteralValueExpr{Val: cty.Zero, SrcRange: n.SrcRange}
		}
	case *hclsyntax.RelativeTraversalExpr:
		w.site.uses.countSteps(n.Traversal)
		w.namesHosts = w.namesHosts || expr.NamesHostAttribute(n.Traversal)
		w.varies = w.varies || expr.VariesByReader(n.Traversal)
		if call := w.computedReference(n); call != nil {
			n.Source, n.Traversal = call, nil
		}
	case *hclsyntax.ScopeTraversalExpr:
		w.traversal(n)
	}
	return nil
}

// Exit leaves the scope of a for expression, or a template.
func (w *walker) Exit(n hclsyntax.Node) hcl2.Diagnostics {
	switch n := n.(type) {
	case *hclsyntax.FunctionCallExpr:
		expr.WrapLists(n)
	case *hclsyntax.IndexExpr:
		_, literal := n.Key.(*hclsyntax.LiteralValueExpr)
		w.to.Indexed = w.to.Indexed || !literal
	case hclsyntax.ChildScope:
		w.locals = w.locals[:len(w.locals)-1]
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr:
		w.texts--
		expr.SpellNumbers(n)
	}
	return nil
}

func (w *walker) isLocal(name string) bool {
	return slices.ContainsFunc(w.locals, func(names map[string]struct{}) bool {
		_, ok := names[name]
		return ok
	})
}

// errorAt reports a mistake, and that the expression has no value.
func (w *walker) errorAt(src hcl2.Range, summary, hint string) {
	w.to.Bad = true
	if !w.quiet {
		w.list.Add(diag.Diagnostic{Summary: summary, Hint: hint, Range: rangeOf(src)})
	}
}

func (w *walker) traversal(n *hclsyntax.ScopeTraversalExpr) {
	root := n.Traversal.RootName()
	w.site.uses.countSteps(n.Traversal)
	w.namesHosts = w.namesHosts || expr.NamesHostAttribute(n.Traversal)
	w.varies = w.varies || expr.VariesByReader(n.Traversal)
	if w.isLocal(root) {
		return
	}
	w.varies = w.varies || root != "local" // that is what the local is
	if len(n.Traversal) > 0 && isLinkerName(root) {
		return
	}
	if w.scope.node && slices.Contains([]string{"node", "path", "parent"}, root) {
		return
	}
	if w.scope.roles && root == "role" {
		w.value(n, root)
		return
	}
	if w.scope.hosts && w.hostValue(n, root) {
		return
	}
	if in := w.scope.valuesOf; in != "" {
		w.errorAt(n.SrcRange, fmt.Sprintf("%s cannot refer to %s", in, root), "write the value itself; functions may be used")
		return
	}
	if root != "var" && root != "local" && root != "data" {
		name, _ := stepName(n.Traversal, 1)
		w.needsLate(strings.TrimSuffix(root+"."+name, "."), n.SrcRange)
	}
	switch root {
	case "var", "local", "data", "param", "each", "fact", "host":
		w.value(n, root)
	default:
		if w.output(n) {
			return
		}
		switch {
		case w.site.names.IsRoot(root):
			w.reference(n)
			return
		case root == "result" && w.scope.result != nil:
			w.ownResult(n)
			return
		}
		w.unknownRoot(n, root)
	}
}

// isLinkerName reports whether a name is one that the linker made.
func isLinkerName(name string) bool { return strings.Contains(name, ".") }
