package reconcile

import (
	"time"
)

// want takes note of what is wanted. What is under way ends first; of what comes meanwhile the newest counts.
func (st *step) want(t Target) Trigger {
	s := &st.s
	changed := !s.Wanted.is(t)
	s.Wanted = t
	renewed := changed && st.renew(t)
	switch {
	case !changed && s.Goal == Keep && s.Target.is(t):
		s.Target = t // by its newer name
	case changed && !renewed && s.Goal == Return:
		s.Fallen = t // it has no attempts left
		return ""
	}
	switch {
	case !s.Phase.IsRest():
		return ""
	case t.Absent:
		if !changed && s.Goal == Remove {
			return ""
		}
		return OnUndeploy
	case changed:
		return OnWanted
	case s.Phase == Waiting: // a process begins, or it is signed anew: nothing was tried of it since
		return OnLook
	}
	return ""
}

// renew lets attempts begin anew for what is wanted now, and tells whether it has. Of one revision, which facts may make something
// else of again and again, this is so a few times a day.
func (st *step) renew(t Target) bool {
	s := &st.s
	spent := len(s.Attempts) > 0 || s.Helpless || s.Goal == Return
	switch {
	case s.Tried.Digest == "" || s.Tried.Revision != t.Revision || t.Absent:
		s.Renewals = nil
	case !spent:
	case len(s.Renewals) >= renewals:
		return false
	default:
		s.Renewals = append(s.Renewals, st.now)
	}
	st.forgive()
	s.Tried = t
	return true
}

// forgive begins the attempts anew.
func (st *step) forgive() { st.s.Attempts, st.s.Helpless = nil, false }

// again tries once more what has failed, or was given up.
func (st *step) again() Trigger {
	s := &st.s
	if s.Goal == Return && !s.Phase.IsRest() {
		return "" // it has its end first
	}
	st.forgive()
	s.Tried = s.Wanted
	switch {
	case !s.Phase.IsRest(), s.Phase == Gone, s.Wanted.Digest == "":
		return ""
	case s.Wanted.Absent:
		return OnUndeploy
	}
	return OnAgain
}

// leave is what a transition does on its way out of a phase.
func (st *step) leave(from Phase, on Trigger) {
	s := &st.s
	switch on {
	case OnWanted, OnAgain, OnSuperseded:
		s.Goal, s.HasRun, s.Condition = Keep, false, Unknown
	case OnUndeploy:
		s.Goal, s.Condition = Remove, Unknown
	case OnReturn:
		if s.Goal != Return {
			s.Goal, s.Fallen = Return, s.Wanted
			delete(s.Attempts, Unavailable) // those were at what is given up
		}
	case OnPoll, OnFailed, OnOverdue, OnUnstable:
		s.HasRun = false
	case OnDone:
		s.HasRun = true
		if from == Applying {
			s.Applied = s.Target.Digest
		}
		if s.Goal == Return {
			delete(s.Attempts, Unavailable)
		}
	}
	if from.IsRest() || on == OnSuperseded || on == OnUndeploy {
		s.Rounds, s.Restarts = 0, 0
	}
}

// enter is what a transition does on its way into a phase.
func (st *step) enter(from, to Phase, on Trigger) {
	s := &st.s
	s.Phase, s.Since, s.Next = to, st.now, time.Time{}
	if !s.Helpless || to != Discovering && on != OnStuck { // why it waits for help
		s.Failure = st.failure
	}
	switch to {
	case Discovering:
		s.Target = s.Wanted
		if s.Goal == Return {
			s.Target = s.Converged
		}
	case Applying, Reverting, Removing:
		st.begin(on)
	case Waiting:
		st.rest(from, on)
	case Retrying:
		st.count()
	case Blocked:
		s.Condition, s.Next = Unknown, st.now.Add(min(blockedFor, st.options.Poll))
		if s.Cause == Closed { // the host is looked at meanwhile as often as ever
			s.Next = st.opens()
		}
	case Help:
		st.giveUp()
	case Gone:
		st.forgive()
		s.Converged, s.Condition = Target{}, Unknown
	}
}
