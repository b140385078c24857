package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// expressions evaluates what stands in one directory: expressions and attributes, with
// the locals, facts and other names in them. Each name is evaluated once, when something
// needs it.
type expressions struct {
	*evaluation
	site   *Program
	prefix string // of addresses
	root   *hcl2.EvalContext
	parts  expr.Parts
	// component gives the outputs of a component.
	component func(name string) cty.Value
	// visiting are the locals, data and components that are being evaluated,
	// outermost first.
	visiting []string
	scripts  *scriptState // nil: there are no scripts, or they have run
	// documents are those that data was read from, by the names of the data.
	documents map[string]*document.Node
	// localsSameForAllHosts tells, as far as it was asked, which locals give the same for every host.
	localsSameForAllHosts map[string]bool
}

func newExpressions(of *evaluation, p *Program, prefix string) *expressions {
	files := expr.NewFilesOf(p.dir.FS, p.dir.Name)
	files.UseVault(of.vault)
	e := &expressions{evaluation: of, site: p, prefix: prefix, documents: map[string]*document.Node{}}
	if p.dir.Scripts != nil {
		e.scripts = &scriptState{}
	}
	e.begin(files, map[string]cty.Value{})
	return e
}

// begin makes the root context, with the values of names.
func (e *expressions) begin(files *expr.Files, values map[string]cty.Value) {
	files.UseHosts(e.hostAttribute)
	e.root = &hcl2.EvalContext{Variables: values, Functions: files.FunctionMap(".")}
	e.root.Functions[expr.RefFunction] = e.resolver(nil)
	e.root.Functions["hosts"] = e.hostsFunction()
	e.parts = expr.Parts{Files: files, Site: e.site.options.All, Home: e.home, Review: e.target.Review}
}

func (e *expressions) resolver(self *expr.Entry) function.Function {
	return expr.RefResolver(func(steps []expr.Step) (expr.Resolution, error) {
		found, err := e.site.names.Find(steps, self, e.hostRoles())
		found.Ref = e.withPrefix(found.Ref)
		return found, err
	})
}

// withPrefix gives a reference the address that it has in the site.
func (e *expressions) withPrefix(r states.Ref) states.Ref {
	if !r.Self && r.Address != "" {
		r.Address = e.prefix + r.Address
	}
	return r
}

func (e *expressions) errorAt(r hcl2.Range, hint, summary string, args ...any) {
	e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(summary, args...), Hint: hint, Range: rangeOf(r)})
}

// value evaluates an expression that must be known before anything runs.
// Unknown stands for a value that could not be had; why has been reported.
func (e *expressions) value(x *syntax.Expression, ctx *hcl2.EvalContext) cty.Value {
	v := e.evaluate(x, ctx)
	if expr.IsDeferred(v) && !expr.IsWithheld(v) {
		e.errorAt(x.Range(), "results may stand in the attributes of parts, in when and in guards; give this a value that is known, such as var.NAME",
			"this must be known before anything runs, and depends on a result")
		return cty.DynamicVal
	}
	v, _ = expr.Settle(v, x.Expression, ctx) // it is known
	return v
}

// deferrableValue evaluates an expression that may depend on results. What is known only
// on the host is unknown, and carries how it is computed.
func (e *expressions) deferrableValue(x *syntax.Expression, ctx *hcl2.EvalContext) cty.Value {
	v, diags := expr.Settle(e.evaluate(x, ctx), x.Expression, ctx)
	e.list.Add(expr.FromHCL(diags)...)
	return v
}

// evaluate gives the value of an expression as it is, for value and deferrableValue.
func (e *expressions) evaluate(x *syntax.Expression, ctx *hcl2.EvalContext) cty.Value {
	if x.Bad {
		return cty.DynamicVal
	}
	for i := range x.Needs {
		if !e.provide(&x.Needs[i]) {
			return cty.DynamicVal
		}
	}
	v, list := e.cachedValue(x, ctx)
	e.list.Add(list...)
	return v
}

// attribute evaluates an attribute; ok says that it is given, not null, and known
// or withheld: who asks looks for sensitive marks before the value.
func (e *expressions) attribute(a *syntax.Attribute, ctx *hcl2.EvalContext) (v cty.Value, ok bool) {
	if a == nil {
		return cty.DynamicVal, false
	}
	v = e.value(a.Expr, ctx)
	e.sensitive[a] = expr.SensitiveTexts(v)
	return v, (v.IsWhollyKnown() || expr.IsWithheld(v)) && !v.IsNull()
}

// provide puts what an expression needs into the root context, and reports
// whether it could be had.
func (e *expressions) provide(n *syntax.Need) bool {
	if n.Kind == "ref" {
		if _, ok := e.root.Variables[n.Name]; !ok {
			e.root.Variables[n.Name] = expr.RefValue(e.withPrefix(n.Ref))
		}
		return true
	}
	if n.Kind == "result" {
		if _, ok := e.root.Variables[n.Name]; !ok {
			e.root.Variables[n.Name] = expr.Relocate(n.Value, e.withPrefix)
		}
		return true
	}
	name := n.Kind + "." + n.Name
	v, ok := e.root.Variables[name]
	if !ok {
		switch n.Kind {
		case "var", "local", "data":
			v = e.declaredValue(n)
		case "fact":
			v = e.fact(n)
		case "component":
			v = e.component(n.Name)
		case "host":
			v = e.hostValue(n)
		case "role":
			v = cty.StringVal(n.Name)
			e.root.Variables[name] = v
		case "varying":
			v = e.varying(n)
		}
	}
	return v.IsKnown() || expr.IsWithheld(v) || expr.IsDeferred(v)
}

// declaredValue gives a variable, a local or data that has no value yet: variables have theirs from the
// start, as far as the host has them.
func (e *expressions) declaredValue(n *syntax.Need) cty.Value {
	if err := e.ownerError(n.Kind, n.Name); err != nil {
		e.list.Add(diag.Diagnose(err, rangeOf(n.Src)))
		return cty.DynamicVal
	}
	switch n.Kind {
	case "local":
		return e.local(n.Name)
	case "data":
		return e.data(n.Name)
	}
	return cty.DynamicVal
}

// varying gives a reference or a result that depends on the host's roles.
func (e *expressions) varying(n *syntax.Need) cty.Value {
	v := cty.DynamicVal
	found, err := n.Find(e.hostRoles())
	switch {
	case err != nil:
	case found.Result == "":
		v = expr.RefValue(e.withPrefix(found.Ref))
	default:
		if v, err = found.Value(rangeOf(n.Src)); err == nil {
			v = expr.Relocate(v, e.withPrefix)
		}
	}
	if err != nil {
		e.list.Add(diag.Diagnose(err, rangeOf(n.Src)))
		return cty.DynamicVal
	}
	e.root.Variables["varying."+n.Name] = v
	return v
}

// local evaluates a local of the host once, and gives its value.
func (e *expressions) local(name string) cty.Value {
	return e.once("local."+name, func() cty.Value {
		l, _ := e.site.locals.Of(name, e.hostRoles())
		return e.deferrableValue(l.expr, e.root)
	})
}

// once evaluates what others name by a key the first time that is asked for.
func (e *expressions) once(key string, evaluate func() cty.Value) cty.Value {
	if v, ok := e.root.Variables[key]; ok {
		return v
	}
	if e.reportCycle(key) {
		return cty.DynamicVal
	}
	e.visiting = append(e.visiting, key)
	v := evaluate()
	e.visiting = e.visiting[:len(e.visiting)-1]
	e.root.Variables[key] = v
	return v
}

// reportCycle reports values that need each other, when the key is being evaluated
// already: from the one that is declared first.
func (e *expressions) reportCycle(key string) bool {
	start := slices.Index(e.visiting, key)
	if start < 0 {
		return false
	}
	keys := e.visiting[start:]
	first, what := 0, "locals"
	for i, name := range keys {
		a, b := e.placeOf(name), e.placeOf(keys[first])
		if a.File < b.File || a.File == b.File && a.Start.Byte < b.Start.Byte {
			first = i
		}
		if !strings.HasPrefix(name, "local.") {
			what = "values"
		}
	}
	d := diag.Diagnostic{Severity: diag.Error, Hint: "one of them must not use the others", Range: e.placeOf(keys[first])}
	text := ""
	for i := range keys {
		name := keys[(first+i)%len(keys)]
		text += name + " → "
		if i > 0 {
			d.Related = append(d.Related, diag.Related{Message: name + " is declared here", Range: e.placeOf(name)})
		}
	}
	d.Summary = what + " need each other: " + text + keys[first]
	e.list.Add(d)
	return true
}

// placeOf is where a local, data or a component is declared.
func (e *expressions) placeOf(key string) diag.Range {
	if name, ok := strings.CutPrefix(key, "local."); ok {
		l, _ := e.site.locals.Of(name, e.hostRoles())
		return rangeOf(l.src)
	}
	if name, ok := strings.CutPrefix(key, "data."); ok {
		d, _ := e.site.data.Of(name, e.hostRoles())
		return rangeOf(d.src)
	}
	return rangeOf(e.declarationOf(key).src)
}

// fact gives a top-level fact, which is gathered the first time it is named.
func (e *expressions) fact(n *syntax.Need) cty.Value {
	f := e.facts.get(n.Name)
	v := cty.DynamicVal
	if f.err == nil {
		v, f.err = expr.Value(f.value)
	}
	if f.err != nil {
		e.errorAt(n.Src, cmp.Or(diag.HintOf(f.err), "tenet facts lists all facts"), "fact.%s: %v", n.Name, f.err)
		return cty.DynamicVal
	}
	e.root.Variables["fact."+n.Name] = v
	return v
}

// home is the acting user's home directory.
func (e *expressions) home() (string, error) {
	if e.target.Facts == nil {
		return "", &diag.HintError{Message: "~ stands for the fact home, and facts are not known here", Hint: "write the whole path"}
	}
	f := e.facts.get("home")
	if f.err != nil {
		return "", fmt.Errorf("the fact home: %w", f.err)
	}
	text, ok := f.value.(string)
	if !ok || text == "" {
		return "", &diag.HintError{Message: "the fact home is not known", Hint: "write the whole path"}
	}
	return text, nil
}
