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
func (f *effects) changeBefore(q question) (nearest *effect) {
	for _, x := range f.changes {
		if (nearest == nil || f.isNearer(q.node, x, nearest)) && f.mayPrecede(x, &q) {
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

// whyUnsure says why a guard's answer is not certain, by what is known of that already;
// empty: it is. It names the program that the guard runs, if the answer came by that.
func (f *effects) whyUnsure(q question, command []string, known string) string {
	looked, all := q.trace.Reads()
	if q.program = len(command) > 0 && (!all || slices.Contains(looked, "/")); !q.program {
		if known == "" {
			known = f.effectReason(f.nearestEffect(q), &q)
		}
		return known
	}
	const after = "after "
	runs, cause := "its guard runs "+command[0], ""
	if known == "" || strings.HasPrefix(known, after) {
		cause = cmp.Or(f.effectReason(f.nearestEffect(q), &q), known)
	}
	switch {
	case cause == "":
		return known
	case strings.HasPrefix(cause, after):
		return runs + " " + cause
	}
	return runs + ", and " + cause
}
