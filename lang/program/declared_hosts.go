package program

import (
	"fmt"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// declaredHost is a host that the site declares, or one of several that a for_each makes.
type declaredHost struct {
	*hostDecl
	name string
	ctx  *hcl2.EvalContext // with each, where there is a for_each
	// nameRange is where the name stands, or comes from.
	nameRange hcl2.Range
}

// undeclaredHost stands for a host of which only an inventory tells.
func (e hostReader) undeclaredHost(name string, at diag.Range) *declaredHost {
	return &declaredHost{hostDecl: &hostDecl{reach: reach{src: hclRange(at)}}, name: name, ctx: e.root}
}

// declaredHosts finds the hosts that the site declares, in the order of declaration, those of a
// for_each in that of its keys.
func (e hostReader) declaredHosts() []*declaredHost {
	var out []*declaredHost
	first := map[string]*declaredHost{}
	for _, d := range e.site.hosts {
		turns, ok := e.forEach(d.forEach, e.root)
		if !ok {
			e.hosts.incomplete = true
		}
		for _, turn := range turns {
			h := e.declaredHost(d, turn)
			switch same := first[h.name]; {
			case h.name == "":
				e.hosts.incomplete = true
			case same != nil:
				e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("two hosts are named %q", h.name), Range: rangeOf(h.nameRange),
					Hint:    "give one of them another name",
					Related: []diag.Related{{Message: "the first is named here", Range: rangeOf(same.nameRange)}}})
			default:
				first[h.name] = h
				out = append(out, h)
			}
		}
	}
	if len(out) == 0 && len(e.site.hosts) > 0 && len(e.site.inventories) == 0 && !e.hosts.incomplete {
		e.errorAt(e.site.hosts[0].forEach.Range(), "a site that is for one machine declares no host", "the site declares hosts, and there are none: for_each is empty")
	}
	return out
}

// declaredHost gives a host its name; "" where that cannot be had, which is reported.
func (e hostReader) declaredHost(d *hostDecl, turn *each) *declaredHost {
	h := &declaredHost{hostDecl: d, name: d.name, ctx: e.root, nameRange: d.src}
	if turn != nil {
		h.name, h.nameRange, h.ctx = turn.key, d.forEach.Range(), e.root.NewChild()
		h.ctx.Variables = map[string]cty.Value{}
		turn.set(h.ctx, "each.")
	}
	if v, given := e.attribute(d.hostName, h.ctx); given {
		h.nameRange = d.hostName.Range()
		h.name, _ = e.textOf(d.hostName, v)
	} else if d.hostName != nil && !(v.IsKnown() && v.IsNull()) {
		h.name = ""
	}
	if h.name != "" && !site.IsHostName(h.name) {
		hint := "use letters, digits, -, _ and ., and begin with a letter or digit"
		if d.hostName == nil {
			hint += "; or give it another: name = \"web-${each.key}\""
		}
		e.errorAt(h.nameRange, hint, "%q is no name for a host", h.name)
		h.name = ""
	}
	return h
}
