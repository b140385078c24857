package program

import (
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// collection checks a collection, which was looked for before anything was parsed.
func (d *decoder) collection(b *syntax.Block) {
	wrong := d.check(b.Body, d.shapes.Collection, nil)
	if !d.identifier(b) || wrong {
		return
	}
	name := b.Labels[0]
	if first, taken := d.site.collections[name]; taken {
		d.duplicate("collection."+name, b.Header, rangeOf(first))
		return
	}
	if d.site.collections == nil {
		d.site.collections = map[string]hcl2.Range{}
	}
	d.site.collections[name] = b.Header
	source := b.Body.Attribute("source")
	switch {
	case name == "std":
		d.errorAt(b.LabelRanges[0], "choose another name", "std names what is part of the program")
		return
	case source == nil:
		d.errorAt(b.Header, `add source = "./DIR"`, "the collection %q has no source", name)
		return
	case d.site.options.Collection == nil:
		d.errorAt(b.Header, "leave it out", "collections cannot be used here")
		return
	}
	ok := false
	d.literal(b.Body, "source", cty.String, func(cty.Value) { ok = true })
	modules := b.Body.Attribute("modules")
	if !d.literalNames(modules) || !ok {
		return
	}
	module, err := d.site.options.Collection(d.site.dir.Name, name)
	if err == nil {
		return
	}
	at := source.Range()
	if module != "" && modules != nil {
		at = modules.Range()
	}
	d.list.Add(diag.Diagnose(err, rangeOf(at)))
}

// literalNames reports a list of names that is not written out; nil is none.
func (d *decoder) literalNames(a *syntax.Attribute) bool {
	if a == nil {
		return true
	}
	hint := fmt.Sprintf(`write %s = ["NAME"]`, a.Name)
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		d.errorAt(a.Range(), hint, "%s cannot be computed: they are known before anything else", a.Name)
		return false
	}
	if _, err := expr.Texts(v); err != nil {
		d.errorAt(a.Range(), hint, "%s: %v", a.Name, err)
		return false
	}
	return true
}
