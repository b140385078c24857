package graph

import (
	"bufio"
	"io"

	"github.com/tenetcm/tenet/states"
)

// maxDepth is how deep the text tree nests; what lies deeper gets a tree of
// its own.
const maxDepth = 24

// Text writes a run as trees for people: under each invocation and block what it
// requires, under a block its members, and with an arrow what it notifies. The
// roots are what nothing requires. What was shown before is shown again
// without what is under it, with "…".
func Text(w io.Writer, run *states.StateRun) error {
	t := newTree(run)
	out := bufio.NewWriter(w)
	t.out = out
	for _, address := range t.names {
		if !t.required[address] {
			t.root(address)
		}
	}
	for _, address := range t.names {
		if !t.shown[address] {
			t.root(address)
		}
	}
	return out.Flush()
}

// tree is a run, by address.
type tree struct {
	out      *bufio.Writer
	names    []string // in order
	children map[string][]child
	required map[string]bool // by anything
	shown    map[string]bool
}

// child is one line under a node.
type child struct {
	address string
	arrow   bool   // a notification
	note    string // in parentheses
}

func newTree(run *states.StateRun) *tree {
	t := &tree{
		children: make(map[string][]child), required: make(map[string]bool),
		shown: make(map[string]bool),
	}
	for _, b := range run.Blocks {
		t.add(b.Address, b.Requires, "")
		t.add(b.Address, b.Members, "member")
		t.add(b.Address, b.Rescue, "rescue")
		t.add(b.Address, b.Always, "always")
	}
	for _, i := range run.Invocations {
		t.names = append(t.names, i.Address)
		t.add(i.Address, i.Requires, "")
		if i.Confirms != "" {
			t.add(i.Confirms, []string{i.Address}, "confirm")
		}
	}
	for _, b := range run.Blocks {
		t.names = append(t.names, b.Address)
	}
	owners := owners(run)
	for _, i := range run.Invocations {
		seen := make(map[string]bool)
		for _, n := range i.NotifiedBy {
			c := child{address: i.Address, arrow: true}
			if n.On == states.OnFailure {
				c.note = "on failure"
			}
			owner := owners[n.Address]
			if seen[owner+n.On] {
				continue // another part of the same
			}
			seen[owner+n.On] = true
			t.children[owner] = append(t.children[owner], c)
			t.required[i.Address] = true
		}
	}
	return t
}

func (t *tree) add(address string, list []string, note string) {
	for _, a := range list {
		t.children[address] = append(t.children[address], child{address: a, note: note})
		t.required[a] = true
	}
}

// owners gives of each address that may notify the invocation or block.
func owners(run *states.StateRun) map[string]string {
	of := make(map[string]string)
	for _, i := range run.Invocations {
		of[i.Address] = i.Address
		for _, part := range i.Parts {
			of[part.Address] = i.Address
		}
	}
	for _, b := range run.Blocks {
		of[b.Address] = b.Address
	}
	return of
}

func (t *tree) root(address string) {
	t.out.WriteString(address + "\n")
	t.writeBelow(address, "", 1)
}

func (t *tree) writeBelow(address, indent string, depth int) {
	t.shown[address] = true
	list := t.children[address]
	for i, c := range list {
		stem, deeper := "├─", "│  "
		if i == len(list)-1 {
			stem, deeper = "└─", "   "
		}
		line := indent + stem
		if c.arrow {
			line += "▶"
		} else {
			line += "─"
		}
		line += " " + c.address
		if c.note != "" {
			line += " (" + c.note + ")"
		}
		below := len(t.children[c.address]) > 0
		again := t.shown[c.address] || depth >= maxDepth
		if below && again {
			line += " …"
		}
		t.out.WriteString(line + "\n")
		if !again {
			t.writeBelow(c.address, indent+deeper+" ", depth+1)
		}
	}
}
