package program

import (
	"context"
	"fmt"
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// evaluator evaluates a program for one target. A value that cannot be had is
// reported once, where it is made; what uses it is left out without a word.
type evaluator struct {
	site   *Program
	target eval.Target
	list   diag.List
	root   *hcl2.EvalContext
	parts  eval.Parts
	facts  map[string]fact
	given  map[string][]eval.Given // by variable
	// locals that are being evaluated, outermost first.
	visiting []string

	instances map[string]*instance // by address, of all but blocks
	expanded  map[string][]*instance
	out       []states.Declaration
	empty     []string // see states.Declarations.Empty
	// doubtful are bases whose instances, or parts, are not all known.
	doubtful map[string]bool
}

type fact struct {
	value any
	err   error
}

// Evaluate gives the declarations for a target; nil or incomplete when the list
// holds an error.
func (p *Program) Evaluate(ctx context.Context, t eval.Target) (*states.Declarations, diag.List) {
	e := newEvaluator(p, t)
	e.variables()
	for _, name := range slices.Sorted(maps.Keys(p.locals)) {
		e.local(name)
	}
	for _, d := range p.declarations {
		e.expand(d)
	}
	total := 0
	for _, list := range e.expanded {
		total += len(list)
	}
	e.out = make([]states.Declaration, 0, total)
	for _, d := range p.declarations {
		if err := ctx.Err(); err != nil {
			return nil, diag.List{{Severity: diag.Error, Summary: "evaluation was stopped: " + context.Cause(ctx).Error()}}
		}
		e.declaration(d)
	}
	e.dangling()
	list := e.list.Sorted()
	slices.Sort(e.empty)
	return &states.Declarations{Site: p.name, Host: t.Host, List: e.out,
		Empty: slices.Compact(e.empty), Secrets: eval.Secrets(e.root.Variables)}, list
}

func newEvaluator(p *Program, t eval.Target) *evaluator {
	files := eval.NewFiles(p.site)
	e := &evaluator{site: p, target: t, facts: map[string]fact{}, given: map[string][]eval.Given{},
		instances: map[string]*instance{}, expanded: map[string][]*instance{}, doubtful: map[string]bool{}}
	e.root = &hcl2.EvalContext{Variables: map[string]cty.Value{}, Functions: files.FunctionMap(".")}
	e.root.Functions[eval.RefFunction] = e.resolver(nil)
	e.parts = eval.Parts{Files: files, Site: p.site, Home: e.home}
	return e
}

func (e *evaluator) resolver(self *eval.Entry) function.Function {
	return eval.RefResolver(func(steps []eval.Step) (states.Ref, error) {
		return e.site.names.Resolve(steps, self)
	})
}

func (e *evaluator) errorAt(r hcl2.Range, hint, summary string, args ...any) {
	e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(summary, args...), Hint: hint, Range: at(r)})
}

// value evaluates an expression. Unknown stands for a value that could not be
// had; why has been reported.
func (e *evaluator) value(x *syntax.Expression, ctx *hcl2.EvalContext) cty.Value {
	if x.Bad {
		return cty.DynamicVal
	}
	for i := range x.Needs {
		if !e.provide(&x.Needs[i]) {
			return cty.DynamicVal
		}
	}
	v, diags := x.Value(ctx)
	if len(diags) > 0 {
		e.list.Add(eval.FromHCL(diags)...)
		if diags.HasErrors() {
			return cty.DynamicVal
		}
	}
	return v
}

// attribute evaluates an attribute; ok says that it is given, known and not
// null.
func (e *evaluator) attribute(a *syntax.Attribute, ctx *hcl2.EvalContext) (v cty.Value, ok bool) {
	if a == nil {
		return cty.DynamicVal, false
	}
	v = e.value(a.Expr, ctx)
	return v, v.IsWhollyKnown() && !v.IsNull()
}

// provide puts what an expression needs into the root context, and reports
// whether it could be had.
func (e *evaluator) provide(n *syntax.Need) bool {
	if n.Kind == "ref" {
		if _, ok := e.root.Variables[n.Name]; !ok {
			e.root.Variables[n.Name] = eval.RefValue(n.Ref)
		}
		return true
	}
	name := n.Kind + "." + n.Name
	v, ok := e.root.Variables[name]
	if !ok {
		switch n.Kind {
		case "local":
			v = e.local(n.Name)
		case "fact":
			v = e.fact(n)
		default: // variables are there from the start
			v = cty.DynamicVal
		}
	}
	return v.IsKnown()
}

// local evaluates a local once, and gives its value.
func (e *evaluator) local(name string) cty.Value {
	key := "local." + name
	if v, ok := e.root.Variables[key]; ok {
		return v
	}
	for i, outer := range e.visiting {
		if outer == name {
			e.localCycle(e.visiting[i:])
			return cty.DynamicVal
		}
	}
	e.visiting = append(e.visiting, name)
	v := e.value(e.site.locals[name].expr, e.root)
	e.visiting = e.visiting[:len(e.visiting)-1]
	e.root.Variables[key] = v
	return v
}

// localCycle reports locals that need each other, once: from the one that is
// declared first.
func (e *evaluator) localCycle(names []string) {
	first := 0
	for i, name := range names {
		a, b := at(e.site.locals[name].src), at(e.site.locals[names[first]].src)
		if a.File < b.File || a.File == b.File && a.Start.Byte < b.Start.Byte {
			first = i
		}
	}
	d := diag.Diagnostic{Severity: diag.Error, Hint: "one of them must not use the others",
		Range: at(e.site.locals[names[first]].src)}
	text := ""
	for i := range names {
		l := e.site.locals[names[(first+i)%len(names)]]
		text += "local." + l.name + " → "
		if i > 0 {
			d.Related = append(d.Related, diag.Related{Message: "local." + l.name + " is declared here", Range: at(l.src)})
		}
	}
	d.Summary = "locals need each other: " + text + "local." + names[first]
	e.list.Add(d)
}

// fact gives a top-level fact, which is gathered the first time it is named.
func (e *evaluator) fact(n *syntax.Need) cty.Value {
	f, asked := e.facts[n.Name]
	if !asked {
		if e.target.Facts == nil {
			f.err = fmt.Errorf("facts are not known here")
		} else {
			f.value, f.err = e.target.Facts(n.Name)
		}
		e.facts[n.Name] = f
	}
	v := cty.DynamicVal
	if f.err == nil {
		v, f.err = eval.Value(f.value)
	}
	if f.err != nil {
		e.errorAt(n.Src, "tenet facts lists all facts", "fact.%s: %v", n.Name, f.err)
		return cty.DynamicVal
	}
	e.root.Variables["fact."+n.Name] = v
	return v
}

// home is the acting user's home directory.
func (e *evaluator) home() (string, error) {
	if e.target.Facts == nil {
		return "", &eval.HintError{Message: "~ stands for the fact home, and facts are not known here", Hint: "write the whole path"}
	}
	v, err := e.target.Facts("home")
	if err != nil {
		return "", fmt.Errorf("the fact home: %w", err)
	}
	text, ok := v.(string)
	if !ok || text == "" {
		return "", &eval.HintError{Message: "the fact home is not known", Hint: "write the whole path"}
	}
	return text, nil
}
