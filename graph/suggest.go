package graph

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// suggest gives the hint "did you mean …?" for the nearest of names, or "".
func suggest(name string, names []string) string {
	near := diag.Nearest(name, slices.Sorted(slices.Values(names)))
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", near)
}

// names lists what a reference may name.
func (p *planner) names() []string {
	var names []string
	for _, d := range p.decls {
		if d.confirms != nil {
			continue
		}
		names = append(names, d.Address)
		if d.Base != d.Address {
			names = append(names, d.Base)
		}
	}
	return names
}
