package drawing

import (
	_ "embed" // the templates
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/states"
)

// Templates are the templates of drawings: graph shows a Drawing, and graph-nodes the list of its
// nodes. They are well-formed XML.
//
//go:embed graph.html
var Templates string

// Script lets a drawing be moved, made larger and smaller, and searched, and shows what a node hangs
// on. It needs nothing, starts by itself, and has no sign that XML would take for one of its own.
//
//go:embed graph.js
var Script string

// Limits of the list of nodes.
const (
	maxNodes = 2000 // of nodes
	maxWays  = 100  // of what one node has one kind of relation to
)

// Node is what a graph has, and what it hangs on.
type Node struct {
	Node          string // its anchor
	Address, Word string
	Class, Mark   string
	Anchor        string   // of the row that says what it would do; empty: there is none
	Parts         []string // what it has, where that is more than itself
	Relations     []Relation
}

// Relation is one kind of what a node has to do with others.
type Relation struct {
	Title string
	Ways  []Way
	More  int // that are not in Ways
}

// Way leads to another node.
type Way struct{ Node, Address string }

// listNodes lists the nodes of a graph with what each hangs on, and tells how many are left out.
func listNodes(nodes []node, arrows []states.OutlineArrow) (list []Node, left int) {
	if len(nodes) > maxNodes {
		nodes, left = nodes[:maxNodes], len(nodes)-maxNodes
	}
	list = make([]Node, len(nodes))
	index := make(map[string]int, len(nodes))
	for i, n := range nodes {
		index[n.address] = i
		list[i] = Node{Node: nodeAnchor(i), Address: rows.Clean(n.address), Word: n.word, Class: n.state, Mark: n.sign, Anchor: n.anchor, Parts: partsOf(&n)}
		if list[i].Word == "" && n.isHandler {
			list[i].Word = "handler"
		}
	}
	for _, title := range []struct{ kind, to, from string }{
		{"requires", "Requires", "Is required by"}, {"notifies", "Is notified by", "Notifies"}, {"failure", "Is notified on failure by", "Notifies on failure"},
		{"after", "Comes after", "Comes before"}, {"member", "Has", "Is in"},
	} {
		for _, a := range arrows {
			from, known := index[a.From]
			to, also := index[a.To]
			if known && also && a.Kind == title.kind {
				list[to].relate(title.to, &list[from])
				list[from].relate(title.from, &list[to])
			}
		}
	}
	addBlocking(list, nodes, arrows, index)
	return list, left
}

// maxPartsOfNode is how many parts of an invocation are listed.
const maxPartsOfNode = 50

// partsOf names the parts of an invocation, unless it is one itself.
func partsOf(n *node) (list []string) {
	for i, p := range n.parts {
		if i == maxPartsOfNode {
			return append(list, fmt.Sprintf("and %d more", len(n.parts)-i))
		}
		text := p.Address
		if text == n.address {
			text = ""
		}
		if p.Key != "" && !strings.Contains(p.Address, p.Key) {
			text += " " + p.Key
		}
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, rows.Clean(text))
		}
	}
	return list
}

func nodeAnchor(i int) string { return "node" + strconv.Itoa(i+1) }

// relate adds another node to what this one has a relation to.
func (n *Node) relate(title string, to *Node) {
	at := slices.IndexFunc(n.Relations, func(r Relation) bool { return r.Title == title })
	if at < 0 {
		at = len(n.Relations)
		n.Relations = append(n.Relations, Relation{Title: title})
	}
	r := &n.Relations[at]
	if len(r.Ways) == maxWays {
		r.More++
		return
	}
	r.Ways = append(r.Ways, Way{to.Node, to.Address})
}

// addBlocking says of each node that is blocked what has failed before it, however far.
func addBlocking(list []Node, nodes []node, arrows []states.OutlineArrow, index map[string]int) {
	before := map[string][]string{}
	for _, a := range arrows {
		before[a.To] = append(before[a.To], a.From) // a block fails with what is in it
	}
	budget := 1_000_000 // steps: beyond it, causes are missing rather than time
	for i, n := range nodes {
		if n.word != "blocked" {
			continue
		}
		seen, queue := map[string]bool{n.address: true}, []string{n.address}
		for len(queue) > 0 && budget > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, from := range before[at] {
				budget--
				if seen[from] {
					continue
				}
				seen[from] = true
				if cause, known := index[from]; known && nodes[cause].word == "failed" {
					list[i].relate("Is blocked by", &list[cause])
				}
				queue = append(queue, from)
			}
		}
	}
}

// noteOf says what the list leaves out.
func noteOf(left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("%d more nodes are not listed.", left)
}
