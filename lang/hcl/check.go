package hcl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/states"
)

// decoder finds the declarations in trees.
type decoder struct {
	shapes *shapes
	site   *Program
	list   diag.List
}

func (d *decoder) errorAt(r hcl2.Range, hint, summary string, args ...any) {
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(summary, args...), Hint: hint, Range: at(r)})
}

// check reports attributes and blocks that do not belong into a body. extra are
// attributes beyond the shape's: a module's. It says whether there are any.
func (d *decoder) check(b *body, in *shape, extra *states.Module) (wrong bool) {
	before := len(d.list)
	for _, a := range b.attributes {
		if slices.Contains(in.attributes, a.name) || extra != nil && extra.Attribute(a.name) != nil {
			continue
		}
		d.unknownAttribute(a, in, extra)
	}
	for _, sub := range b.blocks {
		inside, labels := d.shapes.blockOf(in, sub.typ)
		if inside == nil {
			d.unknownBlock(sub, in, extra)
			continue
		}
		if len(sub.labels) != labels {
			d.wrongLabels(sub, labels)
		}
	}
	return len(d.list) > before
}

func (d *decoder) unknownAttribute(a *attribute, in *shape, module *states.Module) {
	names := slices.Clone(in.attributes)
	what := in.what
	if module != nil {
		what = "a " + module.Name
		for _, m := range module.Attributes {
			if !m.Out {
				names = append(names, m.Name)
			}
		}
	}
	_, isBlock := in.blocks[a.name]
	switch {
	case slices.Contains(notYet(), a.name):
		d.errorAt(a.nameRange, "leave it out", "%s is not supported yet", a.name)
	case isBlock:
		d.errorAt(a.nameRange, fmt.Sprintf("write %s { … } without =", a.name), "%s is a block, not an attribute", a.name)
	case in.parts && d.shapes.registry.Lookup(a.name) != nil:
		d.errorAt(a.nameRange, fmt.Sprintf("write %s \"LABEL\" { … }", a.name), "%s is a block with a label", a.name)
	case d.shapes.options[a.name] != nil:
		d.errorAt(a.nameRange, "", "the option %s cannot stand on %s", a.name, what)
		d.hint(placesOf(d.shapes.options[a.name]))
	default:
		d.errorAt(a.nameRange, eval.DidYouMean(a.name, names), "%s has no attribute %q", what, a.name)
		switch {
		case module != nil:
			d.hint(fmt.Sprintf("tenet doc %s lists its attributes", module.Name))
		case len(names) == 0:
			d.hint(fmt.Sprintf("it has blocks only; a value that others use stands in one: locals { %s = … }", a.name))
		default:
			d.hint("it has " + strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", "))
		}
	}
}

// hint gives the last diagnostic a hint if it has none.
func (d *decoder) hint(text string) {
	last := &d.list[len(d.list)-1]
	last.Hint = cmp.Or(last.Hint, text)
}

func placesOf(o *eval.Option) string {
	var names []string
	for _, p := range []struct {
		on   eval.Place
		name string
	}{{eval.OnPart, "parts"}, {eval.OnState, "states"}, {eval.OnRun, "runs"}, {eval.OnBlock, "blocks"}} {
		if o.On&p.on != 0 {
			names = append(names, p.name)
		}
	}
	return "it belongs to " + strings.Join(names, ", ")
}

func (d *decoder) unknownBlock(b *block, in *shape, module *states.Module) {
	names := d.shapes.blockNames(in)
	known := slices.Contains(d.shapes.blockNames(d.shapes.root), b.typ)
	switch {
	case slices.Contains(notYet(), b.typ):
		d.errorAt(b.typeRange, "leave it out", "%s is not supported yet", b.typ)
	case slices.Contains(in.attributes, b.typ) || module != nil && module.Attribute(b.typ) != nil:
		d.errorAt(b.typeRange, fmt.Sprintf("write %s = …", b.typ), "%s is an attribute, not a block", b.typ)
	case known:
		d.errorAt(b.typeRange, "declare it at top level", "%s cannot stand within %s", b.typ, in.what)
	case in.parts:
		hint := cmp.Or(eval.DidYouMean(b.typ, names), "tenet doc lists all types of parts")
		d.errorAt(b.typeRange, hint, "there is no type of part or declaration %q", b.typ)
	case module != nil:
		d.errorAt(b.typeRange, cmp.Or(eval.DidYouMean(b.typ, names), fmt.Sprintf("tenet doc %s lists its attributes", module.Name)),
			"a %s has no block %q", module.Name, b.typ)
	default:
		d.errorAt(b.typeRange, cmp.Or(eval.DidYouMean(b.typ, names), "leave it out"), "%s has no block %q", in.what, b.typ)
	}
}

func (d *decoder) wrongLabels(b *block, want int) {
	switch {
	case len(b.labels) > want:
		hint := "leave it out"
		if want > 0 {
			hint = "give one label"
		}
		d.errorAt(b.labelRanges[want], hint, "%s has one label too many", b.typ)
	default:
		d.errorAt(b.header, fmt.Sprintf("write %s \"NAME\" { … }", b.typ), "%s needs a label", b.typ)
	}
}

// label gives a block's only label; false when it has none or too many, which
// check has reported.
func label(b *block) (string, bool) {
	if len(b.labels) != 1 {
		return "", false
	}
	return b.labels[0], true
}

// identifier reports a label that must be an identifier, and is not.
func (d *decoder) identifier(b *block) bool {
	name, ok := label(b)
	if !ok {
		return false
	}
	if !states.IsIdentifier(name) {
		d.errorAt(b.labelRanges[0], "use letters, digits, _ and -, and begin with a letter",
			"%q is no name for a %s", name, b.typ)
		return false
	}
	return true
}
