package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// world is what scripts see of an evaluation.
type world struct{ e preparation }

// Variable declares a variable of a script.
func (w *world) Variable(b *syntax.Block) (cty.Value, diag.List) {
	e, name := w.e, b.Labels[0]
	before := len(e.list)
	e.declareVariable(b)
	list := slices.Clone(e.list[before:])
	e.list = e.list[:before]
	addCalls(list, 0, b.Calls)
	v, ok := e.root.Variables["var."+name]
	if !ok {
		v = cty.DynamicVal
	}
	return v, list
}

func (e preparation) declareVariable(b *syntax.Block) {
	d := &decoder{shapes: e.site.shapes, site: e.site}
	known := e.site.variables.First(b.Labels[0])
	d.variable(b)
	e.list.Add(d.list...)
	v := e.site.variables.First(b.Labels[0])
	if v == nil || v == known {
		return
	}
	v.byScript = true
	e.link(func(l *linker) {
		l.attribute(v.attr, scope{valuesOf: "the default of a variable"})
		l.validations(v)
	})
	if v.attr != nil {
		e.variables.assign(v.Name, expr.LevelDefault, e.value(v.attr.Expr, e.root), rangeOf(v.attr.Range()))
	}
	for _, t := range e.scripts.texts {
		if t.name == v.Name {
			e.variables.assignText(t.level, t.source, t.name, t.text)
		}
	}
	order := levels()
	slices.SortStableFunc(e.variables.assignments[v.Name], func(a, b expr.Assignment) int {
		return cmp.Compare(slices.Index(order, a.Level), slices.Index(order, b.Level))
	})
	e.variables.resolveOrUnknown(v, e.scripts.blind)
	e.variables.validate(v)
}

// Data declares data of a script. What it is made of may be known later only: then so is its value.
func (w *world) Data(b *syntax.Block) (cty.Value, diag.List) {
	e := w.e
	before, first := len(e.list), e.site.data.First(b.Labels[0])
	d := &decoder{shapes: e.site.shapes, site: e.site}
	d.data(b)
	e.list.Add(d.list...)
	v := cty.DynamicVal
	if own := e.site.data.First(b.Labels[0]); own != nil && first == nil && !d.list.HasErrors() && own.isLiteral() {
		v = e.data(own.name)
	}
	list := slices.Clone(e.list[before:])
	e.list = e.list[:before]
	return v, list
}

// levels are in the order of their precedence.
func levels() []string {
	return []string{expr.LevelDefault, expr.LevelSite, expr.LevelComponent, expr.LevelRole, expr.LevelGroup, expr.LevelHost,
		expr.LevelEnvironment, expr.LevelVarFile, expr.LevelVar}
}

// Value gives a variable of another language, a fact, or what a host is.
func (w *world) Value(kind, name string) (cty.Value, error) {
	e := w.e
	before := len(e.list)
	v := cty.DynamicVal
	switch {
	case kind == "var" && !e.site.variables.Has(name):
		return v, &diag.HintError{Message: fmt.Sprintf("var.%s is not declared", name), Hint: undeclaredInScript(name, e.site.variables.Names())}
	case kind == "var" && e.ownerError(kind, name) != nil:
		return v, e.ownerError(kind, name)
	case kind == "var":
		if known, ok := e.root.Variables["var."+name]; ok { // a file of functions runs before there are values
			v = known
		}
	case kind == "fact" && e.scripts != nil && e.scripts.blind && e.target.Facts == nil:
	case kind == "fact" && name == "":
	case kind == "fact":
		v = e.fact(&syntax.Need{Kind: kind, Name: name})
		if known, ok := e.root.Variables["fact."+name]; ok {
			v = known
		}
	case kind == "host" && name != "name" && e.scripts != nil && e.scripts.blind:
	case kind == "host":
		v = e.hostValue(&syntax.Need{Kind: kind, Name: name})
	}
	if len(e.list) > before {
		d := e.list[before]
		e.list = e.list[:before]
		return v, &diag.HintError{Message: d.Summary, Hint: d.Hint}
	}
	return v, nil
}

// Functions gives the functions of the language.
func (w *world) Functions(dir string) map[string]function.Function {
	table := w.e.parts.Files.FunctionMap(dir)
	for name, f := range w.e.root.Functions {
		if _, ok := table[name]; !ok && !strings.HasPrefix(name, "(") {
			table[name] = f // those that need more than files
		}
	}
	return table
}
