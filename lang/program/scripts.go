package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/lang/syntax"
)

// scripted is what an evaluator keeps while the scripts of its directory run:
// what is given to variables that they may still declare.
type scripted struct {
	texts   []textValue
	pending []pendingVariable
	// blind says that the scripts run to find the hosts: little is known.
	blind bool
}

// textValue is a value of a variable, given as text.
type textValue struct{ level, source, name, text string }

// pendingVariable is one that is given a value, and not declared yet.
type pendingVariable struct {
	name   string
	report func()
}

// later keeps the report that a variable is not declared until scripts have
// run; false: there are none.
func (e *evaluator) later(name string, report func()) bool {
	if e.scripted == nil {
		return false
	}
	e.scripted.pending = append(e.scripted.pending, pendingVariable{name, report})
	return true
}

// undeclared reports a variable that is given a value and not declared, or
// keeps that for later: then it is true.
func (e *evaluator) undeclared(name string, src hcl2.Range) bool {
	report := func() {
		e.errorAt(src, undeclaredHint("var", name, e.site.variableNames()), "var.%s is not declared", name)
	}
	if e.later(name, report) {
		return true
	}
	report()
	return false
}

// begin evaluates what comes first: hosts, and variables. Where there are
// scripts they run here, and the evaluator goes on with a program of its own,
// which has what they declare. need says that the host must be declared.
func (e *evaluator) begin(need bool) {
	if e.site.dir.Scripts == nil {
		e.loadFunctions()
		if e.prefix == "" {
			e.inventory(need)
		}
		e.variables()
		return
	}
	if e.prefix == "" {
		e.findHosts(need)
	}
	e.runScripts(false)
}

// takeInventory finds the hosts that a site declares, whatever the host.
func (e *evaluator) takeInventory() {
	if e.site.dir.Scripts == nil {
		e.inventory(false)
		return
	}
	e.findHosts(false)
}

// findHosts evaluates the hosts, groups and roles of a site with scripts. Where
// these declare some they run for it once, with what is known then.
func (e *evaluator) findHosts(need bool) {
	scripts := e.site.dir.Scripts
	written := slices.Concat(scripts.Calls("host"), scripts.Calls("host_group"), scripts.Calls("role"))
	x := newEvaluation(e.ctx, e.site, e.target)
	if len(written) == 0 {
		x.site = x.site.again(&x.list)
		x.decodeRest(nil)
		x.link(func(l *linker) { l.inventory() })
	} else {
		x.runScripts(true)
		x.addRoles(scripts.Calls("role"))
	}
	x.inventory(need)
	e.hosts, e.host = x.hosts, x.host
	e.list.Add(x.list...)
	if !need {
		e.site = x.site
	}
}

// addRoles declares the roles that a script would have declared had it not
// ended before, so that hosts may name them.
func (e *evaluator) addRoles(calls []*syntax.Block) {
	for _, b := range calls {
		if name, ok := label(b); ok && e.site.roles[name] == nil {
			e.site.roles[name] = &role{name: name, src: b.Header}
		}
	}
}

// again makes a program of the same sources that has nothing but its variables:
// linking rewrites expressions, so that each evaluation needs its own.
func (p *Program) again(list *diag.List) *Program {
	q := &Program{dir: p.dir, options: p.options, shapes: p.shapes, names: emptyProgram(p).names,
		components: maps.Clone(p.components), within: p.within, byBase: map[string]*declaration{},
		variables: map[string]*variable{}, locals: map[string]*local{}, outputs: map[string]*output{}, roles: map[string]*role{}}
	d := &decoder{shapes: q.shapes, site: q}
	for _, src := range p.dir.Sources {
		b := d.parse(src)
		if b == nil {
			continue
		}
		q.bodies = append(q.bodies, syntax.Script{Name: src.Name, Body: b})
		for _, sub := range b.Blocks {
			switch sub.Type {
			case "variable":
				d.variable(sub)
			case "functions":
				d.functions(sub)
			}
			for _, inner := range sub.Body.Blocks {
				if sub.Type == "role" && inner.Type == "variable" {
					d.variable(inner)
				}
			}
		}
	}
	d.staticSite()
	list.Add(d.list...)
	return q
}

// staticSite takes what scripts say about the site, which is literal, so that
// it is known before they run.
func (d *decoder) staticSite() {
	for _, b := range d.site.dir.Scripts.Calls("site") {
		d.check(b.Body, d.shapes.Site, nil)
		d.siteBlock(b)
	}
}

// decodeRest finds the declarations in all files, scripts among the others by
// their names.
func (e *evaluator) decodeRest(scripts []syntax.Script) {
	d := &decoder{shapes: e.site.shapes, site: e.site, variables: true}
	all := append(e.site.bodies, scripts...)
	slices.SortStableFunc(all, func(a, b syntax.Script) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range all {
		d.root(s.Body, s.Name)
	}
	for _, decl := range e.site.declarations {
		decl.sortInstances()
	}
	e.list.Add(d.list...)
}

func (e *evaluator) link(what func(*linker)) {
	l := newLinker(e.site, e.site.broken)
	what(l)
	e.named = append(e.named, l.secrets...)
	e.list.Add(l.list...)
}

// runScripts runs the scripts, and makes a program of all that the directory
// declares. blind: only hosts, groups and roles are looked for, so that what
// fails for the lack of a value is no mistake as long as none of them is missed.
func (e *evaluator) runScripts(blind bool) {
	e.site = e.site.again(&e.list)
	e.scripted.blind = blind
	e.loadFunctions()
	e.link(func(l *linker) { l.values() })
	before := len(e.list)
	e.variables1(blind)
	found, list := e.site.dir.Scripts.Run(e.ctx, &world{e})
	if list.HasErrors() {
		// What is not declared now may be declared once that is mended.
		e.site.broken = !blind
	}
	if blind {
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return mayBeNone(found, d) })
		list.Add(e.missed(found)...)
		e.list = e.list[:before]
	}
	e.list.Add(list...)
	if !e.site.broken && !blind {
		for _, p := range e.scripted.pending {
			if e.site.variables[p.name] == nil {
				p.report()
			}
		}
	}
	e.scripted = nil
	e.decodeRest(found)
	if blind {
		e.link(func(l *linker) { l.inventory() })
		return
	}
	e.link(func(l *linker) { l.rest() })
	for _, name := range e.site.variableNames() {
		if v := e.site.variables[name]; !v.byScript {
			e.validate(v)
		}
	}
}

// variables1 gives the variables of sources without a program their values. A
// blind run may lack those that hosts give.
func (e *evaluator) variables1(blind bool) {
	e.collect()
	for _, name := range e.site.variableNames() {
		e.resolveOr(e.site.variables[name], blind)
	}
}

// resolveOr gives a variable its value; unknown, without a word, where a blind
// run has none.
func (e *evaluator) resolveOr(v *variable, blind bool) {
	if blind && len(e.given[v.Name]) == 0 {
		e.root.Variables["var."+v.Name] = cty.DynamicVal
		return
	}
	e.resolve(v)
}

func mayBeNone(found []syntax.Script, d diag.Diagnostic) bool {
	return slices.ContainsFunc(found, func(s syntax.Script) bool {
		return slices.ContainsFunc(s.Unknown, func(u diag.Diagnostic) bool { return u.Range == d.Range && u.Summary == d.Summary })
	})
}

// missed reports the hosts and groups that a blind run did not come to.
func (e *evaluator) missed(found []syntax.Script) (list diag.List) {
	done := map[diag.Range]bool{}
	stopped := map[string]diag.Diagnostic{}
	for _, s := range found {
		for _, b := range s.Body.Blocks {
			done[at(b.TypeRange)] = true
		}
		if len(s.Unknown) > 0 {
			stopped[s.Name] = s.Unknown[0]
		}
	}
	scripts := e.site.dir.Scripts
	for _, b := range slices.Concat(scripts.Calls("host"), scripts.Calls("host_group")) {
		why, ok := stopped[b.TypeRange.Filename]
		if !ok || done[at(b.TypeRange)] {
			continue
		}
		list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s() comes after what depends on the host itself", b.Type), Range: at(b.TypeRange),
			Detail:  "Hosts are looked for before anything is known about one of them.",
			Hint:    "declare hosts and groups first, or in a file of their own",
			Related: []diag.Related{{Message: why.Summary, Range: why.Range}}})
	}
	return list
}

// world is what scripts see of an evaluation.
type world struct{ e *evaluator }

// Variable declares a variable of a script.
func (w *world) Variable(b *syntax.Block) (cty.Value, diag.List) {
	e, name := w.e, b.Labels[0]
	before := len(e.list)
	e.declareVariable(b)
	list := slices.Clone(e.list[before:])
	e.list = e.list[:before]
	called(list, 0, b.Calls)
	v, ok := e.root.Variables["var."+name]
	if !ok {
		v = cty.DynamicVal
	}
	return v, list
}

func (e *evaluator) declareVariable(b *syntax.Block) {
	d := &decoder{shapes: e.site.shapes, site: e.site}
	known := e.site.variables[b.Labels[0]]
	d.variable(b)
	e.list.Add(d.list...)
	v := e.site.variables[b.Labels[0]]
	if v == nil || v == known {
		return
	}
	v.byScript = true
	e.link(func(l *linker) {
		l.attribute(v.given, scope{valuesOf: "the default of a variable"})
		l.validations(v)
	})
	if v.given != nil {
		e.give(v.Name, eval.LevelDefault, e.value(v.given.Expr, e.root), at(v.given.Range()))
	}
	for _, t := range e.scripted.texts {
		if t.name == v.Name {
			e.text(t.level, t.source, t.name, t.text)
		}
	}
	order := levels()
	slices.SortStableFunc(e.given[v.Name], func(a, b eval.Given) int {
		return cmp.Compare(slices.Index(order, a.Level), slices.Index(order, b.Level))
	})
	e.resolveOr(v, e.scripted.blind)
	e.validate(v)
}

// levels are in the order of their precedence.
func levels() []string {
	return []string{eval.LevelDefault, eval.LevelSite, eval.LevelComponent, eval.LevelRole, eval.LevelGroup, eval.LevelHost,
		eval.LevelEnvironment, eval.LevelVarFile, eval.LevelVar}
}

// Value gives a variable of another language, a fact, or what a host is.
func (w *world) Value(kind, name string) (cty.Value, error) {
	e := w.e
	before := len(e.list)
	v := cty.DynamicVal
	switch {
	case kind == "var" && e.site.variables[name] == nil:
		return v, &eval.HintError{Message: fmt.Sprintf("var.%s is not declared", name), Hint: undeclaredHint("var", name, e.site.variableNames())}
	case kind == "var":
		if known, ok := e.root.Variables["var."+name]; ok { // a file of functions runs before there are values
			v = known
		}
	case kind == "fact" && e.scripted != nil && e.scripted.blind && e.target.Facts == nil:
	case kind == "fact" && name == "":
	case kind == "fact":
		v = e.fact(&syntax.Need{Kind: kind, Name: name})
		if known, ok := e.root.Variables["fact."+name]; ok {
			v = known
		}
	case kind == "host" && name != "name" && e.scripted != nil && e.scripted.blind:
	case kind == "host":
		v = e.hostValue(&syntax.Need{Kind: kind, Name: name})
	}
	if len(e.list) > before {
		d := e.list[before]
		e.list = e.list[:before]
		return v, &eval.HintError{Message: d.Summary, Hint: d.Hint}
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
