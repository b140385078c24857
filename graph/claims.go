package graph

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// claimed is a claim, and the part that makes it.
type claimed struct {
	states.Claim
	wish
}

// about is one side of a claim's pair.
type about struct {
	relation, name string
	is             bool // the second side
}

// claims are what the parts of a site claim, by both sides of their pairs.
type claims struct {
	by    map[about][]claimed
	order []about
	said  map[[2]*states.PartDeclaration]bool
}

// add notes what a part claims.
func (c *claims) add(m *states.Module, w wish) {
	if m.Claims == nil {
		return
	}
	for _, claim := range m.Claims(w.part.Values, w.d.ensureOf(w.part) == states.Absent) {
		if !claim.OnlyIs {
			c.put(about{claim.Relation, claim.Of, false}, claimed{claim, w})
		}
		if claim.Is != "" && !claim.OnlyOf && !claim.Within {
			c.put(about{claim.Relation, claim.Is, true}, claimed{claim, w})
		}
	}
}

func (c *claims) put(a about, one claimed) {
	if c.by == nil {
		c.by, c.said = map[about][]claimed{}, map[[2]*states.PartDeclaration]bool{}
	}
	if c.by[a] == nil {
		c.order = append(c.order, a)
	}
	c.by[a] = append(c.by[a], one)
}

// contradictClaims warns of parts of different types or keys that claim the contrary of
// one another; of each that excludes others, once.
func (p *planner) contradictClaims(c *claims) {
	for _, a := range c.order {
		all := c.by[a]
		if len(all) == 1 {
			continue
		}
		compared := 0
		for i, one := range all {
			if excludes := one.OnlyOf && !a.is || one.OnlyIs && a.is; !excludes {
				continue
			}
			if compared++; compared > maxCompared {
				break
			}
			if k := slices.IndexFunc(all, func(other claimed) bool { return excluded(a, all, one, other) }); k >= 0 {
				first, second := all[min(i, k)], all[max(i, k)]
				if pair := [2]*states.PartDeclaration{first.part, second.part}; !c.said[pair] {
					c.said[pair] = true
					p.warnClaims(first, second)
				}
			}
		}
	}
}

// excluded reports whether what another part claims is not so if one is right, which
// excludes all that its part does not claim.
func excluded(a about, all []claimed, one, other claimed) bool {
	if one.part == other.part || one.part.Type == other.part.Type && one.part.Key == other.part.Key {
		return false
	}
	says := func(c claimed) string {
		if a.is {
			return c.Of
		}
		return c.Is
	}
	for _, own := range all {
		if own.part == one.part && (says(own) == says(other) || other.Within && isWithin(other.Claim, says(own), says(other))) {
			return false
		}
	}
	return says(other) != "" && reflect.DeepEqual(conditions(one.wish), conditions(other.wish))
}

// isWithin reports whether a text holds what a claim says.
func isWithin(c states.Claim, text, says string) bool {
	if c.Holds != nil {
		return text != "" && c.Holds(text)
	}
	return strings.Contains(text, says)
}

func (p *planner) warnClaims(a, b claimed) {
	first, second := partAddress(a.d, a.d.Address, a.part), partAddress(b.d, b.d.Address, b.part)
	p.diags.Add(diag.Diagnostic{
		Severity: diag.Warning,
		Summary:  fmt.Sprintf("%s and %s contradict each other", first, second),
		Detail: fmt.Sprintf("The one says %s, the other %s, and no guard tells them apart: each run would undo one and then the other.",
			a.Says, b.Says),
		Hint:    "say it in one of them alone, or give them guards or a `when` that differ",
		Range:   b.part.Range,
		Related: []diag.Related{{Message: first + " is declared here", Range: a.part.Range}},
	})
}
