package program

import (
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// root finds the declarations of a file.
func (d *decoder) root(b *syntax.Body, file string) {
	d.check(b, d.shapes.Root, nil)
	d.contents(b, file)
}

// contents finds the declarations in the body of a file or a role.
func (d *decoder) contents(b *syntax.Body, file string) {
	for _, sub := range b.Blocks {
		if d.role != "" && d.shapes.Role.Blocks[sub.Type] == 0 && sub.Type != "locals" && d.shapes.Registry.Lookup(sub.Type) == nil {
			continue // check has reported it
		}
		switch sub.Type {
		case "site":
			d.siteBlock(sub)
		case "role":
			d.roleBlock(sub, file)
		case "host":
			d.host(sub)
		case "host_group":
			d.group(sub)
		case "cluster":
			d.cluster(sub)
		case "collection":
			d.collection(sub)
		case "rollout":
			d.rollout(sub)
		case "inventory":
			d.inventory(sub)
		case "telemetry":
			d.telemetry(sub)
		case "output":
			d.output(sub)
		case "moved":
			d.movedBlock(sub)
		case "variable":
			if !d.variables {
				d.variable(sub)
			}
		case "functions":
			if !d.variables {
				d.functions(sub)
			}
		case "locals":
			d.locals(sub)
		case "data":
			d.data(sub)
		default:
			d.declaration(sub, file)
		}
	}
}

// declaration enters a state, run, block or top-level part with all that
// stands in it; nil when it is not usable.
func (d *decoder) declaration(b *syntax.Block, file string) *declaration {
	out := &declaration{file: file, src: b.Header, role: d.role, key: b.Instance, generate: b.Generate, calls: b.Calls}
	before := len(d.list)
	defer func() { addCalls(d.list, before, b.Calls) }()
	root := b.Type
	switch root {
	case "state", "handler", "run", "block", "component", "rule":
		if !d.identifier(b) {
			return nil
		}
	default:
		if _, ok := label(b); !ok || d.shapes.Registry.Lookup(root) == nil {
			return nil
		}
		out.topLevel = true
	}
	name, _ := label(b)
	root, out.handler = expr.DeclaredRoot(root), root == "handler"
	out.base = states.LabelAddress(root, name)
	out.entry = &expr.Entry{Base: out.base, Role: d.role, Range: rangeOf(b.Header), Instances: b.Body.Attribute("for_each") != nil || b.Instance != nil, OpenParts: b.Generate != nil}
	first := d.site.names.Declare(root, name, out.entry)
	switch {
	case first == nil:
		d.site.declarations = append(d.site.declarations, out)
		d.site.byBase.Add(out.base, out)
		if out.key != nil {
			out.group = []*declaration{out}
		}
	case !d.join(out, d.site.byBase.By(out.base, d.role)):
		d.taken(out.base, b.Header, first.Range, first.Role)
		return nil
	}
	switch root {
	case "state":
		d.state(out, b)
	case "run":
		d.run(out, b)
	case "rule":
		d.rule(out, b)
	case "block":
		d.block(out, b, file)
	case "component":
		d.component(out, b)
	default:
		d.topPart(out, b, name)
	}
	return out
}

// taken reports a name that something has already: that of the site itself is every host's.
func (d *decoder) taken(address string, src hcl2.Range, first diag.Range, owner string) {
	d.duplicate(address, src, first)
	if owner != d.role {
		d.list[len(d.list)-1].Hint = "what stands at top level is every host's; give one of them another name, or move it into a role"
	}
}

func (d *decoder) duplicate(address string, src hcl2.Range, first diag.Range) {
	hint := "give one of them another name, or join them"
	if first == rangeOf(src) {
		hint = "in a loop, give each turn a key: instance = KEY"
	}
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s is declared twice", address), Range: rangeOf(src), Hint: hint,
		Related: []diag.Related{{Message: "first declared here", Range: first}}})
}

// state decodes a state or a handler.
func (d *decoder) state(out *declaration, b *syntax.Block) {
	shape, _ := d.shapes.BlockOf(d.shapes.Root, b.Type)
	d.check(b.Body, shape, nil)
	d.sharedAttributes(out, b.Body)
	if out.entry.Parts == nil {
		out.entry.Parts = map[string]*expr.PartEntry{}
	}
	for _, sub := range b.Body.Blocks {
		switch {
		case sub.Type == "param":
			d.param(out, sub)
		case d.shapes.Registry.Lookup(sub.Type) != nil:
			d.statePart(out, sub)
		}
	}
	if b.Body.Unordered > 1 && out.parallel == nil {
		d.errorAt(b.Header, `put them in order, "parts": [{…}, …], or add "parallel": true`,
			"the parts of %s have no order, since they are properties of an object", out.base)
	}
}

// sharedAttributes decodes what states, runs, blocks and top-level parts share.
func (d *decoder) sharedAttributes(out *declaration, b *syntax.Body) {
	out.forEach = b.Attribute("for_each")
	out.parallel, out.lazy, out.deferred = b.Attribute("parallel"), b.Attribute("lazy"), b.Attribute("defer")
	out.options, out.guards = d.options(b), d.guards(b)
}

// options collects the options that have a setter, in the order of the source.
func (d *decoder) options(b *syntax.Body) []option {
	var out []option
	for _, a := range b.Attributes {
		switch a.Name {
		case "for_each", "parallel", "lazy", "defer":
			continue
		}
		if o := d.shapes.Options[a.Name]; o != nil && !o.Block {
			out = append(out, option{o, a})
		}
	}
	objects := map[string]*syntax.Shape{"confirm": d.shapes.Confirm, "retry": d.shapes.Retry}
	for i, sub := range b.Blocks {
		shape := objects[sub.Type]
		if shape == nil || len(sub.Labels) > 0 {
			continue
		}
		twice := func(other *syntax.Block) bool { return other.Type == sub.Type }
		if b.Attribute(sub.Type) != nil || slices.ContainsFunc(b.Blocks[:i], twice) {
			d.errorAt(sub.TypeRange, "give it once", "%s is given twice", sub.Type)
			continue
		}
		if d.check(sub.Body, shape, nil) {
			continue
		}
		out = append(out, option{d.shapes.Options[sub.Type], objectOf(sub)})
	}
	return out
}

func (d *decoder) guards(b *syntax.Body) []guard {
	var out []guard
	for _, sub := range b.Blocks {
		if sub.Type != "only_if" && sub.Type != "unless" {
			continue
		}
		d.check(sub.Body, d.shapes.Guard, nil)
		g := guard{unless: sub.Type == "unless", src: sub.Header,
			exists: sub.Body.Attribute("exists"), missing: sub.Body.Attribute("missing"),
			command: sub.Body.Attribute("command"), wouldChange: sub.Body.Attribute("would_change")}
		if len(sub.Body.Attributes) == 0 {
			d.errorAt(sub.Header, "give it exists, missing, command or would_change", "%s asks for nothing", sub.Type)
		}
		out = append(out, g)
	}
	return out
}

func (d *decoder) statePart(out *declaration, b *syntax.Block) {
	before := len(d.list)
	defer func() { addCalls(d.list, before, b.Calls) }()
	p := d.part(b)
	if p == nil {
		return
	}
	if first := out.register(p); first != nil {
		d.duplicate(out.base+"."+p.base, b.Header, rangeOf(first.src))
		return
	}
	out.entry.Parts[p.base] = &expr.PartEntry{Base: p.base, Range: rangeOf(b.Header), Instances: p.forEach != nil || p.key != nil}
	out.parts = append(out.parts, p)
}

// part decodes a part; nil when it has no usable label.
func (d *decoder) part(b *syntax.Block) *part {
	name, ok := label(b)
	module := d.shapes.Registry.Lookup(b.Type)
	if !ok || module == nil {
		return nil
	}
	wrong := d.check(b.Body, d.shapes.Part, module)
	p := &part{module: module, label: name, base: expr.PartName(b.Type, name), src: b.Header, key: b.Instance, calls: b.Calls,
		forEach: b.Body.Attribute("for_each"), options: d.options(b.Body), guards: d.guards(b.Body), doubtful: wrong}
	for _, a := range b.Body.Attributes {
		if module.Attribute(a.Name) != nil {
			p.attributes = append(p.attributes, a)
		}
	}
	return p
}

// topPart decodes a part at top level: a state of its own. All its options are
// the state's, but for what only parts have.
func (d *decoder) topPart(out *declaration, b *syntax.Block, name string) {
	module := d.shapes.Registry.Lookup(b.Type)
	wrong := d.check(b.Body, d.shapes.TopPart, module)
	d.sharedAttributes(out, b.Body)
	p := &part{module: module, label: name, base: out.base, src: b.Header, doubtful: wrong}
	out.options = slices.DeleteFunc(out.options, func(o option) bool {
		if o.On&expr.OnState == 0 {
			p.options = append(p.options, o)
			return true
		}
		return false
	})
	for _, a := range b.Body.Attributes {
		if module.Attribute(a.Name) != nil {
			p.attributes = append(p.attributes, a)
		}
	}
	out.handler = module.Handler
	out.parts = []*part{p}
}

func (d *decoder) run(out *declaration, b *syntax.Block) {
	d.check(b.Body, d.shapes.Run, nil)
	d.sharedAttributes(out, b.Body)
	out.kind = states.RunKind
	out.entry.OpenParts = true
	out.state, out.args = b.Body.Attribute("state"), b.Body.Attribute("params")
	if out.state == nil {
		d.errorAt(b.Header, "add state = state.NAME", "%s names no state", out.base)
	}
}

func (d *decoder) block(out *declaration, b *syntax.Block, file string) {
	d.check(b.Body, d.shapes.Block, nil)
	d.sharedAttributes(out, b.Body)
	out.kind = states.BlockKind
	out.ordered, out.recovered = b.Body.Attribute("ordered"), b.Body.Attribute("recovered")
	lists := map[string]*refList{"members": &out.members, "rescue": &out.rescue, "always": &out.always}
	for name, list := range lists {
		list.attr = b.Body.Attribute(name)
	}
	var inline []*syntax.Block
	for _, sub := range b.Body.Blocks {
		switch sub.Type {
		case "rescue", "always":
			d.check(sub.Body, d.shapes.Inner, nil)
			d.inlineDeclarations(out, sub.Type, lists[sub.Type], sub.Body.Blocks, file)
		case "only_if", "unless", "retry", "confirm":
		default:
			if inside, _ := d.shapes.BlockOf(d.shapes.Block, sub.Type); inside != nil {
				inline = append(inline, sub)
			}
		}
	}
	d.inlineDeclarations(out, "members", &out.members, inline, file)
	if out.members.attr == nil && len(inline) == 0 {
		d.errorAt(b.Header, "add members = [state.NAME, …], or declare them within the block", "%s has no members", out.base)
	}
}

// inlineDeclarations enters declarations that stand within a block, and makes them members
// of its list.
func (d *decoder) inlineDeclarations(out *declaration, name string, list *refList, blocks []*syntax.Block, file string) {
	if len(blocks) > 0 && list.attr != nil {
		d.errorAt(blocks[0].Header, fmt.Sprintf("move it out of the block, and add it to %s", name),
			"%s has its %s as a list already", out.base, name)
	}
	for _, sub := range blocks {
		if made := d.declaration(sub, file); made != nil {
			d.site.byBase.By(made.base, d.role).inline = true
			list.inline = append(list.inline, states.Ref{Address: made.base, Range: rangeOf(sub.Header)})
		}
	}
}
