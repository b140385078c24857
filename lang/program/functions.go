package program

import (
	"fmt"
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/syntax"
)

// library is functions "NAME" { source = "lib.star" }.
type library struct {
	source string
	src    hcl2.Range // of the source
	header hcl2.Range // of the name
}

func (d *decoder) functions(b *syntax.Block) {
	d.check(b.Body, d.shapes.Functions, nil)
	if !d.identifier(b) {
		return
	}
	name := b.Labels[0]
	if first := d.site.libraries[name]; first != nil {
		d.duplicate("functions."+name, b.Header, rangeOf(first.header))
		return
	}
	a := b.Body.Attribute("source")
	if a == nil {
		d.errorAt(b.Header, `add source = "lib.star"`, "functions %q has no source", name)
		return
	}
	out := &library{src: a.Range(), header: b.Header}
	d.literal(b.Body, "source", cty.String, func(v cty.Value) { out.source = v.AsString() })
	if out.source == "" {
		return // and that was said, or it is null
	}
	if d.site.libraries == nil {
		d.site.libraries = map[string]*library{}
	}
	d.site.libraries[name] = out
}

// loadFunctions makes the functions of scripts known to expressions, as NAME::fn.
func (e preparation) loadFunctions() {
	for _, name := range slices.Sorted(maps.Keys(e.site.libraries)) {
		l := e.site.libraries[name]
		if e.site.dir.Library == nil {
			e.errorAt(l.src, "leave it out", "functions of scripts cannot be used here")
			continue
		}
		functions, list := e.site.dir.Library.Functions(e.ctx, l.source, &world{e})
		for i := range list {
			if list[i].Range.IsZero() {
				list[i].Range = rangeOf(l.src)
			}
		}
		e.list.Add(list...)
		if len(functions) == 0 && !list.HasErrors() {
			e.errorAt(l.src, "define them with def, with names that do not begin with _", "%s defines no functions", l.source)
		}
		for fn, impl := range functions {
			e.root.Functions[fmt.Sprintf("%s::%s", name, fn)] = impl
		}
	}
}
