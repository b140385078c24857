package program

import (
	"context"
	"fmt"
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// Variables gives the program's variables for a target, sorted by name.
func (p *Program) Variables(ctx context.Context, t expr.Target) (out []expr.VariableValue, list diag.List) {
	p.withFacts(ctx, t, func(e *evaluator) { out, list = e.describeVariables() })
	return out, list
}

func (e *evaluator) describeVariables() ([]expr.VariableValue, diag.List) {
	e.preparation().begin(true)
	var out []expr.VariableValue
	for _, v := range e.ownVariables() {
		name, given := v.Name, e.variables.assignments[v.Name]
		value := e.root.Variables["var."+name]
		if len(given) == 0 || !value.IsWhollyKnown() && !expr.IsWithheld(value) {
			continue
		}
		described, err := v.Describe(value, given)
		if err != nil {
			e.list.Add(diag.Diagnose(err, v.Range))
			continue
		}
		out = append(out, described)
	}
	return out, e.findings()
}

// variableValues evaluates the variables of one directory.
type variableValues struct {
	*expressions
	assignments map[string][]expr.Assignment // by variable
	// instance is the component's, nil for the site; inputs are the values that it
	// gives.
	instance *instance
	inputs   []item
	// incomplete says that more variables may have been given.
	incomplete bool
	forHosts   bool           // those variables are collected which hosts use
	varFiles   []*syntax.Body // once they are read: see readVarFiles
}

// evaluate gives each variable its value, and checks it.
func (e *variableValues) evaluate() {
	e.collect(false)
	e.reportHostVariables()
	e.findExports()
	for _, v := range e.ownVariables() {
		if !e.isForHosts(v.Name) {
			e.resolve(v)
		}
	}
	for _, v := range e.ownVariables() {
		e.validate(v)
	}
}

// inputDiagnostic says of a component's variable without a value who should give
// it one.
func (e *variableValues) inputDiagnostic(d diag.Diagnostic, v *variable, given []expr.Assignment) diag.Diagnostic {
	if e.instance == nil || len(given) > 0 {
		return d
	}
	return diag.Diagnostic{Severity: diag.Error, Range: rangeOf(e.instance.decl.src),
		Summary: fmt.Sprintf("%s gives the variable %q no value", e.instance.decl.base, v.Name), Detail: "It has no default.",
		Hint:    fmt.Sprintf("add it: vars = { %s = … }", v.Name),
		Related: []diag.Related{{Message: "declared here", Range: v.Range}}}
}

// resolve gives a variable its value.
func (e *variableValues) resolve(v *variable) {
	value := cty.DynamicVal
	if given := e.assignments[v.Name]; allKnown(given) && (len(given) > 0 || !v.doubtful && !e.incomplete) {
		resolved, err := v.Resolve(given)
		if err != nil {
			e.list.Add(e.inputDiagnostic(*err, v, given))
		} else {
			value = resolved
		}
	}
	e.root.Variables["var."+v.Name] = value
}

// anySensitive reports whether a variable of the site is sensitive.
func (p *Program) anySensitive() bool {
	return slices.ContainsFunc(p.variables.Names(), func(name string) bool {
		return slices.ContainsFunc(p.variables.All(name), func(v *variable) bool { return v.Sensitive })
	})
}

func allKnown(given []expr.Assignment) bool {
	return !slices.ContainsFunc(given, func(g expr.Assignment) bool {
		return !g.Value.IsWhollyKnown() && !expr.IsWithheld(g.Value) && !expr.IsDeferred(g.Value)
	})
}

// collect finds the values that are given to the variables which hosts use, or to all others,
// lowest precedence first.
func (e *variableValues) collect(forHosts bool) {
	e.forHosts = forHosts
	for _, v := range e.ownVariables() {
		if v.attr != nil && e.takes(v.Name) {
			e.assign(v.Name, expr.LevelDefault, e.value(v.attr.Expr, e.root), rangeOf(v.attr.Range()))
		}
	}
	for _, f := range e.site.values {
		e.valueFile(f.body, expr.LevelSite)
	}
	for _, x := range e.inputs {
		e.assign(x.name, expr.LevelComponent, x.value, rangeOf(x.valueRange))
	}
	if e.prefix != "" {
		return // a component's variables are its own
	}
	e.giveLevels()
	for _, name := range slices.Sorted(maps.Keys(e.target.Environment)) {
		if !e.takes(name) {
			continue
		}
		if e.site.variables.Has(name) {
			e.assignText(expr.LevelEnvironment, "TENET_VAR_"+name, name, e.target.Environment[name])
		} else if e.scripts != nil {
			e.scripts.texts = append(e.scripts.texts, textValue{expr.LevelEnvironment, "TENET_VAR_" + name, name, e.target.Environment[name]})
		}
	}
	for _, b := range e.readVarFiles() {
		e.valueFile(b, expr.LevelVarFile)
	}
	for _, v := range e.target.Vars {
		if !e.takes(v.Name) {
			continue
		}
		if !e.site.variables.Has(v.Name) {
			undeclared := func() {
				e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("var.%s is not declared", v.Name),
					Hint: undeclaredHint("var", v.Name, e.site.variables.Names()), Range: diag.Range{File: "--var"}})
			}
			if e.postpone(v.Name, undeclared) {
				e.scripts.texts = append(e.scripts.texts, textValue{expr.LevelVar, "--var " + v.Name, v.Name, v.Value})
			} else {
				undeclared()
			}
			continue
		}
		e.assignText(expr.LevelVar, "--var "+v.Name, v.Name, v.Value)
	}
}

func (e *variableValues) assign(name, level string, v cty.Value, r diag.Range) {
	e.assignments[name] = append(e.assignments[name], expr.Assignment{Level: level, Value: v, Range: r})
}

// readVarFiles reads the files of values that the target names, once.
func (e *variableValues) readVarFiles() []*syntax.Body {
	if e.varFiles != nil {
		return e.varFiles
	}
	e.varFiles = []*syntax.Body{}
	for _, f := range e.target.VarFiles {
		b, list := e.site.options.Parse(f.Name, f.Data, syntax.ValuesShape(), e.site.shapes, e.site.options.MaxNesting)
		for i := range list { // nobody knows whose values are in such lines
			list[i].Private = e.site.anySensitive()
		}
		e.list.Add(list...)
		if b == nil {
			continue
		}
		l := newLinker(e.site, false)
		for _, a := range b.Attributes {
			l.attribute(a, scope{valuesOf: "a file of values"})
		}
		e.list.Add(l.list...)
		e.varFiles = append(e.varFiles, b)
	}
	return e.varFiles
}

// valueFile takes the values of a file.
func (e *variableValues) valueFile(b *syntax.Body, level string) {
	for _, sub := range b.Blocks {
		if e.forHosts {
			break // the other variables are collected, too
		}
		e.errorAt(sub.Header, "move it to another file, or write NAME = VALUE", "a file of values holds no blocks")
	}
	for _, a := range b.Attributes {
		if !e.takes(a.Name) || e.isLateForHosts(a.Name, a.Expr) {
			continue
		}
		if !e.site.variables.Has(a.Name) && !e.reportUndeclared(a.Name, a.NameRange) {
			continue
		}
		value := e.value(a.Expr, e.root)
		if level == expr.LevelVarFile {
			e.refuseSource(a.Name, value.Type(), rangeOf(a.Expr.Range()))
		}
		e.assign(a.Name, level, value, rangeOf(a.Range()))
	}
}

// refuseSource reports a source that is given from outside of the site, where no folder is its own.
func (e *variableValues) refuseSource(name string, of cty.Type, at diag.Range) {
	if expr.HoldsSource(of) {
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the value of variable %q is a source, which only a file of the site can name", name), Range: at,
			Hint: expr.HintSource(name)})
	}
}

// assignText takes a value that is given as text outside of the site; source names the way for
// people.
func (e *variableValues) assignText(level, source, name, text string) {
	v, has := e.site.variables.Of(name, e.hostRoles())
	if !has { // other hosts have it, with the same type
		v = e.site.variables.First(name)
	}
	r := diag.Range{File: source}
	if expr.HoldsSource(v.Type) {
		e.refuseSource(name, v.Type, r)
		return
	}
	before := len(e.list)
	defer func() {
		if v.Sensitive && len(e.list) > before {
			e.list = append(e.list[:before], diag.Diagnostic{Severity: diag.Error, Range: r,
				Summary: fmt.Sprintf("the value of the sensitive variable %q is no expression", name),
				Hint:    fmt.Sprintf("its type is %s; quotes may be missing", expr.TypeName(v.Type))})
		}
	}()
	if v.IsLiteral() {
		value, err := expr.Value(text)
		if err != nil {
			e.list.Add(diag.Diagnose(&diag.HintError{Message: fmt.Sprintf("the value of variable %q %v", name, err),
				Hint: "give it as UTF-8 text in normal form C"}, r))
		}
		e.assign(name, level, value, r)
		return
	}
	value := cty.DynamicVal
	if err := expr.CheckNesting(source, []byte(text), false, e.site.options.MaxNesting); err != nil {
		e.list.Add(*err)
	} else if parsed, diags := hclsyntax.ParseExpression([]byte(text), source, hcl2.InitialPos); diags.HasErrors() {
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the value of variable %q is no expression", name),
			Detail: diags[0].Detail, Range: r,
			Hint: fmt.Sprintf("its type is %s; write for instance [\"a\", \"b\"] or { a = 1 }, in single quotes for the shell", expr.TypeName(v.Type))})
	} else {
		x := &syntax.Expression{Expression: parsed}
		l := newLinker(e.site, false)
		l.expression(x, scope{valuesOf: source})
		e.list.Add(l.list...)
		if e.isLateForHosts(name, x) {
			return
		}
		value = e.value(x, e.root)
		e.refuseSource(name, value.Type(), r)
	}
	e.assign(name, level, value, r)
}

// validate checks a variable's value with its own conditions.
func (e *variableValues) validate(v *variable) {
	given := e.assignments[v.Name]
	if !e.root.Variables["var."+v.Name].IsKnown() {
		return
	}
	for _, check := range v.validations {
		value, _ := expr.Split(e.value(check.condition, e.root))
		if !value.IsKnown() {
			continue
		}
		ok, err := expr.Bool(value)
		if err != nil {
			e.errorAt(check.condition.Range(), "write a comparison", "the condition: %v", err)
			continue
		}
		if ok {
			continue
		}
		message, sensitive := expr.Split(e.value(check.message, e.root))
		text := "its condition does not hold"
		if message.IsKnown() && !sensitive {
			if given, err := expr.Text(message); err == nil {
				text = given
			}
		}
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the value of variable %q is refused: %s", v.Name, text),
			Hint: "give another value", Range: given[len(given)-1].Range, Private: v.Sensitive,
			Related: []diag.Related{{Message: "this condition does not hold", Range: rangeOf(check.condition.Range())}}})
	}
}
