package drawing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/states"
)

// A group of nodes is as grave as the gravest of them, and says how many have failed.
func TestGroupOfFailures(t *testing.T) {
	o, marks := &states.Outline{}, map[string]rows.Mark{}
	for n := range 600 {
		for kind, address := range map[string]string{"invocation": fmt.Sprintf("state.page[%q]", fmt.Sprint(n)), states.OutlineHandler: fmt.Sprintf("state.reload[%q]", fmt.Sprint(n))} {
			o.Nodes = append(o.Nodes, states.OutlineNode{Address: address, Kind: kind})
			m := rows.Mark{Class: "create", Label: "changed", Acts: true}
			switch {
			case n%200 == 0 && kind == "invocation":
				m.Class, m.Label = "failed", "failed"
			case n%100 == 0 && kind == "invocation":
				m.Class, m.Label = "failed", "blocked"
			case n%2 == 1 && kind != "invocation":
				m.Class = "remove"
			}
			marks[address] = m
		}
	}
	got := map[string]string{}
	for _, b := range Draw(slices.Values([]*states.Outline{o}), marks).Boxes {
		got[b.Label] = b.Class
	}
	if len(got) != 2 || got["state.page ×600, 3 failed, 3 blocked"] != "failed" || got["state.reload ×600"] != "update handler" {
		t.Errorf("the groups are %v", got)
	}
}

// The order within columns is such that links which need not cross do not: without it, all of these would.
func TestOrder(t *testing.T) {
	const n = 8
	boxes, links := make([]box, 2*n), make([]link, n)
	for i := range boxes {
		boxes[i] = box{width: 50, height: 24}
	}
	for i := range n {
		links[i] = link{from: i, to: 2*n - 1 - i}
	}
	placeLayers(boxes, links)
	for i := range n {
		for k := range i {
			if a, b := links[i], links[k]; (boxes[a.from].y < boxes[b.from].y) != (boxes[a.to].y < boxes[b.to].y) {
				t.Errorf("%d → %d crosses %d → %d", a.from, a.to, b.from, b.to)
			}
		}
	}
	if t.Failed() {
		var at []string
		for _, b := range boxes {
			at = append(at, fmt.Sprint(b.y))
		}
		t.Log(strings.Join(at, " "))
	}
}
