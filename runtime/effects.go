package runtime

import (
	"path"
	"reflect"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// effect is what a plan does not know: an act whose effects cannot be foreseen, or
// one of which the plan is not certain.
type effect struct {
	part       string // its address
	invocation string
	identity   string // of the resource that it leaves as it is wanted; empty: of none
	how        string // see reasons
	root       string // the part for which it is uncertain, in the end
	mayFail    bool   // it may, and block what requires it
	isOpen     bool   // as things are it is not done
	touch      states.Effects

	paths, adds patterns // those of touch
}

// How a part makes others uncertain.
const (
	unforeseeable = "whose effects cannot be foreseen"
	uncertain     = "which is not certain"
	changing      = "which changes the host"
)

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
	ways         ways
}

// question is whether what something looks at is certain.
type question struct {
	node     *node
	part     string
	identity string
	subjects
	looks       []host.Look
	isBoundless bool   // it looks at more than that
	failed      bool   // it would fail as things are
	program     bool   // a program answers, which may look at whatever there is
	scope       string // the block whose members all get the same answer, before any of them acts; empty: none
}

// see takes over what was looked at.
func (q *question) see(t *host.Trace) {
	looks, all := t.Looks()
	q.looks, q.isBoundless = looks, !all
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
		if (nearest == nil || f.isNearer(&q, x, nearest)) && f.mayPrecede(x, &q) && f.couldTouch(x, &q) {
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

// mayFailBy reports whether one of the effects that make it uncertain what a part finds may fail.
func (f *effects) mayFailBy(q *question) bool {
	return slices.ContainsFunc(f.known, func(x *effect) bool { return x.mayFail && f.mayPrecede(x, q) && f.couldTouch(x, q) })
}

// nearestBefore is nearestEffect of those that are over by then, in whatever order an apply takes
// what is ready.
func (f *effects) nearestBefore(q question) (nearest *effect) {
	if f == nil {
		return nil
	}
	for _, x := range f.known {
		if (nearest == nil || f.isNearer(&q, x, nearest)) && f.comesBefore(x, &q) && f.couldTouch(x, &q) {
			nearest = x
		}
	}
	return nearest
}

// isNearer reports whether an effect is the better reason: it may touch anything, or is
// certain to come first rather than only possible, or closer.
func (f *effects) isNearer(q *question, x, than *effect) bool {
	if x.touch.Anything != than.touch.Anything {
		return x.touch.Anything
	}
	if first := f.comesBefore(x, q); first != f.comesBefore(than, q) {
		return first
	}
	n, at, before := q.node, f.nodes[x.invocation].order, f.nodes[than.invocation].order
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
		return "after " + x.part + ", " + x.how
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

// uncertainLook gives a function that tells whether what somebody looks at may be touched by
// what is over by then; nil: nothing may be. It calls rely where they need what is not done as
// things are.
func (f *effects) uncertainLook(q question, rely func()) func(host.Look) bool {
	if f == nil {
		return nil
	}
	before := slices.DeleteFunc(slices.Clone(f.known), func(x *effect) bool { return !f.comesBefore(x, &q) })
	if len(before) == 0 {
		return nil
	}
	return func(l host.Look) bool {
		isTouched, isOpen := false, true
		for _, x := range before {
			if (x.identity == "" || x.identity != q.identity) && (x.touch.Anything || f.touches(x, &q, l)) {
				isTouched, isOpen = true, isOpen && x.isOpen
			}
			if isTouched && !(isOpen && l.Needed) {
				return true
			}
		}
		if isTouched {
			rely()
		}
		return isTouched
	}
}

// addEffect adds an effect, or what more it may touch than was known.
func (f *effects) addEffect(x *effect) {
	for _, list := range [][]string{x.touch.Paths, x.touch.Adds} {
		for i := range list {
			list[i] = path.Clean(list[i])
		}
	}
	x.touch.Add(states.Effects{}) // in order
	was := f.byPart[x.part]
	if was != nil {
		x.touch.Add(was.touch)
		if x.identity != was.identity {
			x.identity = ""
		}
		if was.identity == x.identity && reflect.DeepEqual(was.touch, x.touch) {
			return
		}
		f.known = slices.DeleteFunc(f.known, func(k *effect) bool { return k == was })
	}
	if x.touch.Anything { // first, for they spare a look at the paths of the others
		f.known = slices.Insert(f.known, 0, x)
	} else {
		f.known = append(f.known, x)
	}
	x.paths, x.adds = compile(x.touch.Paths), compile(x.touch.Adds)
	f.byPart[x.part] = x
	for k := range f.questions {
		q := &f.questions[k]
		if f.isIncomplete {
			return
		}
		f.isIncomplete = f.mayPrecede(x, q) && f.couldTouch(x, q)
	}
}
