package runtime

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// node is an invocation, a block or a join in the DAG on its way.
type node struct {
	order      int // in the StateRun; blocks and joins follow
	address    string
	inv        *states.Invocation // nil for blocks and joins
	block      *states.Block
	requires   []*node // must go
	before     []*node // all predecessors, requires included
	next       []*node
	waiting    int // predecessors that have not ended
	sources    []source
	notices    []notice // what it may notify
	blocks     []*node  // that it is a member, rescue or always of, innermost first
	rescues    *node
	callReason string // beside what it does, for its rows

	isStartRecorded bool     // its start was recorded: it is a handler that was called
	durable         []string // handlers whose debt to it is on disk, should it be lost now

	isFromEarlierProcess bool // an earlier process of the run has seen it end, and that stands
	isRecorded           bool // so did the records: there is no event of its end

	// Set when it has ended.
	outcome      states.Outcome
	blockedBy    string // why what requires it cannot go; empty: it goes
	notification notification
	parts        map[string]notification // of parts, by address
	fresh        map[string]bool         // parts that this process has carried out, if it goes on with a run
	uncertainty  *uncertainty            // what those that depend on it inherit (plans)
}

// source is one notifier of a handler's wave.
type source struct {
	node *node
	part string // empty: the whole node
	on   string
}

// notification is what the source says to the handler.
func (s *source) notification() likelihood {
	was := s.node.notification
	if s.part != "" {
		was = s.node.parts[s.part]
	}
	if s.on == states.OnFailure {
		return was.failure
	}
	return was.change
}

// likelihood of a notification: in an apply never or surely.
type likelihood int

const (
	never likelihood = iota
	perhaps
	surely
)

// notification is what an invocation or a part notifies.
type notification struct{ change, failure likelihood }

func (s *notification) add(o notification) {
	s.change = max(s.change, o.change)
	s.failure = max(s.failure, o.failure)
}

// build makes the nodes and edges of the run.
func (e *engine) build() error {
	e.nodes = make(map[string]*node, len(e.run.Invocations)+len(e.run.Blocks)+len(e.run.Joins))
	parts := map[string]*node{}
	add := func(n *node) error {
		n.order = len(e.nodes)
		if e.nodes[n.address] != nil {
			return fmt.Errorf("the run has two invocations %s", n.address)
		}
		e.nodes[n.address] = n
		return nil
	}
	for i := range e.run.Invocations {
		inv := &e.run.Invocations[i]
		n := &node{address: inv.Address, inv: inv}
		if err := add(n); err != nil {
			return err
		}
		for j := range inv.Parts {
			parts[inv.Parts[j].Address] = n
		}
	}
	for i := range e.run.Blocks {
		if err := add(&node{address: e.run.Blocks[i].Address, block: &e.run.Blocks[i]}); err != nil {
			return err
		}
	}
	for i := range e.run.Joins {
		if err := add(&node{address: e.run.Joins[i].Address}); err != nil {
			return err
		}
	}
	if err := checkNesting(e.run); err != nil {
		return err
	}
	if err := e.connect(parts); err != nil {
		return err
	}
	return e.checkCycles()
}

// connect adds the edges that the run names.
func (e *engine) connect(parts map[string]*node) error {
	for i := range e.run.Invocations {
		inv := &e.run.Invocations[i]
		n := e.nodes[inv.Address]
		if err := e.addEdges(n, inv.Requires, inv.After); err != nil {
			return err
		}
		for _, by := range inv.NotifiedBy {
			s := source{node: e.nodes[by.Address], on: by.On}
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
	e.noteExcluded(parts)
	for i := range e.run.Joins {
		if err := e.addEdges(e.nodes[e.run.Joins[i].Address], nil, e.run.Joins[i].After); err != nil {
			return err
		}
	}
	for i := range e.run.Blocks {
		if err := e.connectBlock(&e.run.Blocks[i]); err != nil {
			return err
		}
	}
	for _, n := range e.nodes {
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
func (e *engine) noteExcluded(parts map[string]*node) {
	for i := range e.run.Handlers {
		inv := &e.run.Handlers[i]
		for _, by := range inv.NotifiedBy {
			if n := e.nodes[by.Address]; n != nil {
				n.notices = append(n.notices, notice{states.WithoutWave(inv.Address), "", by.On})
			} else if n := parts[by.Address]; n != nil {
				n.notices = append(n.notices, notice{states.WithoutWave(inv.Address), by.Address, by.On})
			}
		}
	}
}

func (e *engine) addEdges(n *node, requires, after []string) error {
	for i, address := range slices.Concat(requires, after) {
		p := e.nodes[address]
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
func (e *engine) connectBlock(b *states.Block) error {
	block := e.nodes[b.Address]
	if err := e.addEdges(block, b.Requires, nil); err != nil {
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
			n := e.nodes[address]
			if n == nil {
				return fmt.Errorf("%s has the member %s, which is not in the run", b.Address, address)
			}
			n.blocks = append(n.blocks, block)
			list.mark(n)
			link(n, block)
			these = append(these, n)
		}
		for _, leaf := range e.leaves(these) {
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
func (e *engine) leaves(nodes []*node) []*node {
	var out []*node
	for _, n := range nodes {
		if n.block == nil {
			out = append(out, n)
			continue
		}
		for _, address := range slices.Concat(n.block.Members, n.block.Rescue, n.block.Always) {
			if m := e.nodes[address]; m != nil {
				out = append(out, e.leaves([]*node{m})...)
			}
		}
	}
	return out
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
