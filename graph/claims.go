package graph

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// claimOf is a claim, and the part that makes it.
type claimOf struct {
	states.Claim
	wish
}

// subject is one side of a claim's pair.
type subject struct {
	relation, name string
	is             bool // the second side
}

// claims are what the parts of a site claim, by both sides of their pairs.
type claims struct {
	by     map[subject][]claimOf
	order  []subject
	warned map[[2]*states.PartDeclaration]bool
}

// add notes what a part claims.
func (c *claims) add(m *states.Module, w wish) {
	if m.Claims == nil {
		return
	}
	for _, claim := range m.Claims(w.part.Values, w.d.ensureOf(w.part) == states.Absent) {
		if !claim.OnlyIs {
			c.put(subject{claim.Relation, claim.Of, false}, claimOf{claim, w})
		}
		if claim.Is != "" && !claim.OnlyOf && !claim.Within {
			c.put(subject{claim.Relation, claim.Is, true}, claimOf{claim, w})
		}
	}
}

func (c *claims) put(a subject, one claimOf) {
	if c.by == nil {
		c.by, c.warned = map[subject][]claimOf{}, map[[2]*states.PartDeclaration]bool{}
	}
	if c.by[a] == nil {
		c.order = append(c.order, a)
	}
	c.by[a] = append(c.by[a], one)
}

// warnClaimConflicts warns of parts of different types or keys that claim the contrary of
// one another; of each that excludes others, once.
func (p *planner) warnClaimConflicts(c *claims) {
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
			if k := slices.IndexFunc(all, func(other claimOf) bool { return isExcluded(a, all, one, other) }); k >= 0 {
				first, second := all[min(i, k)], all[max(i, k)]
				if pair := [2]*states.PartDeclaration{first.part, second.part}; !c.warned[pair] {
					c.warned[pair] = true
					p.warnClaimConflict(first, second)
				}
			}
		}
	}
}

// isExcluded reports whether what another part claims is not so if one is right, which
// excludes all that its part does not claim.
func isExcluded(a subject, all []claimOf, one, other claimOf) bool {
	if one.part == other.part || one.part.Type == other.part.Type && one.part.Key == other.part.Key {
		return false
	}
	says := func(c claimOf) string {
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

func (p *planner) warnClaimConflict(a, b claimOf) {
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
