package graph

import (
	"fmt"

	"github.com/agext/levenshtein"
)

// suggest gives the hint "did you mean …?" for the nearest of names, or "".
func suggest(name string, names []string) string {
	best, distance := "", len(name)/3+1
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); d < distance || d == distance && best != "" && n < best {
			best, distance = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", best)
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
