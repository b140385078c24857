package access

import (
	"net/netip"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// TooManyError says that something was tried too often, and when it may be tried again.
type TooManyError struct{ After time.Duration }

// Error says so.
func (e *TooManyError) Error() string { return "there were too many attempts to log in" }

// Unwrap gives the code and the hint.
func (e *TooManyError) Unwrap() error {
	return &diag.HintError{Code: CodeTooMany, Message: e.Error(), Hint: "wait " + e.After.Round(time.Second).String() + ", and try again"}
}

const (
	addressAttempts = 10               // failures of one address at once
	addressInterval = 20 * time.Second // after which one more is allowed
	nameAttempts    = 50               // failures with one name from addresses that never had success with it
	nameInterval    = time.Minute
	maxBuckets      = 100_000
)

// attempts slows down who guesses passwords. No account is ever locked by them: an address from
// which a person has logged in may go on whatever others do. Nothing of it is kept over a restart.
type attempts struct {
	mu    sync.Mutex
	full  map[string]time.Time // until when each bucket has something in it
	known map[string]bool      // names and addresses that belong together
}

func newAttempts() *attempts {
	return &attempts{full: map[string]time.Time{}, known: map[string]bool{}}
}

// begin counts an attempt as failed, until success takes it back: so those that run at the same
// time count, too.
func (a *attempts) begin(name, from string, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.full) > maxBuckets {
		a.tidy(now)
	}
	network := networkOf(from)
	byAddress, byName := "a:"+network, "n:"+name
	if err := a.check(byAddress, addressAttempts, addressInterval, now); err != nil {
		return err
	}
	if !a.known[name+"\x00"+network] {
		if err := a.check(byName, nameAttempts, nameInterval, now); err != nil {
			return err
		}
		a.fill(byName, nameInterval, now)
	}
	a.fill(byAddress, addressInterval, now)
	return nil
}

func (a *attempts) check(bucket string, size int, interval time.Duration, now time.Time) error {
	enough := now.Add(time.Duration(size-1) * interval)
	until := a.full[bucket]
	if until.After(enough.Add(interval)) { // it holds no more: the clock was put back
		delete(a.full, bucket)
		return nil
	}
	if until.After(enough) {
		return &TooManyError{After: until.Sub(enough)}
	}
	return nil
}

func (a *attempts) fill(bucket string, interval time.Duration, now time.Time) {
	until := a.full[bucket]
	if until.Before(now) {
		until = now
	}
	a.full[bucket] = until.Add(interval)
}

// success takes an attempt back.
func (a *attempts) success(name, from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	network := networkOf(from)
	a.full["a:"+network] = a.full["a:"+network].Add(-addressInterval)
	if pair := name + "\x00" + network; !a.known[pair] {
		a.full["n:"+name] = a.full["n:"+name].Add(-nameInterval)
		if len(a.known) < maxBuckets {
			a.known[pair] = true
		}
	}
}

// tidy forgets what is empty, and if that is not enough all: names and addresses can be made up.
func (a *attempts) tidy(now time.Time) {
	for bucket, until := range a.full {
		if until.Before(now) {
			delete(a.full, bucket)
		}
	}
	if len(a.full) > maxBuckets {
		clear(a.full)
	}
}

// networkOf is what one attacker has easily: an address, or a network /64.
func networkOf(from string) string {
	if pair, err := netip.ParseAddrPort(from); err == nil {
		from = pair.Addr().String()
	}
	address, err := netip.ParseAddr(from)
	if err != nil {
		return from
	}
	address = address.Unmap().WithZone("")
	if address.Is6() {
		if prefix, err := address.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
