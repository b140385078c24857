package runtime

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// mayPrecede reports whether an apply may do an act before it comes to a part, in
// whatever order it takes what is ready.
func (f *effects) mayPrecede(x *effect, q *question) bool {
	at := f.nodes[x.invocation]
	switch {
	case x.part == q.part, q.scope != "" && f.nodes.isWithin(q.scope, at):
		return false
	case at == q.node:
		return f.mayPrecedeWithin(at, x.part, q.part)
	}
	return !f.nodesBefore(at).has(q.node.order) && !f.inOneCall(at, q.node)
}

// mayPrecedeWithin is mayPrecede of two parts of one invocation. Its guards, which are no
// part, come first.
func (f *effects) mayPrecedeWithin(n *node, act, part string) bool {
	parts := inRequiredOrder(n.inv.Parts)
	a, p := indexOf(parts, act), indexOf(parts, part)
	if p < 0 || !n.inv.Parallel {
		return a < p
	}
	return !f.partsBefore(n, parts)[a].has(p)
}

// indexOf gives the place of a part among others; -1: it is none of them.
func indexOf(parts []*states.Part, address string) int {
	return slices.IndexFunc(parts, func(p *states.Part) bool { return p.Address == address })
}

// partsBefore gives, for each part of an invocation whose parts go side by side, those that are
// over by the time that it starts.
func (f *effects) partsBefore(n *node, parts []*states.Part) []bits {
	if known, ok := f.earlierParts[n.address]; ok {
		return known
	}
	sets, at := make([]bits, len(parts)), map[string]int{}
	for k, list := range conflictingParts(f.registry, parts) {
		sets[k] = make(bits, len(parts)/64+1)
		for _, r := range slices.Concat(parts[k].Requires, parts[k].After) {
			if before, ok := at[r]; ok {
				list = append(list, before)
			}
		}
		for _, before := range list {
			if before != k {
				sets[k].add(before)
				sets[k].unite(sets[before])
			}
		}
		at[parts[k].Address] = k
	}
	if f.earlierParts == nil {
		f.earlierParts = map[string][]bits{}
	}
	f.earlierParts[n.address] = sets
	return sets
}

// inOneCall reports whether two invocations go in one call of their module, which looks
// at both before it does anything.
func (f *effects) inOneCall(a, b *node) bool {
	typ := f.callType(a)
	if typ == "" || typ == plain || strings.HasPrefix(typ, locked) || typ != f.callType(b) || len(a.before) != len(b.before) {
		return false
	}
	for _, n := range []*node{a, b} {
		if n.isConfirmed() {
			return false
		}
	}
	return !slices.ContainsFunc(a.before, func(p *node) bool { return !slices.Contains(b.before, p) })
}

// isConfirmed reports whether a block around a node waits for its check.
func (n *node) isConfirmed() bool {
	return slices.ContainsFunc(n.blocks, func(b *node) bool { return b.block.Confirm != nil || b.isConfirmed() })
}

// bits is a set of nodes, by their order.
type bits []uint64

func (b bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bits) add(i int)      { b[i/64] |= 1 << (i % 64) }

func (b bits) unite(o bits) {
	for i := range b {
		b[i] |= o[i]
	}
}

// nodesBefore gives all that is over by the time that an invocation starts.
func (f *effects) nodesBefore(n *node) bits {
	if set, ok := f.ancestors[n.address]; ok {
		return set
	}
	set, rest := make(bits, len(f.nodes)/64+1), []*node{n}
	for len(rest) > 0 {
		next := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		for _, p := range next.before {
			if !set.has(p.order) {
				set.add(p.order)
				rest = append(rest, p)
			}
		}
	}
	if f.ancestors == nil {
		f.ancestors = map[string]bits{}
	}
	f.ancestors[n.address] = set
	return set
}

// comesBefore reports whether an act is over by the time that a part looks, in whatever
// order an apply takes what is ready.
func (f *effects) comesBefore(x *effect, q *question) bool {
	at := f.nodes[x.invocation]
	if at != q.node {
		return f.nodesBefore(q.node).has(at.order)
	}
	parts := inRequiredOrder(at.inv.Parts)
	a, p := indexOf(parts, x.part), indexOf(parts, q.part)
	if p < 0 || !at.inv.Parallel {
		return a < p
	}
	return f.partsBefore(at, parts)[p].has(a)
}
