package program

import (
	"cmp"
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// scriptState is what an evaluator keeps while the scripts of its directory run:
// what is given to variables that they may still declare.
type scriptState struct {
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

// postpone keeps the report that a variable is not declared until scripts have
// run; false: there are none.
func (e *variableValues) postpone(name string, report func()) bool {
	if e.scripts == nil {
		return false
	}
	e.scripts.pending = append(e.scripts.pending, pendingVariable{name, report})
	return true
}

// reportUndeclared reports a variable that is given a value and not declared, or
// keeps that for later: then it is true.
func (e *variableValues) reportUndeclared(name string, src hcl2.Range) bool {
	report := func() {
		e.errorAt(src, undeclaredHint("var", name, e.site.variables.Names()), "var.%s is not declared", name)
	}
	if e.postpone(name, report) {
		return true
	}
	report()
	return false
}

// preparation evaluates what comes before the declarations of a directory: hosts,
// functions and variables, and its scripts, where there are some.
type preparation struct {
	*expressions
	variables *variableValues
}

func (e *evaluator) preparation() preparation { return preparation{e.expressions, e.variables} }

// begin evaluates what comes first: hosts, and variables. Where there are
// scripts they run here, and the evaluator goes on with a program of its own,
// which has what they declare. need says that the host must be declared.
func (e preparation) begin(need bool) {
	if e.site.dir.Scripts == nil {
		e.loadFunctions()
		if e.prefix == "" {
			e.variables.resolveForHosts()
			hostReader{e.expressions}.inventory(need)
		}
		e.reportTwice()
		e.variables.evaluate()
		e.reportUndeclaredData()
		e.shareHosts()
		return
	}
	if e.prefix == "" {
		e.findHosts(need)
	}
	e.runScripts(false)
	e.reportTwice()
	e.reportUndeclaredData()
}

// shareHosts lets expressions share what they ask of all hosts with other evaluations.
func (e preparation) shareHosts() {
	if e.hosts.lists != nil && !e.hosts.incomplete {
		e.root.Variables[expr.SharedName] = expr.SharedKey(e.hosts.lists, e.exports, e.hostFacts)
	}
}

// takeInventory finds the hosts that a site declares, whatever the host.
func (e preparation) takeInventory() {
	if e.site.dir.Scripts == nil {
		e.variables.resolveForHosts()
		hostReader{e.expressions}.inventory(false)
		return
	}
	e.findHosts(false)
}

// reparse makes a program of the same sources that has nothing but its variables:
// linking rewrites expressions, so that each evaluation needs its own.
func (p *Program) reparse(list *diag.List) *Program {
	q := &Program{dir: p.dir, options: p.options, shapes: p.shapes, inventoryCache: p.inventoryCache, documents: p.documents, names: emptyProgram(p).names,
		components: maps.Clone(p.components), ancestors: p.ancestors, roles: map[string]*role{}}
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
				if name, ok := label(sub); sub.Type == "role" && ok && inner.Type == "variable" {
					d.role = name
					d.variable(inner)
					d.role = ""
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
func (e preparation) decodeRest(scripts []syntax.Script) {
	d := &decoder{shapes: e.site.shapes, site: e.site, variables: true}
	all := append(e.site.bodies, scripts...)
	slices.SortStableFunc(all, func(a, b syntax.Script) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range all {
		d.root(s.Body, s.Name)
	}
	for _, decl := range e.site.declarations {
		decl.sortInstances()
	}
	if e.prefix != "" {
		d.refuseHosts(e.site)
	}
	e.list.Add(d.list...)
}

func (e *expressions) link(what func(*linker)) {
	l := newLinker(e.site, e.site.broken)
	what(l)
	e.scriptSecrets = append(e.scriptSecrets, l.secrets...)
	e.list.Add(l.list...)
}

// runScripts runs the scripts, and makes a program of all that the directory
// declares. blind: only hosts, groups and roles are looked for, so that what
// fails for the lack of a value is no mistake as long as none of them is missed.
func (e preparation) runScripts(blind bool) {
	before := len(e.list)
	e.site = e.site.reparse(&e.list)
	e.scripts.blind = blind
	e.loadFunctions()
	e.link(func(l *linker) { l.values() })
	e.variables.resolveAll(blind)
	if !blind && e.prefix == "" {
		e.exports = e.variables.scriptExports()
	}
	found, list := e.site.dir.Scripts.Run(e.ctx, &world{e})
	if list.HasErrors() {
		// What is not declared now may be declared once that is mended.
		e.site.broken = !blind
	}
	if blind {
		e.list = e.list[:before]
		list = e.missedHosts(found, list)
	}
	e.list.Add(list...)
	if !e.site.broken && !blind {
		for _, p := range e.scripts.pending {
			if !e.site.variables.Has(p.name) {
				p.report()
			}
		}
	}
	e.scripts = nil
	before = len(e.list)
	e.decodeRest(found)
	wrong := e.site.resolveRoles()
	if blind { // it may not have come to all roles
		e.list = append(e.list[:before], aboutHosts(found, e.list[before:])...)
		e.link(func(l *linker) { l.inventory() })
		return
	}
	e.list.Add(wrong...)
	e.link(func(l *linker) { l.references() })
	e.variables.reportHostVariables()
	for _, v := range e.ownVariables() {
		if !v.byScript {
			e.variables.validate(v)
		}
	}
}

// resolveAll gives the variables of sources without a program their values. A
// blind run may lack those that hosts give.
func (e *variableValues) resolveAll(blind bool) {
	e.collect(false)
	for _, v := range e.ownVariables() {
		e.resolveOrUnknown(v, blind)
	}
}

// resolveOrUnknown gives a variable its value; unknown, without a word, where a blind
// run has none.
func (e *variableValues) resolveOrUnknown(v *variable, blind bool) {
	if blind && len(e.assignments[v.Name]) == 0 {
		e.root.Variables["var."+v.Name] = cty.DynamicVal
		return
	}
	e.resolve(v)
}
