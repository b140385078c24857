package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// decoder finds the declarations in trees.
type decoder struct {
	shapes *syntax.Shapes
	site   *Program
	role   string // in whose block we are; empty: none
	list   diag.List
	// variables says that the variables are declared already.
	variables bool
}

func (d *decoder) errorAt(r hcl2.Range, hint, summary string, args ...any) {
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(summary, args...), Hint: hint, Range: rangeOf(r)})
}

// check reports attributes and blocks that do not belong into a body. extra are
// attributes beyond the shape's: a module's. It says whether there are any.
func (d *decoder) check(b *syntax.Body, in *syntax.Shape, extra *states.Module) (wrong bool) {
	before := len(d.list)
	for _, a := range b.Attributes {
		if slices.Contains(in.Attributes, a.Name) || extra != nil && extra.Attribute(a.Name) != nil {
			continue
		}
		d.unknownAttribute(a, in, extra)
	}
	for _, sub := range b.Blocks {
		inside, labels := d.shapes.BlockOf(in, sub.Type)
		if inside == nil {
			d.unknownBlock(sub, in, extra)
			continue
		}
		if len(sub.Labels) != labels {
			d.wrongLabels(sub, labels)
		}
	}
	return len(d.list) > before
}

func (d *decoder) unknownAttribute(a *syntax.Attribute, in *syntax.Shape, module *states.Module) {
	names := slices.Clone(in.Attributes)
	what := in.What
	if module != nil {
		what = expr.Article(module.Name)
		for _, m := range module.Attributes {
			if !m.Out {
				names = append(names, m.Name)
			}
		}
	}
	_, isBlock := in.Blocks[a.Name]
	switch {
	case d.foreignAttribute(a, in, module):
	case isBlock:
		d.errorAt(a.NameRange, blockHint(a), "%s is a block, not an attribute", a.Name)
	case in.Parts && d.shapes.Registry.Lookup(a.Name) != nil:
		label := cmp.Or(plainText(a.Expr.Expression), "LABEL")
		d.errorAt(a.NameRange, fmt.Sprintf("write %s %q { … }", a.Name, label), "%s is a block with a label", a.Name)
	case in == d.shapes.Handler && a.Name == "lazy":
		d.errorAt(a.NameRange, "leave it out; what runs by itself, too, is a state", "a handler is always lazy")
	case d.shapes.Options[a.Name] != nil:
		d.errorAt(a.NameRange, "", "the option %s cannot stand on %s", a.Name, what)
		d.hint(placesOf(d.shapes.Options[a.Name]))
	default:
		d.errorAt(a.NameRange, diag.DidYouMean(a.Name, names), "%s has no attribute %q", what, a.Name)
		one := strings.TrimSuffix(a.Name, "s")
		if _, isBlock := in.Blocks[one]; isBlock {
			d.hint(fmt.Sprintf("did you mean the block %s { … }, without =?", one))
		}
		switch {
		case module != nil:
			d.hint(fmt.Sprintf("tenet doc %s lists its attributes", module.Name))
		case len(names) == 0:
			d.hint(fmt.Sprintf("it has blocks only; a value that others use stands in one: locals { %s = … }", a.Name))
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

func placesOf(o *expr.Option) string {
	var names []string
	for _, p := range []struct {
		on   expr.Place
		name string
	}{{expr.OnPart, "parts"}, {expr.OnState, "states"}, {expr.OnRun, "runs"}, {expr.OnBlock, "blocks"}, {expr.OnComponent, "components"}} {
		if o.On&p.on != 0 {
			names = append(names, p.name)
		}
	}
	return "it belongs to " + strings.Join(names, ", ")
}

func (d *decoder) unknownBlock(b *syntax.Block, in *syntax.Shape, module *states.Module) {
	names := d.shapes.BlockNames(in)
	known := slices.Contains(d.shapes.BlockNames(d.shapes.Root), b.Type)
	switch {
	case slices.Contains(in.Attributes, b.Type) || module != nil && module.Attribute(b.Type) != nil:
		d.errorAt(b.TypeRange, fmt.Sprintf("write %s = …", b.Type), "%s is an attribute, not a block", b.Type)
	case d.foreignBlock(b, in, module):
	case d.shapes.Options[b.Type] != nil:
		d.errorAt(b.TypeRange, placesOf(d.shapes.Options[b.Type]), "the option %s cannot stand on %s", b.Type, in.What)
	case known:
		d.errorAt(b.TypeRange, placementHint(b.Type, in, d.shapes), "%s cannot stand within %s", b.Type, in.What)
	case in.Parts:
		hint := cmp.Or(diag.DidYouMean(b.Type, names), "tenet doc lists all types of parts")
		d.errorAt(b.TypeRange, hint, "there is no type of part or declaration %q", b.Type)
	case module != nil:
		d.errorAt(b.TypeRange, cmp.Or(diag.DidYouMean(b.Type, names), fmt.Sprintf("tenet doc %s lists its attributes", module.Name)),
			"%s has no block %q", expr.Article(module.Name), b.Type)
	default:
		d.errorAt(b.TypeRange, cmp.Or(diag.DidYouMean(b.Type, names), "leave it out"), "%s has no block %q", in.What, b.Type)
	}
}

func (d *decoder) wrongLabels(b *syntax.Block, want int) {
	switch {
	case len(b.Labels) > want:
		hint := "leave it out"
		switch {
		case b.Type == "data": // Terraform's has two
			hint = `data is a document of the site: data "NAME" { file = "…" }; what is known about the host is fact.NAME: tenet facts lists all`
		case want > 0:
			hint = "give one label"
		}
		d.errorAt(b.LabelRanges[want], hint, "%s has one label too many", b.Type)
	default:
		d.errorAt(b.Header, fmt.Sprintf("write %s \"NAME\" { … }", b.Type), "%s needs a label", b.Type)
	}
}

// label gives a block's only label; false when it has none or too many, which
// check has reported.
func label(b *syntax.Block) (string, bool) {
	if len(b.Labels) != 1 {
		return "", false
	}
	return b.Labels[0], true
}

// identifier reports a label that must be an identifier, and is not.
func (d *decoder) identifier(b *syntax.Block) bool {
	name, ok := label(b)
	if !ok {
		return false
	}
	if !states.IsIdentifier(name) {
		d.errorAt(b.LabelRanges[0], "use letters, digits, _ and -, and begin with a letter",
			"%q is no name for %s", name, expr.Article(b.Type))
		return false
	}
	return true
}
