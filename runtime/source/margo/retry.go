package margo

import (
	"net/http"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Bounds of the time until something is tried again of which the manager does not say when.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 15 * time.Minute
)

// isRetirement tells whether the manager does not let the device in. The type of the problem decides where it is known; the status
// where it is not.
func (f Failure) isRetirement() bool {
	if f.Problem != nil && f.Problem.Kind() != "" {
		return f.Problem.Kind() == rc2.KindNotAuthorized
	}
	return f.Status == http.StatusForbidden
}

// isWorthTrying tells whether the same request may have success later.
func (f Failure) isWorthTrying() bool {
	if p := f.Problem; p != nil {
		if p.Retryable != nil {
			return *p.Retryable && p.Backoff != rc2.BackoffNone
		}
		if p.Backoff != "" {
			return p.Backoff != rc2.BackoffNone
		}
	}
	switch f.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return f.Status < 400 || f.Status >= 500
}

// retryTurn is the turn after one that has failed: as the manager says, or else after twice the time of the one before. It is never
// earlier than otherwise usual.
func (t *step) retryTurn(former Turn, f Failure, usual time.Duration) Turn {
	wait := firstRetry
	isFixed := false
	if p := f.Problem; p != nil {
		if p.After > 0 {
			wait = p.After
		}
		isFixed = p.Backoff == rc2.BackoffFixed
	}
	if !isFixed {
		for range min(former.Failures, 20) {
			if wait >= lastRetry {
				break
			}
			wait = min(2*wait, lastRetry)
		}
	}
	return Turn{Since: t.now, Wait: max(wait, f.After, usual), Failures: former.Failures + 1}
}
