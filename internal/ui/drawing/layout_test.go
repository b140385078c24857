package drawing

import (
	"testing"

	"pgregory.net/rapid"
)

// No box stands on another one or outside of the drawing, and links go from left
// to right, unless they close a circle.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		boxes := make([]box, rapid.IntRange(1, 40).Draw(t, "boxes"))
		for i := range boxes {
			boxes[i] = box{width: rapid.Float64Range(1, 300).Draw(t, "width"), height: 24}
		}
		links := make([]link, rapid.IntRange(0, 80).Draw(t, "links"))
		acyclic := rapid.Bool().Draw(t, "acyclic")
		for i := range links {
			k := link{from: rapid.IntRange(0, len(boxes)-1).Draw(t, "from"), to: rapid.IntRange(0, len(boxes)-1).Draw(t, "to")}
			if acyclic && k.from > k.to {
				k.from, k.to = k.to, k.from
			}
			if k.from != k.to {
				links[i] = k
			} else {
				links[i] = link{from: 0, to: len(boxes) - 1}
			}
		}
		if len(boxes) == 1 {
			links = nil
		}
		width, height := placeLayers(boxes, links)
		const e = 1e-6
		for i, b := range boxes {
			if b.x-b.width/2 < -e || b.x+b.width/2 > width+e || b.y-b.height/2 < -e || b.y+b.height/2 > height+e {
				t.Errorf("box %d at %g, %g is outside of %g × %g", i, b.x, b.y, width, height)
			}
			for j, o := range boxes[:i] {
				if abs(b.x-o.x) < (b.width+o.width)/2-e && abs(b.y-o.y) < (b.height+o.height)/2-e {
					t.Errorf("boxes %d and %d overlap", i, j)
				}
			}
		}
		for _, k := range links {
			if k.isBackward && acyclic {
				t.Errorf("%d → %d closes no circle", k.from, k.to)
			}
			if !k.isBackward && boxes[k.from].x >= boxes[k.to].x {
				t.Errorf("%d → %d goes back", k.from, k.to)
			}
			for p := 1; p < len(k.path) && !k.isBackward; p++ {
				if k.path[p-1].x > k.path[p].x+e {
					t.Errorf("the way of %d → %d goes back", k.from, k.to)
				}
			}
		}
	})
}

func abs(v float64) float64 { return max(v, -v) }

func TestGroupOf(t *testing.T) {
	for address, want := range map[string]string{
		`file["/etc/a"]`: "file", `file.a["x"]`: "file", `state.web["a.b]"]#2`: "state.web", `component.x["1"].file["/a"]`: "component.x.file",
		"run.a": "run.a", "state.h#3": "state.h", `file["a\"]b"]`: "file",
	} {
		if got := groupOf(address); got != want {
			t.Errorf("%s is of %s, want %s", address, got, want)
		}
	}
}
