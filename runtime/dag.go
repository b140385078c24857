package runtime

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// dag are the nodes of a run, by address.
type dag map[string]*node

// newDAG makes the nodes and edges of a run.
func newDAG(run *states.StateRun) (dag, error) {
	d := make(dag, len(run.Invocations)+len(run.Blocks)+len(run.Joins))
	parts := map[string]*node{}
	add := func(n *node) error {
		n.order = len(d)
		if d[n.address] != nil {
			return fmt.Errorf("the run has two invocations %s", n.address)
		}
		d[n.address] = n
		return nil
	}
	for i := range run.Invocations {
		inv := &run.Invocations[i]
		n := &node{address: inv.Address, inv: inv}
		if err := add(n); err != nil {
			return nil, err
		}
		for j := range inv.Parts {
			parts[inv.Parts[j].Address] = n
		}
	}
	for i := range run.Blocks {
		if err := add(&node{address: run.Blocks[i].Address, block: &run.Blocks[i]}); err != nil {
			return nil, err
		}
	}
	for i := range run.Joins {
		if err := add(&node{address: run.Joins[i].Address}); err != nil {
			return nil, err
		}
	}
	if err := checkNesting(run); err != nil {
		return nil, err
	}
	if err := d.connect(run, parts); err != nil {
		return nil, err
	}
	return d, d.checkCycles()
}

// connect adds the edges that the run names.
func (d dag) connect(run *states.StateRun, parts map[string]*node) error {
	for i := range run.Invocations {
		inv := &run.Invocations[i]
		n := d[inv.Address]
		if err := d.addEdges(n, inv.Requires, inv.After); err != nil {
			return err
		}
		for _, by := range inv.NotifiedBy {
			s := source{node: d[by.Address], on: by.On}
			if s.node == nil {
				s.node, s.part = parts[by.Address], by.Address
			}
			if s.node == nil {
				return fmt.Errorf("%s is notified by %s, which is not in the run", inv.Address, by.Address)
			}
			n.sources = append(n.sources, s)
			link(s.node, n)
			s.node.notices = append(s.node.notices, notice{states.WithoutWave(inv.Address), s.part, s.on})
		}
	}
	d.noteExcluded(run, parts)
	for i := range run.Joins {
		if err := d.addEdges(d[run.Joins[i].Address], nil, run.Joins[i].After); err != nil {
			return err
		}
	}
	for i := range run.Blocks {
		if err := d.connectBlock(&run.Blocks[i]); err != nil {
			return err
		}
	}
	for _, n := range d {
		n.before = unique(n.before)
		for _, p := range n.before {
			p.next = append(p.next, n)
		}
		n.waiting = len(n.before)
	}
	return nil
}

// noteExcluded notes what handlers would be notified of that the selection leaves
// out: they are owed it.
func (d dag) noteExcluded(run *states.StateRun, parts map[string]*node) {
	for i := range run.Handlers {
		inv := &run.Handlers[i]
		for _, by := range inv.NotifiedBy {
			if n := d[by.Address]; n != nil {
				n.notices = append(n.notices, notice{states.WithoutWave(inv.Address), "", by.On})
			} else if n := parts[by.Address]; n != nil {
				n.notices = append(n.notices, notice{states.WithoutWave(inv.Address), by.Address, by.On})
			}
		}
	}
}

func (d dag) addEdges(n *node, requires, after []string) error {
	for i, address := range slices.Concat(requires, after) {
		p := d[address]
		if p == nil {
			return fmt.Errorf("%s comes after %s, which is not in the run", n.address, address)
		}
		link(p, n)
		if i < len(requires) {
			n.requires = append(n.requires, p)
		}
	}
	return nil
}

// connectBlock makes rescue wait for the members, always for both, and the
// block for all.
func (d dag) connectBlock(b *states.Block) error {
	block := d[b.Address]
	if err := d.addEdges(block, b.Requires, b.After); err != nil {
		return err
	}
	var before []*node
	for _, list := range []struct {
		names []string
		mark  func(*node)
	}{
		{b.Members, func(*node) {}},
		{b.Rescue, func(n *node) { n.rescues = block }},
		{b.Always, func(*node) {}},
	} {
		var these []*node
		for _, address := range list.names {
			n := d[address]
			if n == nil {
				return fmt.Errorf("%s has the member %s, which is not in the run", b.Address, address)
			}
			n.blocks = append(n.blocks, block)
			list.mark(n)
			link(n, block)
			these = append(these, n)
		}
		for _, leaf := range d.leaves(these) {
			list.mark(leaf)
			for _, p := range before {
				link(p, leaf)
			}
		}
		before = append(before, these...)
	}
	return nil
}

// leaves gives the invocations of nodes, those of blocks among them included.
func (d dag) leaves(nodes []*node) []*node {
	var out []*node
	for _, n := range nodes {
		if n.block == nil {
			out = append(out, n)
			continue
		}
		for _, address := range slices.Concat(n.block.Members, n.block.Rescue, n.block.Always) {
			if m := d[address]; m != nil {
				out = append(out, d.leaves([]*node{m})...)
			}
		}
	}
	return out
}

// within lists the nodes in a block, its rescue and always lists and what they
// hold included, and the block itself.
func (d dag) within(block *node) []*node {
	list := []*node{block}
	for _, address := range slices.Concat(block.block.Members, block.block.Rescue, block.block.Always) {
		switch n := d[address]; {
		case n == nil:
		case n.block != nil:
			list = append(list, d.within(n)...)
		default:
			list = append(list, n)
		}
	}
	return list
}

// isWithin reports whether an invocation is a member of a block, or of one in it.
func (d dag) isWithin(block string, n *node) bool {
	at := d[block]
	return at != nil && at.block != nil && slices.ContainsFunc(at.block.Members, func(m string) bool {
		return m == n.address || d.isWithin(m, n)
	})
}

// hasRun reports whether a wave of a handler has run.
func (d dag) hasRun(handler string) bool {
	for _, n := range d {
		if n.isStartRecorded && states.WithoutWave(n.address) == handler {
			return true
		}
	}
	return false
}

func link(p, n *node) { n.before = append(n.before, p) }

// unique drops repeats; the order of the rest is kept.
func unique(nodes []*node) []*node {
	if len(nodes) < 2 {
		return nodes
	}
	seen := make(map[*node]bool, len(nodes))
	return slices.DeleteFunc(nodes, func(n *node) bool {
		had := seen[n]
		seen[n] = true
		return had
	})
}
