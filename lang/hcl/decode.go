package hcl

import (
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/states"
)

// root finds the declarations of a file.
func (d *decoder) root(b *body, file string) {
	d.check(b, d.shapes.root, nil)
	for _, sub := range b.blocks {
		switch sub.typ {
		case "site":
			d.siteBlock(sub)
		case "variable":
			d.variable(sub)
		case "locals":
			d.locals(sub)
		default:
			d.declaration(sub, file)
		}
	}
}

// declaration enters a state, run, block or top-level part with all that
// stands in it, and gives a reference to it; nil when it is not usable.
func (d *decoder) declaration(b *block, file string) *states.Ref {
	out := &declaration{file: file, src: b.header}
	root := b.typ
	switch root {
	case "state", "run", "block":
		if !d.identifier(b) {
			return nil
		}
	default:
		if _, ok := label(b); !ok || d.shapes.registry.Lookup(root) == nil {
			return nil
		}
		out.topLevel = true
	}
	name, _ := label(b)
	out.base = states.LabelAddress(root, name)
	out.entry = &eval.Entry{Base: out.base, Range: at(b.header), Instances: b.body.attribute("for_each") != nil}
	if first := d.site.names.Declare(root, name, out.entry); first != nil {
		d.duplicate(out.base, b.header, first.Range)
		return nil
	}
	d.site.declarations = append(d.site.declarations, out)
	d.site.byBase[out.base] = out
	switch root {
	case "state":
		d.state(out, b)
	case "run":
		d.run(out, b)
	case "block":
		d.block(out, b, file)
	default:
		d.topPart(out, b, name)
	}
	return &states.Ref{Address: out.base, Range: at(b.header)}
}

func (d *decoder) duplicate(address string, src hcl2.Range, first diag.Range) {
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s is declared twice", address), Range: at(src),
		Hint:    "give one of them another name, or join them",
		Related: []diag.Related{{Message: "first declared here", Range: first}}})
}

func (d *decoder) state(out *declaration, b *block) {
	d.check(b.body, d.shapes.state, nil)
	d.common(out, b.body)
	out.entry.Parts = map[string]*eval.PartEntry{}
	for _, sub := range b.body.blocks {
		switch {
		case sub.typ == "param":
			d.param(out, sub)
		case d.shapes.registry.Lookup(sub.typ) != nil:
			d.statePart(out, sub)
		}
	}
	if b.body.unordered > 1 && out.parallel == nil {
		d.errorAt(b.header, `put them in order, "parts": [{…}, …], or add "parallel": true`,
			"the parts of %s have no order, since they are properties of an object", out.base)
	}
}

// common decodes what states, runs, blocks and top-level parts share.
func (d *decoder) common(out *declaration, b *body) {
	out.forEach = b.attribute("for_each")
	out.parallel, out.lazy, out.deferred = b.attribute("parallel"), b.attribute("lazy"), b.attribute("defer")
	out.options, out.guards = d.options(b), d.guards(b)
}

// options collects the options that have a setter, in the order of the source.
func (d *decoder) options(b *body) []option {
	var out []option
	for _, a := range b.attributes {
		switch a.name {
		case "for_each", "parallel", "lazy", "defer":
			continue
		}
		if o := d.shapes.options[a.name]; o != nil && !o.Block {
			out = append(out, option{o, a})
		}
	}
	for _, sub := range b.blocks {
		if sub.typ != "retry" || len(sub.labels) > 0 {
			continue
		}
		if b.attribute("retry") != nil {
			d.errorAt(sub.typeRange, "give it once", "retry is given twice")
			continue
		}
		d.check(sub.body, d.shapes.retry, nil)
		sub.body.attributes = slices.DeleteFunc(sub.body.attributes, func(a *attribute) bool {
			return !slices.Contains(d.shapes.retry.attributes, a.name)
		})
		out = append(out, option{d.shapes.options["retry"], objectOf(sub)})
	}
	return out
}

func (d *decoder) guards(b *body) []guard {
	var out []guard
	for _, sub := range b.blocks {
		if sub.typ != "only_if" && sub.typ != "unless" {
			continue
		}
		d.check(sub.body, d.shapes.guard, nil)
		g := guard{unless: sub.typ == "unless", src: sub.header,
			exists: sub.body.attribute("exists"), missing: sub.body.attribute("missing"),
			command: sub.body.attribute("command"), wouldChange: sub.body.attribute("would_change")}
		if len(sub.body.attributes) == 0 {
			d.errorAt(sub.header, "give it exists, missing, command or would_change", "%s asks for nothing", sub.typ)
		}
		out = append(out, g)
	}
	return out
}

func (d *decoder) statePart(out *declaration, b *block) {
	p := d.part(b)
	if p == nil {
		return
	}
	if first := out.entry.Parts[p.base]; first != nil {
		d.duplicate(out.base+"."+p.base, b.header, first.Range)
		return
	}
	out.entry.Parts[p.base] = &eval.PartEntry{Base: p.base, Range: at(b.header), Instances: p.forEach != nil}
	out.parts = append(out.parts, p)
}

// part decodes a part; nil when it has no usable label.
func (d *decoder) part(b *block) *part {
	name, ok := label(b)
	module := d.shapes.registry.Lookup(b.typ)
	if !ok || module == nil {
		return nil
	}
	wrong := d.check(b.body, d.shapes.part, module)
	p := &part{module: module, label: name, base: eval.PartName(b.typ, name), src: b.header,
		forEach: b.body.attribute("for_each"), options: d.options(b.body), guards: d.guards(b.body), doubtful: wrong}
	for _, a := range b.body.attributes {
		if module.Attribute(a.name) != nil {
			p.attributes = append(p.attributes, a)
		}
	}
	return p
}

// topPart decodes a part at top level: a state of its own. All its options are
// the state's, but for what only parts have.
func (d *decoder) topPart(out *declaration, b *block, name string) {
	module := d.shapes.registry.Lookup(b.typ)
	wrong := d.check(b.body, d.shapes.topPart, module)
	d.common(out, b.body)
	p := &part{module: module, label: name, base: out.base, src: b.header, doubtful: wrong}
	out.options = slices.DeleteFunc(out.options, func(o option) bool {
		if o.On&eval.OnState == 0 {
			p.options = append(p.options, o)
			return true
		}
		return false
	})
	for _, a := range b.body.attributes {
		if module.Attribute(a.name) != nil {
			p.attributes = append(p.attributes, a)
		}
	}
	out.handler = module.Handler
	out.parts = []*part{p}
}

func (d *decoder) run(out *declaration, b *block) {
	d.check(b.body, d.shapes.run, nil)
	d.common(out, b.body)
	out.kind = states.RunKind
	out.entry.OpenParts = true
	out.state, out.args = b.body.attribute("state"), b.body.attribute("params")
	if out.state == nil {
		d.errorAt(b.header, "add state = state.NAME", "%s names no state", out.base)
	}
}

func (d *decoder) block(out *declaration, b *block, file string) {
	d.check(b.body, d.shapes.block, nil)
	d.common(out, b.body)
	out.kind = states.BlockKind
	out.ordered, out.recovered = b.body.attribute("ordered"), b.body.attribute("recovered")
	lists := map[string]*refList{"members": &out.members, "rescue": &out.rescue, "always": &out.always}
	for name, list := range lists {
		list.given = b.body.attribute(name)
	}
	var inline []*block
	for _, sub := range b.body.blocks {
		switch sub.typ {
		case "rescue", "always":
			d.check(sub.body, d.shapes.inner, nil)
			d.inline(out, sub.typ, lists[sub.typ], sub.body.blocks, file)
		case "only_if", "unless", "retry":
		default:
			if inside, _ := d.shapes.blockOf(d.shapes.block, sub.typ); inside != nil {
				inline = append(inline, sub)
			}
		}
	}
	d.inline(out, "members", &out.members, inline, file)
	if out.members.given == nil && len(inline) == 0 {
		d.errorAt(b.header, "add members = [state.NAME, …], or declare them within the block", "%s has no members", out.base)
	}
}

// inline enters declarations that stand within a block, and makes them members
// of its list.
func (d *decoder) inline(out *declaration, name string, list *refList, blocks []*block, file string) {
	if len(blocks) > 0 && list.given != nil {
		d.errorAt(blocks[0].header, fmt.Sprintf("move it out of the block, and add it to %s", name),
			"%s has its %s as a list already", out.base, name)
	}
	for _, sub := range blocks {
		if ref := d.declaration(sub, file); ref != nil {
			list.inline = append(list.inline, *ref)
		}
	}
}
