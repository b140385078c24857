package reconcile

import (
	"math"
	"time"
)

// backoff is how long to wait after some failures.
func (st *step) backoff(attempt int) time.Duration {
	return Pause(st.options.Backoff, attempt, st.random())
}

// poll is how long to wait until the machine is looked at again.
func (st *step) poll() time.Duration {
	return Spread(st.options.Poll, st.options.Jitter, st.random())
}

// Pause is how long to wait after some failures, of which the first is number 1: full jitter, growing from a time up to half an hour.
// random is from [0, 1).
func Pause(first time.Duration, attempt int, random float64) time.Duration {
	limit := first
	for range attempt {
		if limit *= 2; limit >= maxBackoff {
			limit = maxBackoff
			break
		}
	}
	return limit/10 + time.Duration(random*float64(limit))
}

// LongestPause is the longest that Pause gives.
const LongestPause = maxBackoff + maxBackoff/10

// Spread is a time, evenly spread around what was asked for by a part of it.
func Spread(around time.Duration, jitter, random float64) time.Duration {
	return scale(around, 1+jitter*(2*random-1))
}

// scale multiplies a time, which stays one.
func scale(d time.Duration, by float64) time.Duration {
	f := float64(d) * by
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(time.Duration(f), 1)
}
