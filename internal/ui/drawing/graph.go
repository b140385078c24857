// Package drawing draws the graph of what hosts are to do, for pages: those of a server and those that
// are one file. Who cannot see it has the same as a list.
package drawing

import (
	"fmt"
	"iter"
	"strings"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/states"
)

// maxBoxes is how many boxes a drawing has at most: more are no help.
const maxBoxes = 250

// Drawing is the graph of a run, as SVG wants it.
type Drawing struct {
	Note          string // what is not shown, and why
	Nodes         []Node // all of them, as a list
	NodesNote     string // what the list leaves out
	Width, Height string
	Boxes         []Box
	Links         []Link
}

// Box is an invocation, a block or a join.
type Box struct {
	Class               string
	Label, Title        string
	X, Y, Width, Height string
	TextX, TextY        string
	Node                string // the anchor of its node in the list; empty: it stands for several, or is not there
}

// Link is an arrow from one box to another.
type Link struct {
	Class, Path, Title string
	From, To           string // the nodes at its ends, as Box has them
}

// node is a box before it is drawn.
type node struct {
	address string
	label   string
	class   string // of the box
	title   string
	word    string // what it would do, or has come to, with its class and sign
	state   string
	sign    string
	anchor  string // of its first row
	listed  string // its anchor in the list
	parts   []states.OutlinePart

	isHandler bool
	acts      bool
	join      bool
}

// Draw draws the graph of runs, which are those of the hosts of one site: what is in several of
// them is drawn once. All of it is drawn where it is small, else what acts, else groups of that,
// else nothing.
func Draw(runs iter.Seq[*states.Outline], marks map[string]rows.Mark) Drawing {
	nodes, arrows := union(runs, marks)
	list, left := listNodes(nodes, arrows)
	for i := range list {
		nodes[i].listed = list[i].Node
	}
	d := drawSome(nodes, arrows)
	d.Nodes, d.NodesNote = list, noteOf(left)
	return d
}

// drawSome draws as much of a graph as can be seen.
func drawSome(nodes []node, arrows []states.OutlineArrow) Drawing {
	note := ""
	if len(nodes) > maxBoxes {
		note = fmt.Sprintf("The graph has %d nodes. Only what would act is drawn.", len(nodes))
		all := len(nodes)
		nodes, arrows = onlyActs(nodes, arrows)
		if len(nodes) > maxBoxes {
			note = fmt.Sprintf("The graph has %d nodes, of which %d would act. They are drawn in groups of the same kind.", all, len(nodes))
			nodes, arrows = groups(nodes, arrows)
		}
		if len(nodes) > maxBoxes {
			return Drawing{Note: fmt.Sprintf("The graph has %d nodes, too many for a drawing. tenet graph prints it.", all)}
		}
	}
	return place(nodes, directArrows(nodes, arrows), note)
}

// union gives the nodes and the arrows of all runs, each once.
func union(runs iter.Seq[*states.Outline], marks map[string]rows.Mark) ([]node, []states.OutlineArrow) {
	var nodes []node
	var arrows []states.OutlineArrow
	known, drawn := map[string]bool{}, map[states.OutlineArrow]bool{}
	for run := range runs {
		for _, n := range nodesOf(run, marks) {
			if !known[n.address] {
				known[n.address] = true
				nodes = append(nodes, n)
			}
		}
		for _, a := range run.Arrows {
			if !drawn[a] {
				drawn[a] = true
				arrows = append(arrows, a)
			}
		}
	}
	return nodes, arrows
}

// nodesOf gives the nodes of a run. Handlers that nothing invokes are none.
func nodesOf(run *states.Outline, marks map[string]rows.Mark) []node {
	nodes := make([]node, 0, len(run.Nodes))
	for i := range run.Nodes {
		switch o := &run.Nodes[i]; o.Kind {
		case states.OutlineIdle:
		case states.OutlineBlock:
			nodes = append(nodes, node{address: o.Address, label: o.Address, class: "block", title: o.Address, word: "block"})
		case states.OutlineJoin:
			nodes = append(nodes, node{address: o.Address, class: "join", join: true, title: "all of these have ended", word: "all that comes before it has ended"})
		default:
			m := marks[o.Address]
			class := m.Class
			if o.Kind == states.OutlineHandler {
				class += " handler"
			}
			nodes = append(nodes, node{address: o.Address, label: o.Address, class: class, acts: m.Acts, anchor: m.Anchor, title: o.Address + ": " + m.Label, word: m.Label, state: m.Class, sign: m.Sign, parts: o.Parts, isHandler: o.Kind == states.OutlineHandler})
		}
	}
	return nodes
}

// onlyActs leaves out what would do nothing. A link stands for every way from
// one to the other by what is left out.
func onlyActs(nodes []node, arrows []states.OutlineArrow) ([]node, []states.OutlineArrow) {
	acts := map[string]bool{}
	var kept []node
	for _, n := range nodes {
		if n.acts {
			acts[n.address] = true
			kept = append(kept, n)
		}
	}
	next := map[string][]states.OutlineArrow{}
	for _, a := range arrows {
		next[a.From] = append(next[a.From], a)
	}
	var out []states.OutlineArrow
	budget := 2_000_000 // steps; beyond it, links are missing rather than time
	for _, n := range kept {
		seen := map[string]bool{}
		queue := []string{n.address}
		for len(queue) > 0 && budget > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, a := range next[at] {
				budget--
				if seen[a.To] {
					continue
				}
				seen[a.To] = true
				if acts[a.To] {
					kind := "after"
					if at == n.address {
						kind = a.Kind
					}
					out = append(out, states.OutlineArrow{From: n.address, To: a.To, Kind: kind})
					continue
				}
				queue = append(queue, a.To)
			}
		}
	}
	return kept, out
}

// groups puts the instances of one declaration, the parts of one type at top
// level, and the waves of one handler into one box.
func groups(nodes []node, arrows []states.OutlineArrow) ([]node, []states.OutlineArrow) {
	index := map[string]int{}
	group := map[string]string{}
	count := map[string]int{}
	troubles := map[string]map[string]int{}
	var out []node
	for _, n := range nodes {
		base := groupOf(n.address)
		group[n.address] = base
		count[base]++
		if troubles[base] == nil {
			troubles[base] = map[string]int{}
		}
		troubles[base][n.word]++
		if i, known := index[base]; known {
			out[i].take(n)
			continue
		}
		index[base] = len(out)
		n.address, n.listed = base, ""
		out = append(out, n)
	}
	for i := range out {
		out[i].label = out[i].address
		if n := count[out[i].address]; n > 1 {
			out[i].label = fmt.Sprintf("%s ×%d", out[i].address, n)
			for _, word := range []states.Outcome{states.Failed, states.Unknown, states.Blocked} {
				if n := troubles[out[i].address][string(word)]; n > 0 {
					out[i].label += fmt.Sprintf(", %d %s", n, word)
				}
			}
		}
		out[i].title = out[i].label
	}
	seen := map[states.OutlineArrow]bool{}
	var links []states.OutlineArrow
	for _, a := range arrows {
		a.From, a.To = group[a.From], group[a.To]
		if a.From != a.To && !seen[a] {
			seen[a] = true
			links = append(links, a)
		}
	}
	return out, links
}

// take adds another node to a group, which is shown as the gravest of its nodes is.
func (n *node) take(other node) {
	n.isHandler = n.isHandler && other.isHandler
	switch a, b := gravity(n.state), gravity(other.state); {
	case b > a:
		n.state = other.state
	case a == b && n.state != other.state && a > 0:
		n.state = "update"
	case n.class == other.class:
		return
	}
	if n.class = n.state; n.isHandler {
		n.class += " handler"
	}
}

// gravity orders the classes of nodes: what has failed, what may be done, what is done, and what is not.
func gravity(class string) int {
	switch class {
	case "failed":
		return 3
	case "maybe":
		return 2
	case "none", "":
		return 0
	}
	return 1
}

// groupOf is an address without wave and without keys of instances: parts at top
// level are told apart by their type alone.
func groupOf(address string) string {
	address = states.WithoutWave(address)
	var out strings.Builder
	quoted, depth := false, 0
	for i := 0; i < len(address); i++ {
		switch c := address[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			out.WriteByte(c)
		}
	}
	base := out.String()
	if first, rest, two := strings.Cut(base, "."); two && !strings.Contains(rest, ".") && first != "state" && first != "run" && first != "block" && first != "component" {
		return first
	}
	return base
}

// place lays out and measures a drawing.
func place(nodes []node, arrows []states.OutlineArrow, note string) Drawing {
	index := make(map[string]int, len(nodes))
	boxes := make([]box, len(nodes))
	labels := make([]string, len(nodes))
	for i, n := range nodes {
		index[n.address] = i
		if labels[i] = shorten(rows.Clean(n.label)); n.join {
			boxes[i] = box{width: 8, height: 8}
			continue
		}
		boxes[i] = box{width: 16 + 7.3*float64(len([]rune(labels[i]))), height: 24}
	}
	var links []link
	var shown []states.OutlineArrow
	seen := map[[2]int]bool{}
	for _, a := range arrows {
		from, ok := index[a.From]
		to, also := index[a.To]
		if ok && also && from != to && !seen[[2]int{from, to}] {
			seen[[2]int{from, to}] = true
			links, shown = append(links, link{from: from, to: to}), append(shown, a)
		}
	}
	width, height := placeLayers(boxes, links)
	d := Drawing{Note: note, Width: pixels(width + 2*margin), Height: pixels(height + 2*margin)}
	for i, b := range boxes {
		d.Boxes = append(d.Boxes, Box{Class: nodes[i].class, Label: labels[i], Title: rows.Clean(nodes[i].title), Node: nodes[i].listed,
			X: pixels(margin + b.x - b.width/2), Y: pixels(margin + b.y - b.height/2), Width: pixels(b.width), Height: pixels(b.height),
			TextX: pixels(margin + b.x), TextY: pixels(margin + b.y + 4)})
	}
	for i, k := range links {
		d.Links = append(d.Links, Link{Class: shown[i].Kind, Path: path(k.path),
			Title: rows.Clean(shown[i].From + " → " + shown[i].To + " (" + word(shown[i].Kind) + ")"), From: nodes[k.from].listed, To: nodes[k.to].listed})
	}
	return d
}

const margin = 8

// path goes through points in curves that leave and reach them level.
func path(points []point) string {
	var out strings.Builder
	fmt.Fprintf(&out, "M%s %s", pixels(margin+points[0].x), pixels(margin+points[0].y))
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		bend := max((b.x-a.x)/2, gapX/2)
		fmt.Fprintf(&out, "C%s %s %s %s %s %s", pixels(margin+a.x+bend), pixels(margin+a.y),
			pixels(margin+b.x-bend), pixels(margin+b.y), pixels(margin+b.x), pixels(margin+b.y))
	}
	return out.String()
}

// pixels writes a length, with one digit behind the point.
func pixels(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// shorten takes the middle out of a long label.
func shorten(s string) string {
	const most = 44
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most/2]) + "…" + string(runes[len(runes)-most/2+1:])
	}
	return s
}

// word says what a link means.
func word(kind string) string {
	switch kind {
	case "requires":
		return "is required by"
	case "failure":
		return "notifies on failure"
	case "after":
		return "comes before"
	case "member":
		return "is in"
	}
	return kind
}
