package program

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// output is a value that a component gives to who uses it, and a host to others.
type output struct {
	*expr.Variable // holds the value to its type
	role           string
	src            hcl2.Range
	value          *syntax.Attribute
}

// Owner is the role that declares it.
func (o *output) Owner() string { return o.role }

func (d *decoder) output(b *syntax.Block) {
	d.check(b.Body, d.shapes.Output, nil)
	if !d.identifier(b) {
		return
	}
	out := &output{Variable: &expr.Variable{Name: b.Labels[0], Range: rangeOf(b.Header)}, role: d.role, src: b.Header, value: b.Body.Attribute("value")}
	d.literal(b.Body, "description", cty.String, func(v cty.Value) { out.Description = v.AsString() })
	d.literal(b.Body, "sensitive", cty.Bool, func(v cty.Value) { out.Sensitive = v.True() })
	if out.Type, out.Defaults = d.typeOf(b.Body); out.Defaults != nil || !out.Type.Equals(out.Type.WithoutOptionalAttributesDeep()) {
		d.errorAt(b.Body.Attribute("type").Range(), "write the type without optional(), and give all attributes",
			"the type of the output %q has optional attributes", out.Name)
		return
	}
	switch {
	case out.value == nil:
		d.errorAt(b.Header, "add value = …", "the output %q has no value", out.Name)
		return
	case d.site.names.IsRoot(out.Name):
		d.errorAt(b.LabelRanges[0], "references would find the declarations of that name; choose another name",
			"an output cannot be named %q, which is a word of the language", out.Name)
		return
	}
	if first, ok := d.site.outputs.Add(out.Name, out); !ok {
		d.taken("output."+out.Name, b.Header, rangeOf(first.src), first.role)
	}
}

// component decodes a component, and reads its directory.
func (d *decoder) component(out *declaration, b *syntax.Block) {
	before := len(d.list)
	d.check(b.Body, d.shapes.Component, nil)
	checked := len(d.list)
	d.sharedAttributes(out, b.Body)
	out.kind, out.args = states.BlockKind, b.Body.Attribute("vars")
	out.component = emptyProgram(d.site)
	out.entry.Component = &expr.ComponentEntry{Names: out.component.names, Open: true}
	source := b.Body.Attribute("source")
	if source == nil || isNull(source) {
		d.errorAt(b.Header, `add source = "./DIR", or "std/NAME"`, "%s has no source", out.base)
		return
	}
	d.literal(b.Body, "source", cty.String, func(v cty.Value) {
		inner := d.open(v.AsString(), source.Range())
		if inner == nil {
			return
		}
		out.component = inner
		inner.inputHints(d.list[before:checked], b.Body)
		out.entry.Component = &expr.ComponentEntry{Names: inner.names, Open: inner.broken || inner.dir.Scripts != nil,
			Outputs: inner.outputs.Names()}
	})
}

// isNull reports whether an attribute is null, as if it were not given.
func isNull(a *syntax.Attribute) bool {
	v, diags := a.Expr.Value(nil)
	return !diags.HasErrors() && v.IsNull()
}

// inputHints says of attributes that a component's block does not have, and
// that are variables of the component, where they belong.
func (p *Program) inputHints(list diag.List, b *syntax.Body) {
	for _, a := range b.Attributes {
		if !p.variables.Has(a.Name) {
			continue
		}
		for i := range list {
			if list[i].Range == rangeOf(a.NameRange) {
				list[i].Hint = fmt.Sprintf("it is a variable of the component: write vars = { %s = … }", a.Name)
			}
		}
	}
}

// emptyProgram stands for a component whose directory could not be read.
func emptyProgram(of *Program) *Program {
	names := expr.NewNamespace(func(name string) bool { return of.options.Registry.Lookup(name) != nil })
	names.Modules = of.options.Registry.Lookup
	return &Program{dir: &Directory{Name: of.dir.Name, FS: of.dir.FS}, options: of.options, shapes: of.shapes,
		names: names, components: of.components, broken: true}
}

// open gives the program of a component's directory, each read once; nil when
// it cannot be had, which is reported.
func (d *decoder) open(source string, src hcl2.Range) *Program {
	if d.site.options.Open == nil {
		d.errorAt(src, "leave it out", "components cannot be used here")
		return nil
	}
	dir, err := d.site.options.Open(d.site.dir.Name, source)
	if err != nil {
		d.list.Add(diag.Diagnose(err, rangeOf(src)))
		return nil
	}
	if i := slices.Index(d.site.ancestors, dir.Name); i >= 0 {
		names := append(slices.Clone(d.site.ancestors[i:]), dir.Name)
		d.errorAt(src, "a component cannot contain itself; take what both need into a third one",
			"components contain each other: %s", strings.Join(names, " → "))
		return nil
	}
	if p := d.site.components[dir.Name]; p != nil {
		return p
	}
	p, list := parseDirectory(dir, d.site.options, d.site)
	d.list.Add(list...)
	d.refuseHosts(p)
	d.site.components[dir.Name] = p
	return p
}

// refuseHosts reports what only a site declares, in a component.
func (d *decoder) refuseHosts(p *Program) {
	for _, h := range p.hosts {
		d.errorAt(h.src, "declare hosts in the site", "a component declares no hosts")
	}
	for _, g := range p.groups {
		d.errorAt(g.src, fmt.Sprintf("declare %ss in the site", g.kind()), "a component declares no %ss", g.kind())
	}
	for _, i := range p.inventories {
		d.errorAt(i.src, "declare the inventory in the site", "a component declares no inventory")
	}
	if p.rollout != nil {
		d.errorAt(p.rollout.src, "declare the rollout in the site", "a component declares no rollout")
	}
	for _, name := range p.variables.Names() {
		if v := p.variables.First(name); v.Export {
			d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the variable %q is an input of a component, and cannot be exported", name), Range: v.Range,
				Hint: "export a variable of the site"})
		}
	}
	for _, r := range p.roles {
		d.errorAt(r.src, "declare roles in the site", "a component declares no roles")
	}
}

// expandComponent makes the evaluators of a component's instances, once, and
// evaluates their variables.
func (e *evaluator) expandComponent(d *declaration) {
	if e.expandedComponents[d.base] {
		return
	}
	e.expandedComponents[d.base] = true
	e.expand(d)
	for _, in := range e.instancesByBase[e.prefix+d.base] {
		if e.optionsOf(in).LeftOut {
			e.markEmpty(in.decl.component, in.address+".")
			e.omittedPrefixes = append(e.omittedPrefixes, in.address+".")
			continue
		}
		inner := newEvaluator(e.evaluation, in.decl.component, in.address+".")
		in.inner, inner.variables.instance = inner, in
		e.takeInputs(inner, in)
		inner.preparation().begin(false)
	}
}

// takeInputs evaluates the values that a component's block gives its variables.
func (e *evaluator) takeInputs(inner *evaluator, in *instance) {
	names := inner.site.variables.Names()
	items, known := e.items(in.decl.args, e.context(in), "vars")
	if !known {
		inner.doubtful[in.address] = true
		inner.variables.incomplete = true
	}
	for _, item := range items {
		if !inner.site.variables.Has(item.name) {
			if inner.site.broken {
				continue
			}
			unknown := func() {
				names = inner.site.variables.Names()
				hint := cmp.Or(diag.DidYouMean(item.name, names), diag.Choices(names),
					fmt.Sprintf("declare it in the component: variable %q { … }", item.name))
				e.errorAt(item.nameRange, hint, "%s has no variable %q", in.decl.base, item.name)
			}
			if !inner.variables.postpone(item.name, unknown) {
				unknown()
				continue
			}
		}
		inner.variables.inputs = append(inner.variables.inputs, item)
	}
}

// componentValue gives the outputs of a component: an object, or one for each
// instance by its key.
func (e *evaluator) componentValue(name string) cty.Value {
	key := "component." + name
	if v, ok := e.root.Variables[key]; ok {
		return v
	}
	d := e.declarationOf(key)
	if e.reportCycle(key) {
		return cty.DynamicVal
	}
	e.visiting = append(e.visiting, key)
	e.expandComponent(d)
	values := map[string]cty.Value{}
	for _, in := range e.outputInstances(d) {
		v := e.outputs(in)
		if in.each == nil {
			values = map[string]cty.Value{"": v}
			break
		}
		values[in.each.key] = v
	}
	e.visiting = e.visiting[:len(e.visiting)-1]
	v, single := values[""]
	if !single {
		v = cty.ObjectVal(values)
	}
	if e.doubtful[e.prefix+d.base] {
		v = cty.DynamicVal
	}
	e.root.Variables[key] = v
	return v
}

// outputInstances gives the instances of a component. One in a role that the
// host does not have gives what it would give if it were left out.
func (e *evaluator) outputInstances(d *declaration) []*instance {
	if e.appliesToHost(d) {
		return e.instancesByBase[e.prefix+d.base]
	}
	var out []*instance
	if d.group != nil {
		for _, one := range d.group {
			out = append(out, &instance{decl: one, each: &each{key: *one.key}})
		}
		return out
	}
	turns, ok := e.forEach(d.forEach, e.root)
	if !ok {
		e.doubtful[e.prefix+d.base] = true
	}
	for _, turn := range turns {
		out = append(out, &instance{decl: d, each: turn})
	}
	return out
}

// outputs evaluates what an instance gives; all null where it is left out.
func (e *evaluator) outputs(in *instance) cty.Value {
	values := map[string]cty.Value{}
	if in.inner != nil && in.inner.site.broken { // why has been reported
		return cty.DynamicVal
	}
	if in.inner == nil {
		for _, d := range e.site.byBase.All(in.decl.base) { // in roles that the host does not have, too
			for _, name := range d.component.outputNames() {
				values[name] = cty.NullVal(cty.DynamicPseudoType)
			}
		}
		return cty.ObjectVal(values)
	}
	if in.inner.site.broken {
		return cty.DynamicVal // what is not declared may be, once that is mended
	}
	for _, name := range in.inner.site.outputs.Names() {
		values[name] = in.inner.outputValue(in.inner.site.outputs.First(name))
	}
	return cty.ObjectVal(values)
}

// outputNames lists the outputs of a component that is not evaluated: those of
// scripts as far as they are written out.
func (p *Program) outputNames() []string {
	names := p.outputs.Names()
	if p.dir.Scripts != nil {
		for _, b := range p.dir.Scripts.Calls("output") {
			if name, ok := label(b); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// markEmpty notes that references into a component that is left out mean
// nothing.
func (e *evaluator) markEmpty(p *Program, prefix string) {
	for _, d := range p.declarations {
		e.empty = append(e.empty, prefix+d.base)
		e.bases[prefix+d.base] = d
		if d.component != nil {
			e.markEmpty(d.component, prefix+d.base+".")
		}
	}
}

// component evaluates what an instance of a component declares: a block around
// all of it.
func (e *evaluator) component(ctx context.Context, out *states.Declaration, in *instance) error {
	e.out = append(e.out, *out)
	at := len(e.out) - 1
	if in.inner == nil {
		return nil
	}
	if err := in.inner.declarations(ctx); err != nil {
		return err
	}
	listed := map[string]bool{}
	for i := at + 1; i < len(e.out); i++ {
		for _, list := range [][]states.Ref{e.out[i].Members, e.out[i].Rescue, e.out[i].Always} {
			for _, r := range list {
				listed[r.Address] = true
			}
		}
	}
	// What stands in a list of a block within, or in a component within, is a
	// member of that.
	for i := at + 1; i < len(e.out); i++ {
		d := &e.out[i]
		if in.inner.owns(d) && !listed[d.Address] && !listed[d.Base] {
			e.out[at].Members = append(e.out[at].Members, states.Ref{Address: d.Address, Range: d.Range})
		}
	}
	return nil
}

// owns reports whether a declaration belongs to this directory, rather than to
// a component in it.
func (e *evaluator) owns(d *states.Declaration) bool {
	in := e.instances[d.Address]
	return in != nil && in.owner == e
}
