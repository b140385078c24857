package reconcile

import (
	"fmt"
	"math"
	"time"
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

// backoff is how long to wait after some failures: full jitter, growing.
func (st *step) backoff(attempt int) time.Duration {
	limit := st.options.Backoff
	for range attempt {
		if limit *= 2; limit >= maxBackoff {
			limit = maxBackoff
			break
		}
	}
	return limit/10 + time.Duration(st.random()*float64(limit))
}

// poll is how long to wait until the machine is looked at again: evenly spread around what was asked for.
func (st *step) poll() time.Duration {
	return scale(st.options.Poll, 1+st.options.Jitter*(2*st.random()-1))
}

// scale multiplies a time, which stays one.
func scale(d time.Duration, by float64) time.Duration {
	f := float64(d) * by
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(time.Duration(f), 1)
}
