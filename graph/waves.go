package graph

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// betweenBudget bounds the search for what comes between two waves.
const betweenBudget = 1 << 14

// beforeNext tells what comes after a wave of a handler and before the next one, so that the
// two are not one; nil for the last wave.
func (p *planner) beforeNext(wave int) *states.Between {
	f := p.finals[wave]
	next := slices.IndexFunc(p.finals, func(other *final) bool { return other.d == f.d && other.wave == f.wave+1 })
	if f.wave == 0 || next < 0 || !f.d.isState() {
		return nil
	}
	var candidates []int
	for _, i := range p.soft.succ[wave] {
		if i < len(p.finals) && p.finals[i].d != f.d && p.soft.reaches(i, next, betweenBudget) {
			candidates = append(candidates, i)
		}
	}
	for _, i := range p.soft.inPosition(candidates) {
		if required := p.finals[i].requirementOf(p, wave); required != "" {
			return &states.Between{Address: p.finals[i].address, Requires: required}
		}
	}
	for _, i := range candidates {
		if slices.ContainsFunc(p.nodes[p.finals[i].nodes[0]].follows, func(x follow) bool { return x.to == f.d }) {
			return &states.Between{Address: p.finals[i].address}
		}
	}
	return nil
}

// requirementOf gives the address of what a final requires that has settled after a wave.
func (f *final) requirementOf(p *planner, wave int) string {
	for _, x := range f.nodes {
		for _, e := range p.nodes[x].requires {
			if p.finalOf[e.to] == wave || slices.ContainsFunc(e.waits, func(w int) bool { return p.finalOf[w] == wave }) {
				return p.finals[p.finalOf[e.to]].address
			}
		}
	}
	return ""
}

func uniqueJoined(list []states.Follow) []states.Follow {
	slices.SortFunc(list, func(a, b states.Follow) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Follows, b.Follows))
	})
	return slices.Compact(list)
}
