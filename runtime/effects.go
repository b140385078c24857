package runtime

import (
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// effect is what a plan does not know: an act whose effects cannot be foreseen, or
// one of which the plan is not certain.
type effect struct {
	part       string // its address
	invocation string
	identity   string // of the resource that it leaves as it is wanted; empty: of none
	how        string // see uncertainty

	anything bool     // it may touch whatever there is
	paths    []string // else all that it touches is at or below these
}

// effects are those of a plan. What one of them may touch is not certain wherever an
// apply may come to it in the first place, so a plan that finds another one
// is made again, with that one known from its start. Nil stands for an apply, where all is certain.
type effects struct {
	nodes    dag
	registry *states.Registry
	shadow   *host.Shadow
	callType func(*node) string // see engine.batchType

	known        []*effect
	byPart       map[string]*effect
	changes      []*effect         // of which the plan is certain: only who looks at everything asks for them
	changing     map[string]bool   // the parts of these
	ancestors    map[string]bits   // by invocation, what an apply does before it
	earlierParts map[string][]bits // likewise of the parts of one
	questions    []question        // which were answered by no
	programs     []question        // those of them that a program answers
	isIncomplete bool              // one of these answers was wrong
}

// question is whether what something looks at is certain.
type question struct {
	node     *node
	part     string
	identity string
	trace    *host.Trace
	program  bool   // a program answers, which may look at whatever there is
	scope    string // the block whose members all get the same answer, before any of them acts; empty: none
}

// next begins a plan with the effects that the one before has found.
func (f *effects) next() *effects {
	next := &effects{byPart: map[string]*effect{}, changes: f.changes, changing: f.changing}
	for _, x := range f.known {
		next.known = append(next.known, x)
		next.byPart[x.part] = x
	}
	return next
}

// nearestEffect gives the effect that makes it uncertain what a part finds, the nearest in
// StateRun order; nil: there is none.
func (f *effects) nearestEffect(q question) (nearest *effect) {
	if f == nil {
		return nil
	}
	for _, x := range f.known {
		if (nearest == nil || f.isNearer(q.node, x, nearest)) && f.mayPrecede(x, &q) && f.couldTouch(x, &q) {
			nearest = x
		}
	}
	if nearest == nil && q.program {
		nearest = f.changeBefore(q)
	}
	if nearest == nil && !f.isIncomplete {
		f.questions = append(f.questions, q)
		if q.program {
			f.programs = append(f.programs, q)
		}
	}
	return nearest
}

// isNearer reports whether an effect is the better reason: it may touch anything, or is
// certain to come first rather than only possible, or closer.
func (f *effects) isNearer(n *node, x, than *effect) bool {
	if x.anything != than.anything {
		return x.anything
	}
	at, before := f.nodes[x.invocation].order, f.nodes[than.invocation].order
	if (at <= n.order) != (before <= n.order) {
		return at <= n.order
	}
	if at <= n.order {
		return at >= before
	}
	return at < before
}

// effectReason is the effect as the reason why what somebody looks at is not certain; empty:
// there is none.
func (f *effects) effectReason(x *effect, q *question) string {
	if x == nil {
		return ""
	}
	if at := f.nodes[x.invocation]; at == q.node && !at.inv.Parallel || f.nodesBefore(q.node).has(at.order) {
		return (&uncertainty{by: x.part, how: x.how}).reason()
	}
	return x.part + ", " + x.how + ", may come before it"
}

// asThingsAre begins the reason of a row of a plan that would do nothing, if it was not for
// something before it.
func asThingsAre(outcome, reason string) string {
	if reason == "" {
		return ""
	}
	return outcome + " as things are; " + reason
}

// addEffects tells the engine what the part may touch that nobody knows. One that is not
// certain since a program may come first ends as it is wanted all the same, and does more than
// the plan says only after that program: it makes nothing uncertain that the program does not.
func (s *step) addEffects() {
	if s.outcome == states.Changed && (s.module == nil || !s.module.IsAct()) {
		s.engine.effects.addChange(&effect{part: s.part.Address, invocation: s.node.address, how: changing})
	}
	x := &effect{part: s.part.Address, invocation: s.node.address, how: uncertain}
	switch {
	case s.isUnforeseeable:
		x.how = unforeseeable
		if s.doubt == "" && !s.module.IsAct() {
			x.identity = s.identity()
		}
	case s.doubt == "" || s.outcome == states.Failed || s.isDoubtGeneral:
		return
	}
	x.paths, x.anything = s.reach()
	if x.anything || len(x.paths) > 0 {
		s.engine.effects.addEffect(x)
	}
}

// reach gives the paths at or below which is all that the part changes, unless it may
// change anything.
func (s *step) reach() (paths []string, anything bool) {
	if s.module == nil || s.module.IsAct() {
		return nil, s.module == nil || s.outcome != states.Changed || s.isUnforeseeable // else it only reads
	}
	written, all := s.trace.Writes()
	paths = append(written, s.module.Paths(s.part.Values)...)
	for _, p := range paths { // a link on the way may stay as it is
		paths = append(paths, host.Resolve(s.engine.options.Host, p))
	}
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	incomplete := s.isUnforeseeable || s.outcome != states.Changed || s.module.Batch != nil
	return paths, !all || incomplete && (s.hasUnknownKey(s.unknownUntilApply) || len(s.module.Paths(s.part.Values)) == 0)
}

// couldTouch reports whether an act could have touched what a part looks at, if it is
// done before. This is all that is known of that: an act that starts a program or a
// service may touch anything, a resource of declared paths these and what is below them, and
// what a part looks at is what it was seen to look at. A resource that the act leaves as it is
// wanted is read back, and so no other afterwards.
func (f *effects) couldTouch(x *effect, q *question) bool {
	if x.identity != "" && x.identity == q.identity {
		return false
	}
	looked, all := q.trace.Reads()
	if x.anything || !all {
		return !all || len(looked) > 0
	}
	for _, p := range looked {
		to, links := host.Way(f.shadow, p)
		for _, touched := range x.paths {
			at := host.Resolve(f.shadow, touched)
			if overlap(p, touched) || overlap(to, at) || slices.ContainsFunc(links, func(l string) bool { return contains(at, l) }) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether one of two paths is the other, or above it.
func overlap(a, b string) bool {
	a, b = path.Clean(a), path.Clean(b)
	return contains(a, b) || contains(b, a)
}

// contains reports whether a clean path is another one, or above it.
func contains(a, b string) bool { return a == b || a == "/" || strings.HasPrefix(b, a+"/") }

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
	index := func(address string) int {
		return slices.IndexFunc(parts, func(p *states.Part) bool { return p.Address == address })
	}
	a, p := index(act), index(part)
	if p < 0 || !n.inv.Parallel {
		return a < p
	}
	return !f.partsBefore(n, parts)[a].has(p)
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
		for _, r := range parts[k].Requires {
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

// addEffect adds an effect, or what more it may touch than was known.
func (f *effects) addEffect(x *effect) {
	was := f.byPart[x.part]
	if was != nil {
		x.anything = x.anything || was.anything
		x.paths = slices.Compact(slices.Sorted(slices.Values(append(x.paths, was.paths...))))
		if x.identity != was.identity {
			x.identity = ""
		}
		if was.anything == x.anything && was.identity == x.identity && slices.Equal(was.paths, x.paths) {
			return
		}
		f.known = slices.DeleteFunc(f.known, func(k *effect) bool { return k == was })
	}
	if x.anything { // first, for they spare a look at the paths of the others
		f.known = slices.Insert(f.known, 0, x)
	} else {
		f.known = append(f.known, x)
	}
	f.byPart[x.part] = x
	for k := range f.questions {
		q := &f.questions[k]
		if f.isIncomplete {
			return
		}
		f.isIncomplete = f.mayPrecede(x, q) && f.couldTouch(x, q)
	}
}
