package drawing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/states"
)

// relations writes what a node has to do with others.
func relations(n *Node) string {
	var out []string
	for _, r := range n.Relations {
		for _, w := range r.Ways {
			out = append(out, r.Title+" "+w.Address)
		}
	}
	return strings.Join(out, ", ")
}

// The list says of each node what it hangs on, and of one that is blocked what has failed before it.
func TestNodes(t *testing.T) {
	run := &states.Outline{
		Nodes: []states.OutlineNode{{Address: "a"}, {Address: "b"}, {Address: "c"}, {Address: "h", Kind: states.OutlineHandler}, {Address: "block.x", Kind: states.OutlineBlock}},
		Arrows: []states.OutlineArrow{{From: "a", To: "b", Kind: "requires"}, {From: "b", To: "c", Kind: "requires"}, {From: "a", To: "h", Kind: "notifies"},
			{From: "c", To: "h", Kind: "after"}, {From: "b", To: "block.x", Kind: "member"}},
	}
	d := Draw(slices.Values([]*states.Outline{run}), map[string]rows.Mark{"a": {Label: "failed", Class: "failed"}, "c": {Label: "blocked"}})
	for i, want := range []string{
		"Is required by b, Notifies h", "Requires a, Is required by c, Is in block.x", "Requires b, Comes before h, Is blocked by a",
		"Is notified by a, Comes after c", "Has b",
	} {
		if got := relations(&d.Nodes[i]); got != want {
			t.Errorf("%s: %s\nwanted: %s", d.Nodes[i].Address, got, want)
		}
	}
	if d.Boxes[2].Node != d.Nodes[2].Node || d.Links[0].From == "" || d.NodesNote != "" {
		t.Errorf("boxes do not lead to the list: %+v %+v", d.Boxes, d.Links)
	}
}

// A list has an end, and says so.
func TestManyNodes(t *testing.T) {
	run := &states.Outline{Nodes: []states.OutlineNode{{Address: "first"}}}
	for i := range 3000 {
		address := fmt.Sprint("a", i)
		run.Nodes = append(run.Nodes, states.OutlineNode{Address: address})
		run.Arrows = append(run.Arrows, states.OutlineArrow{From: "first", To: address, Kind: "requires"})
	}
	d := Draw(slices.Values([]*states.Outline{run}), nil)
	first := d.Nodes[0].Relations[0]
	if len(d.Nodes) != maxNodes || d.NodesNote != "1001 more nodes are not listed." || len(first.Ways) != maxWays || first.More != maxNodes-1-maxWays {
		t.Errorf("%d nodes, %q, %d ways and %d more", len(d.Nodes), d.NodesNote, len(first.Ways), first.More)
	}
}
