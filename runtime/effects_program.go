package runtime

import (
	"cmp"
	"slices"
	"strings"
)

// A guard's program may look at whatever there is. What it answers is certain only where
// nothing at all may be changed before it is asked.

// changeBefore gives the nearest change that an apply may make before the question; nil:
// there is none.
func (e *engine) changeBefore(q question) (nearest *effect) {
	for _, x := range e.effects.changes {
		if (nearest == nil || e.isNearer(q.node, x, nearest)) && e.mayPrecede(x, &q) {
			nearest = x
		}
	}
	return nearest
}

// addChange adds a change of which the plan is certain. An answer that it may come before
// was wrong.
func (e *engine) addChange(x *effect) {
	f := e.effects
	if !e.planning() || f.changing[x.part] {
		return
	}
	if f.changing == nil {
		f.changing = map[string]bool{}
	}
	f.changing[x.part] = true
	f.changes = append(f.changes, x)
	f.isIncomplete = f.isIncomplete || slices.ContainsFunc(f.programs, func(q question) bool { return e.mayPrecede(x, &q) })
}

// isWithin reports whether an invocation is a member of a block, or of one in it.
func (e *engine) isWithin(block string, n *node) bool {
	at := e.nodes[block]
	return at != nil && at.block != nil && slices.ContainsFunc(at.block.Members, func(m string) bool {
		return m == n.address || e.isWithin(m, n)
	})
}

// whyUnsure says why a guard's answer is not certain, by what is known of that already;
// empty: it is. It names the program that the guard runs, if the answer came by that.
func (e *engine) whyUnsure(q question, command []string, known string) string {
	looked, all := q.trace.Looked()
	if q.program = len(command) > 0 && (!all || slices.Contains(looked, "/")); !q.program {
		if known == "" {
			known = e.effectReason(e.nearestEffect(q), &q)
		}
		return known
	}
	const after = "after "
	runs, cause := "its guard runs "+command[0], ""
	if known == "" || strings.HasPrefix(known, after) {
		cause = cmp.Or(e.effectReason(e.nearestEffect(q), &q), known)
	}
	switch {
	case cause == "":
		return known
	case strings.HasPrefix(cause, after):
		return runs + " " + cause
	}
	return runs + ", and " + cause
}
