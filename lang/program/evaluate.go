package program

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// evaluation is the evaluation of a site for one target, with all components
// in it. A value that cannot be had is reported once, where it is made; what
// uses it is left out without a word. Addresses are those of the site: what a
// component declares has its address before it.
type evaluation struct {
	ctx    context.Context // scripts end with it
	target expr.Target
	list   diag.List
	facts  map[string]fact
	host   *hostEntry // nil: the site declares no hosts
	hosts  []*hostEntry
	// groupNames are those of the site, which its components see, too.
	groupNames []string
	rollout    *site.Rollout // of the site; nil: it has none
	// someHidden says that there may be hosts which are not known.
	someHidden bool
	hostLists  *expr.HostLists // nil until all hosts are evaluated

	bases     map[string]*declaration // all that is declared
	instances map[string]*instance    // by address
	expanded  map[string][]*instance
	out       []states.Declaration
	empty     []string // see states.Declarations.Empty
	nothing   []string // what addresses begin with that mean nothing: see meansNothing
	// doubtful are bases whose instances, or parts, are not all known.
	doubtful map[string]bool
	named    []namedSecret // by scripts
	vault    *expr.Vault
	// sensitive are the sensitive texts in the values of attributes, for what is wrong with them.
	sensitive map[*syntax.Attribute][]string
}

// evaluator evaluates one directory: the site, or one instance of a component.
type evaluator struct {
	*evaluation
	site   *Program
	prefix string // of addresses
	root   *hcl2.EvalContext
	parts  expr.Parts
	given  map[string][]expr.Given // by variable
	// of is the component, nil for the site; inputs are the values that it
	// gives.
	of     *instance
	inputs []item
	// unsure says that more variables may have been given.
	unsure bool
	// visiting are the locals and components that are being evaluated,
	// outermost first.
	visiting []string
	entered  map[string]bool // components that were expanded, by base
	scripted *scripted       // nil: there are no scripts, or they have run
	// fixedLocals tells, as far as it was asked, which locals give the same for every host.
	fixedLocals map[string]bool
}

type fact struct {
	value any
	err   error
}

// Evaluate gives the declarations for a target; nil or incomplete when the list
// holds an error.
func (p *Program) Evaluate(ctx context.Context, t expr.Target) (*states.Declarations, diag.List) {
	e := newEvaluation(ctx, p, t)
	e.begin(true)
	e.expandAll()
	if err := ctx.Err(); err != nil {
		return nil, diag.List{{Severity: diag.Error, Summary: "evaluation was stopped: " + context.Cause(ctx).Error()}}
	}
	total := 0
	for _, list := range e.expanded {
		total += len(list)
	}
	e.out = make([]states.Declaration, 0, total)
	if err := e.declarations(ctx); err != nil {
		return nil, diag.List{{Severity: diag.Error, Summary: "evaluation was stopped: " + context.Cause(ctx).Error()}}
	}
	e.checkSecrets()
	e.everyInstance()
	e.dangling()
	moved := e.moved()
	slices.Sort(e.empty)
	return &states.Declarations{Site: e.site.name, Host: t.Host, List: e.out, Moved: moved, Prune: e.site.prune,
		Empty: slices.Compact(e.empty), Secrets: e.vault.Texts()}, e.findings()
}

// findings is all that is wrong, in order, with nothing sensitive in it.
func (e *evaluator) findings() diag.List {
	e.vault.Take(e.root.Variables)
	return e.vault.Hide(e.list.Sorted())
}

func newEvaluation(ctx context.Context, p *Program, t expr.Target) *evaluator {
	return newEvaluator(&evaluation{ctx: ctx, target: t, facts: map[string]fact{}, bases: map[string]*declaration{},
		instances: map[string]*instance{}, expanded: map[string][]*instance{}, doubtful: map[string]bool{},
		vault: expr.NewVault(t), sensitive: map[*syntax.Attribute][]string{}}, p, "")
}

func newEvaluator(of *evaluation, p *Program, prefix string) *evaluator {
	files := expr.NewFilesOf(p.dir.FS, p.dir.Name)
	files.UseVault(of.vault)
	e := &evaluator{evaluation: of, site: p, prefix: prefix, given: map[string][]expr.Given{}, entered: map[string]bool{}}
	if p.dir.Scripts != nil {
		e.scripted = &scripted{}
	}
	e.root = &hcl2.EvalContext{Variables: map[string]cty.Value{}, Functions: files.FunctionMap(".")}
	e.root.Functions[expr.RefFunction] = e.resolver(nil)
	e.root.Functions["hosts"] = e.hostsFunction()
	e.parts = expr.Parts{Files: files, Site: p.options.All, Home: e.home}
	return e
}

// expandAll finds the instances of all declarations, those of components
// included, and evaluates all locals and outputs.
func (e *evaluator) expandAll() {
	for _, name := range slices.Sorted(maps.Keys(e.site.locals)) {
		e.local(name)
	}
	for _, d := range e.site.declarations {
		e.bases[e.prefix+d.base] = d
		if d.component == nil {
			e.expand(d)
			continue
		}
		if !e.onHost(d) {
			e.expandComponent(d)
			continue
		}
		e.componentValue(d.entry.Base[len("component."):])
		for _, in := range e.expanded[e.prefix+d.base] {
			if in.inner != nil {
				in.inner.expandAll()
			}
		}
	}
}

// declarations evaluates what the directory declares.
func (e *evaluator) declarations(ctx context.Context) error {
	for _, d := range e.site.declarations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.declaration(ctx, d); err != nil {
			return err
		}
	}
	e.vault.Take(e.root.Variables)
	return ctx.Err() // a script may have been stopped in the last of them
}

func (e *evaluator) resolver(self *expr.Entry) function.Function {
	return expr.RefResolver(func(steps []expr.Step) (expr.Named, error) {
		found, err := e.site.names.Find(steps, self)
		found.Ref = e.absolute(found.Ref)
		return found, err
	})
}

// absolute gives a reference the address that it has in the site.
func (e *evaluator) absolute(r states.Ref) states.Ref {
	if !r.Self && r.Address != "" {
		r.Address = e.prefix + r.Address
	}
	return r
}

func (e *evaluator) errorAt(r hcl2.Range, hint, summary string, args ...any) {
	e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(summary, args...), Hint: hint, Range: at(r)})
}

// value evaluates an expression that must be known before anything runs.
// Unknown stands for a value that could not be had; why has been reported.
func (e *evaluator) value(x *syntax.Expression, ctx *hcl2.EvalContext) cty.Value {
	v := e.raw(x, ctx)
	if expr.IsDeferred(v) && !expr.IsWithheld(v) {
		e.errorAt(x.Range(), "results may stand in the attributes of parts, in when and in guards; give this a value that is known, such as var.NAME",
			"this must be known before anything runs, and depends on a result")
		return cty.DynamicVal
	}
	v, _ = expr.Settle(v, x.Expression, ctx) // it is known
	return v
}

// late evaluates an expression that may depend on results. What is known only
// on the host is unknown, and carries how it is computed.
func (e *evaluator) late(x *syntax.Expression, ctx *hcl2.EvalContext) cty.Value {
	v, diags := expr.Settle(e.raw(x, ctx), x.Expression, ctx)
	e.list.Add(expr.FromHCL(diags)...)
	return v
}

// raw evaluates an expression, of whose value only late or value make a use.
func (e *evaluator) raw(x *syntax.Expression, ctx *hcl2.EvalContext) cty.Value {
	if x.Bad {
		return cty.DynamicVal
	}
	for i := range x.Needs {
		if !e.provide(&x.Needs[i]) {
			return cty.DynamicVal
		}
	}
	v, list := e.kept(x, ctx)
	e.list.Add(list...)
	return v
}

// attribute evaluates an attribute; ok says that it is given, not null, and known
// or withheld: who asks looks for sensitive marks before the value.
func (e *evaluator) attribute(a *syntax.Attribute, ctx *hcl2.EvalContext) (v cty.Value, ok bool) {
	if a == nil {
		return cty.DynamicVal, false
	}
	v = e.value(a.Expr, ctx)
	e.sensitive[a] = expr.SensitiveTexts(v)
	return v, (v.IsWhollyKnown() || expr.IsWithheld(v)) && !v.IsNull()
}

// provide puts what an expression needs into the root context, and reports
// whether it could be had.
func (e *evaluator) provide(n *syntax.Need) bool {
	if n.Kind == "ref" {
		if _, ok := e.root.Variables[n.Name]; !ok {
			e.root.Variables[n.Name] = expr.RefValue(e.absolute(n.Ref))
		}
		return true
	}
	if n.Kind == "result" {
		if _, ok := e.root.Variables[n.Name]; !ok {
			e.root.Variables[n.Name] = expr.Relocate(n.Value, e.absolute)
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
		case "component":
			v = e.componentValue(n.Name)
		case "host":
			v = e.hostValue(n)
		case "role":
			v = cty.StringVal(n.Name)
			e.root.Variables[name] = v
		default: // variables are there from the start
			v = cty.DynamicVal
		}
	}
	return v.IsKnown() || expr.IsWithheld(v) || expr.IsDeferred(v)
}

// local evaluates a local once, and gives its value.
func (e *evaluator) local(name string) cty.Value {
	key := "local." + name
	if v, ok := e.root.Variables[key]; ok {
		return v
	}
	if e.circular(key) {
		return cty.DynamicVal
	}
	e.visiting = append(e.visiting, key)
	v := e.late(e.site.locals[name].expr, e.root)
	e.visiting = e.visiting[:len(e.visiting)-1]
	e.root.Variables[key] = v
	return v
}

// circular reports values that need each other, when the key is being evaluated
// already: from the one that is declared first.
func (e *evaluator) circular(key string) bool {
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
		if strings.HasPrefix(name, "component.") {
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

// placeOf is where a local or a component is declared.
func (e *evaluator) placeOf(key string) diag.Range {
	if name, ok := strings.CutPrefix(key, "local."); ok {
		return at(e.site.locals[name].src)
	}
	return at(e.site.byBase[key].src)
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
		v, f.err = expr.Value(f.value)
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
		return "", &diag.HintError{Message: "~ stands for the fact home, and facts are not known here", Hint: "write the whole path"}
	}
	v, err := e.target.Facts("home")
	if err != nil {
		return "", fmt.Errorf("the fact home: %w", err)
	}
	text, ok := v.(string)
	if !ok || text == "" {
		return "", &diag.HintError{Message: "the fact home is not known", Hint: "write the whole path"}
	}
	return text, nil
}
