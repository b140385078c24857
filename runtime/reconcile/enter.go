package reconcile

import (
	"fmt"
)

// begin names an apply, unless one goes on.
func (st *step) begin(on Trigger) {
	s := &st.s
	if on == OnRestart {
		return
	}
	s.Failure, s.Restarts = Failure{}, 0
	switch s.Phase {
	case Removing:
		s.Target = s.Wanted
	case Reverting:
		s.Target = s.Converged
	case Applying:
		s.Rounds++
	}
	s.Execution = fmt.Sprintf("%s-%08x", s.Target.Name, uint32(st.random()*(1<<32)))
}

// rest is the end of a turn after which the machine is as it is to be, or is only looked at.
func (st *step) rest(from Phase, on Trigger) {
	s := &st.s
	s.Next = st.now.Add(st.poll())
	if on == OnDrift {
		s.Condition = Drifted
		return
	}
	if from == Validating {
		st.forgive()
		if s.Goal == Keep {
			s.Tried = s.Target
			if st.kept {
				s.Converged = s.Target
			}
		}
	}
	s.Failure = Failure{}
	s.Condition = Converged
	if s.Goal == Return {
		s.Condition = Reverted
		s.Reason = "what is wanted has failed, and the host is as it was before"
	}
}

// count counts a failure, and says when the next attempt is.
func (st *step) count() {
	s := &st.s
	if s.Attempts == nil {
		s.Attempts = map[Cause]int{}
	}
	s.Attempts[s.Cause]++
	s.Limit = st.options.Attempts
	s.Condition = Unknown
	if s.Cause.counts() {
		s.Condition = Failed
	}
	s.Next = st.now.Add(st.backoff(s.Attempts[s.Cause]))
}

// giveUp waits for something else, or for a person. It goes on looking at what is wanted.
func (st *step) giveUp() {
	s := &st.s
	s.Helpless, s.Condition = true, Failed
	if s.Goal == Remove {
		return
	}
	s.Goal = Keep
	s.Next = st.now.Add(st.poll())
}
