package runtime

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// A guard's program may look at whatever there is. What it answers is certain only where
// nothing at all may be changed before it is asked.

// changeBefore gives the nearest change that an apply may make before the question; nil:
// there is none.
func (f *effects) changeBefore(q question) (nearest *effect) {
	for _, x := range f.changes {
		if (nearest == nil || f.isNearer(&q, x, nearest)) && f.mayPrecede(x, &q) {
			nearest = x
		}
	}
	return nearest
}

// addChange adds a change of which the plan is certain. An answer that it may come before
// was wrong.
func (f *effects) addChange(x *effect) {
	if f == nil || f.changing[x.part] {
		return
	}
	if f.changing == nil {
		f.changing = map[string]bool{}
	}
	f.changing[x.part] = true
	f.changes = append(f.changes, x)
	f.isIncomplete = f.isIncomplete || slices.ContainsFunc(f.programs, func(q question) bool { return f.mayPrecede(x, &q) })
}

// whyUnsure says why a guard's answer is not certain, by what is known of that already, and the
// part for which that is so; empty: it is. It names the program that the guard runs, if the
// answer came by that.
func (f *effects) whyUnsure(q question, command []string, known string) (why, root string) {
	const after = "after "
	isWhole := slices.ContainsFunc(q.looks, func(l host.Look) bool { return l.All && l.Name == "/" })
	q.program = len(command) > 0 && (q.isBoundless || isWhole)
	if known != "" && (!q.program || !strings.HasPrefix(known, after)) {
		return known, ""
	}
	by := f.nearestEffect(q)
	if by != nil {
		root = by.root
	}
	cause := cmp.Or(f.effectReason(by, &q), known)
	switch {
	case cause == "" || !q.program:
		return cause, root
	case strings.HasPrefix(cause, after):
		return "its guard runs " + command[0] + " " + cause, root
	}
	return "its guard runs " + command[0] + ", and " + cause, root
}
