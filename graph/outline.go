package graph

import (
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// Outline gives a run without its values. Keys are never sensitive.
func Outline(run *states.StateRun) *states.Outline {
	o := &states.Outline{Revision: run.Revision, Nodes: []states.OutlineNode{}, Arrows: []states.OutlineArrow{}}
	for i := range run.Invocations {
		kind := states.OutlineInvocation
		if run.Invocations[i].Handler {
			kind = states.OutlineHandler
		}
		o.Nodes = append(o.Nodes, outlineInvocation(&run.Invocations[i], kind))
	}
	for i := range run.Handlers {
		o.Nodes = append(o.Nodes, outlineInvocation(&run.Handlers[i], states.OutlineIdle))
	}
	for _, b := range run.Blocks {
		o.Nodes = append(o.Nodes, states.OutlineNode{Address: b.Address, Kind: states.OutlineBlock})
	}
	for _, j := range run.Joins {
		o.Nodes = append(o.Nodes, states.OutlineNode{Address: j.Address, Kind: states.OutlineJoin})
	}
	for _, a := range Arrows(run) {
		o.Arrows = append(o.Arrows, states.OutlineArrow(a))
	}
	return o
}

func outlineInvocation(inv *states.Invocation, kind string) states.OutlineNode {
	n := states.OutlineNode{Address: inv.Address, Kind: kind, State: inv.State, Confirms: inv.Confirms}
	if base := states.WithoutWave(inv.Address); base != inv.Address {
		if wave, err := strconv.Atoi(strings.TrimPrefix(inv.Address[len(base):], "#")); err == nil {
			n.Wave = wave
		}
	}
	for i := range inv.Parts {
		p := &inv.Parts[i]
		n.Parts = append(n.Parts, states.OutlinePart{Address: p.Address, Type: p.Type, Key: p.Key, Ensure: p.Ensure})
	}
	return n
}
