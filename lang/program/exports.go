package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// exports are the values that exported variables have on each host, by the usual precedence.
// They are looked for when they are named first. Evaluations for several hosts may share them.
type exports struct {
	hosts map[string]*hostEntry
	// given gives an exported variable of those who have the roles, and its values that are the same
	// for all of them; false: there is none.
	given func(name string, roles expr.Roles) (v *variable, values []expr.Assignment, ok bool)
	// computed reports a default that a script computes: another host may have another one.
	computed func(name string) bool
	names    func() []string

	mu     sync.Mutex
	values map[[2]string]export // by host and variable
}

type export struct {
	value cty.Value
	err   error
}

// value gives a variable of a host.
func (x *exports) value(host, name string) (cty.Value, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := [2]string{host, name}
	known, ok := x.values[key]
	if !ok {
		known.value, known.err = x.find(host, name)
		x.values[key] = known
	}
	return known.value, known.err
}

func (x *exports) find(host, name string) (cty.Value, error) {
	entry := x.hosts[host]
	if entry == nil {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the site does not declare the host %q", host), Hint: "tenet inspect hosts lists them"}
	}
	v, given, ok := x.given(name, entry.has)
	if v == nil && slices.Contains(x.names(), name) {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the host %q has no var.%s: only roles that it does not have declare it", host, name),
			Hint: "name hosts that have such a role, or declare the variable at top level"}
	}
	if !ok && v != nil {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("var.%s is not exported to other hosts", name), Hint: "add export = true where it is declared"}
	}
	if !ok {
		names := x.names()
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("there is no exported variable %q", name),
			Hint: cmp.Or(diag.DidYouMean(name, names), diag.Choices(names), fmt.Sprintf("export it: variable %q { export = true }", name))}
	}
	given = slices.Clone(given)
	for _, l := range entry.levels {
		for _, i := range l.items {
			if i.name == name {
				given = append(given, expr.Assignment{Level: l.level, Value: i.value, Range: rangeOf(i.valueRange)})
			}
		}
	}
	order := levels()
	slices.SortStableFunc(given, func(a, b expr.Assignment) int {
		return cmp.Compare(slices.Index(order, a.Level), slices.Index(order, b.Level))
	})
	if x.computed(name) && slices.ContainsFunc(given, func(a expr.Assignment) bool { return a.Level == expr.LevelDefault }) &&
		(v.Merge || given[len(given)-1].Level == expr.LevelDefault) {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the default of var.%s is computed, and may be another one on %s", name, host),
			Hint: "write a value as it is, or give it one in vars.hcl"}
	}
	if !allKnown(given) {
		return cty.DynamicVal, nil // why has been reported
	}
	value, wrong := v.Resolve(given)
	switch {
	case wrong != nil && len(given) == 0:
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("var.%s has no value on %s", name, host),
			Hint: "give it a default, or give that host a value"}
	case wrong != nil:
		return cty.DynamicVal, *wrong
	}
	if _, sensitive := expr.Split(value); sensitive {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the value that var.%s has on %s is sensitive, and not exported", name, host),
			Hint: "what is secret reaches each host by itself: secret(\"NAME\")"}
	}
	return value, nil
}

// all gives all exported variables of a host, as an object.
func (x *exports) all(host string) (cty.Value, error) {
	values := map[string]cty.Value{}
	for _, name := range x.names() {
		if entry := x.hosts[host]; entry != nil {
			if _, _, has := x.given(name, entry.has); !has {
				continue // it is a variable of other roles
			}
		}
		v, err := x.value(host, name)
		if err != nil {
			return cty.DynamicVal, err
		}
		values[name] = v
	}
	return cty.ObjectVal(values), nil
}

// exported lists the exported variables, sorted.
func (p *Program) exported() []string {
	return slices.DeleteFunc(p.variables.Names(), func(name string) bool { return !slices.ContainsFunc(p.variables.All(name), (*variable).isExported) })
}

// isExported reports whether other hosts may read it.
func (v *variable) isExported() bool { return v.Export && !v.Sensitive }

// exportOf gives the exported variable that those who have the roles have under a name, and its values
// that are not a host's: common are those but for the default.
func (p *Program) exportOf(name string, roles expr.Roles, common func(name string) []expr.Assignment, byDefault func(*variable) []expr.Assignment) (*variable, []expr.Assignment, bool) {
	v, has := p.variables.Of(name, roles)
	if !has || !v.isExported() {
		return v, nil, false
	}
	return v, slices.Concat(byDefault(v), common(name)), true
}

// commonValues gives the values of a variable that all hosts have which have it, but for its default.
func (e *variableValues) commonValues(name string) []expr.Assignment {
	return slices.DeleteFunc(slices.Clone(e.assignments[name]), func(a expr.Assignment) bool { return isOfHost(a.Level) || a.Level == expr.LevelDefault })
}

// defaultValue gives the default of a variable, be it of this host or of another one.
func (e *variableValues) defaultValue(v *variable) []expr.Assignment {
	if v.attr == nil {
		return nil
	}
	if own, has := e.site.variables.Of(v.Name, e.hostRoles()); has && own == v {
		return slices.DeleteFunc(slices.Clone(e.assignments[v.Name]), func(a expr.Assignment) bool { return a.Level != expr.LevelDefault })
	}
	return []expr.Assignment{{Level: expr.LevelDefault, Value: e.value(v.attr.Expr, e.root), Range: rangeOf(v.attr.Range())}}
}

// isOfHost reports whether a level's values are those of some hosts.
func isOfHost(level string) bool {
	return level == expr.LevelRole || level == expr.LevelGroup || level == expr.LevelHost
}

// findExports makes exported variables known, once all values are that hosts have in common.
// Evaluations in which these are the same share what is found.
func (e *variableValues) findExports() {
	names := e.site.exported()
	if e.prefix != "" || len(names) == 0 {
		return
	}
	given, shared := map[string][]expr.Assignment{}, true
	defaultKey := func(v *variable) string { return v.Name + " of " + v.role }
	for _, name := range names {
		given[name] = e.commonValues(name)
		for _, v := range e.site.variables.All(name) {
			given[defaultKey(v)] = e.defaultValue(v)
		}
	}
	for _, values := range given {
		shared = shared && !slices.ContainsFunc(values, func(a expr.Assignment) bool { return !a.Value.IsWhollyKnown() || a.Value.ContainsMarked() })
	}
	site := e.site
	make := func() *exports {
		return e.newExports(func() []string { return names }, func(name string, roles expr.Roles) (*variable, []expr.Assignment, bool) {
			return site.exportOf(name, roles, func(name string) []expr.Assignment { return given[name] }, func(v *variable) []expr.Assignment { return given[defaultKey(v)] })
		})
	}
	if !shared || e.hosts.lists == nil {
		e.exports = make()
		return
	}
	e.exports = e.site.inventoryCache.exportsFor(e.hosts.lists, given, make)
}

// scriptExports makes exported variables known while scripts still declare some.
func (e *variableValues) scriptExports() *exports {
	literal := map[string]bool{}
	for _, b := range e.site.dir.Scripts.Calls("variable") {
		if name, ok := label(b); ok {
			a := b.Body.Attribute("default")
			_, is := literalOf(a)
			before, known := literal[name]
			literal[name] = (a == nil || is) && (before || !known)
		}
	}
	x := e.newExports(func() []string { return e.site.exported() }, func(name string, roles expr.Roles) (*variable, []expr.Assignment, bool) {
		return e.site.exportOf(name, roles, e.commonValues, e.defaultValue)
	})
	x.computed = func(name string) bool { return e.site.variables.First(name).byScript && !literal[name] }
	return x
}

// literalOf gives the value of an attribute that is written as it is.
func literalOf(a *syntax.Attribute) (cty.Value, bool) {
	if a == nil {
		return cty.DynamicVal, false
	}
	literal, ok := a.Expr.Expression.(*hclsyntax.LiteralValueExpr)
	if !ok || !literal.Val.IsWhollyKnown() {
		return cty.DynamicVal, false
	}
	return literal.Val, true
}

func (e *variableValues) newExports(names func() []string, given func(string, expr.Roles) (*variable, []expr.Assignment, bool)) *exports {
	x := &exports{hosts: map[string]*hostEntry{}, names: names, given: given, values: map[[2]string]export{},
		computed: func(string) bool { return false }}
	for _, h := range e.hosts.entries {
		x.hosts[h.Name] = h
	}
	return x
}

// cachedExports are exports as an evaluation has found them.
type cachedExports struct {
	lists *expr.HostLists
	given map[string][]expr.Assignment
	*exports
}

// exportsFor gives what is exported where hosts, and the values that they have in common, are
// the same.
func (c *inventoryCache) exportsFor(lists *expr.HostLists, given map[string][]expr.Assignment, make func() *exports) *exports {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exports.lists != lists || !maps.EqualFunc(c.exports.given, given, sameAssignments) {
		c.exports = cachedExports{lists, given, make()}
	}
	return c.exports.exports
}

func sameAssignments(a, b []expr.Assignment) bool {
	return slices.EqualFunc(a, b, func(a, b expr.Assignment) bool { return a.Level == b.Level && a.Value.RawEquals(b.Value) })
}

// hostAttribute gives what an expression names of a host.
func (e *expressions) hostAttribute(want expr.HostAttribute) (cty.Value, error) {
	switch want.Attribute {
	case "outputs":
		return e.hostOutput(want)
	case "facts":
		return e.hostFact(want)
	}
	if e.exports == nil {
		if len(e.top.site.exported()) > 0 {
			return cty.DynamicVal, &diag.HintError{Message: "exports of hosts are not known here: variables are given their values first",
				Hint: "use a local, which is computed where it is used"}
		}
		return cty.DynamicVal, &diag.HintError{Message: "the site exports no variable", Hint: "export it: variable \"NAME\" { export = true }"}
	}
	if want.Name == "" {
		return e.exports.all(want.Host)
	}
	return e.exports.value(want.Host, want.Name)
}

// stepInHost says at which step of a linked name an attribute of a host may be: see
// expr.ReplaceHostAttributes. References and results are none.
func stepInHost(t hcl2.Traversal) int {
	root := t.RootName()
	kind, _, linked := strings.Cut(root, ".")
	switch {
	case !linked: // of a for expression
		return 1
	case kind == "var" || kind == "local" || kind == "data" || kind == "param" || kind == "each":
		return 1
	case kind == "component" && len(t) > 1:
		if _, index := t[1].(hcl2.TraverseIndex); index {
			return 3
		}
		return 2
	}
	return -1
}
