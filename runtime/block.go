package runtime

import (
	"cmp"

	"github.com/tenetcm/tenet/states"
)

// In a plan a failure may be open: as things are something fails, but an act that may come before
// it could mend that. What it blocks is open then, too.

// blocker gives what a node requires that has failed, for sure where there is such a one; nil:
// nothing has.
func (n *node) blocker() (by *node) {
	for _, p := range n.requires {
		switch {
		case p.blockedBy == "":
		case p.causes[p.blockedBy] == "":
			return p
		case by == nil:
			by = p
		}
	}
	return by
}

// block ends an invocation since what it requires has failed.
func (e *engine) block(n, by *node) {
	cause, reason := by.causes[by.blockedBy], "by "+by.blockedBy
	if cause == "" {
		e.stopBefore(n, states.Blocked, reason, by.blockedBy)
		return
	}
	for k := range n.inv.Parts {
		e.endBlocked(n, &n.inv.Parts[k], by.blockedBy, cause)
	}
	n.outcome, n.blockedBy = states.Blocked, by.blockedBy
	n.noteCauseOf(by.blockedBy, cause)
	e.recorder.recordInvocation(n, reason)
}

// endBlocked records that a part does not run since another one has failed; cause is the part for
// which that is open, in the end; empty: it is not.
func (e *engine) endBlocked(n *node, p *states.Part, by, cause string) {
	end := ending{outcome: states.Blocked, reason: "by " + by}
	if cause == "" {
		e.endUnrun(n, p, end)
		return
	}
	e.endOpen(n, p, end, certainty{doubt: "if " + by + " fails", cause: cause})
}

// failureCause reports whether one of several members has failed, or, with blocked, could not
// go, and gives the part for which that is open, in the end; empty: it is not.
func (d dag) failureCause(members []string, blocked bool) (cause string, failed bool) {
	for _, a := range members {
		m := d[a]
		if !isFailure(m.outcome) || m.outcome == states.Blocked && !blocked || m.blockedBy == "" {
			continue
		}
		failed = true
		if m.causes[m.blockedBy] == "" {
			return "", true
		}
		cause = cmp.Or(cause, m.causes[m.blockedBy])
	}
	return cause, failed
}
