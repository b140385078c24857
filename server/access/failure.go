package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/server/store"
)

// refuseSession is a login that has failed.
const refuseSession = "session.refuse"

// Each failure of a login has an entry in the audit, up to so many an hour; of the others there is a sum in the end. So who guesses passwords does not fill the
// store, nor hides behind their own noise.
const (
	failuresEvery     = time.Hour
	failuresOfPair    = 5   // of a name and a network
	failuresOfNetwork = 30  // with whatever names
	failuresOfAll     = 300 // of all
	failureSums       = 100 // of names and networks that have a sum of their own
)

// failures counts logins that have failed in this hour. Whether there is a person of that name makes no difference to what is done, so that it does not show
// in how long it takes.
type failures struct {
	mu    sync.Mutex
	begun time.Time
	told  map[any]int // by failurePair, network and nil: all
	left  map[failurePair]*failureSum
	rest  int64 // of more pairs than have sums
}

// failurePair holds no name: it may be a password that was typed in the wrong place.
type failurePair struct {
	name    [sha256.Size]byte
	network string
}

// failureSum is what has no entries.
type failureSum struct {
	person  string // empty: nobody has the name
	network string
	n       int64
}

func newFailures() *failures {
	return &failures{told: map[any]int{}, left: map[failurePair]*failureSum{}}
}

// count takes a failure up, and tells whether it has an entry.
func (f *failures) count(name, person, network string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	pair := failurePair{sha256.Sum256([]byte(name)), network}
	if f.told[pair] < failuresOfPair && f.told[network] < failuresOfNetwork && f.told[nil] < failuresOfAll {
		f.told[pair]++
		f.told[network]++
		f.told[nil]++
		return true
	}
	switch sum := f.left[pair]; {
	case sum != nil:
		sum.n++
	case len(f.left) < failureSums:
		f.left[pair] = &failureSum{person, network, 1}
	default:
		f.rest++
	}
	return false
}

// end begins another hour where one is over, and gives what was left out in it.
func (f *failures) end(now time.Time) (sums []*failureSum) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if age := now.Sub(f.begun); age >= 0 && age < failuresEvery {
		return nil
	}
	sums = slices.SortedFunc(maps.Values(f.left), func(a, b *failureSum) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.network, b.network)) })
	if f.rest > 0 {
		sums = append(sums, &failureSum{n: f.rest})
	}
	f.begun, f.rest = now, 0
	clear(f.told)
	clear(f.left)
	return sums
}

// refuse notes in the audit that a login by a name has failed; person is that name, where somebody has it, and otherwise empty.
func (d *Directory) refuse(ctx context.Context, name, person, origin, way string) error {
	ctx = context.WithoutCancel(ctx) // who hangs up is noted, too
	if err := d.TellFailures(ctx); err != nil {
		return err
	}
	if !d.failures.count(name, person, networkOf(origin)) {
		return nil
	}
	e := refusal(person, d.now())
	e.Detail["origin"], e.Detail["way"] = origin, way
	return d.store.Write(ctx, func(tx store.Tx) error { return Audit(tx, e) })
}

// TellFailures notes in the audit how many failures of logins have no entry in it, once their hour is over.
func (d *Directory) TellFailures(ctx context.Context) error {
	now := d.now()
	sums := d.failures.end(now)
	if len(sums) == 0 {
		return nil
	}
	return d.store.Write(ctx, func(tx store.Tx) error {
		for _, sum := range sums {
			e := refusal(sum.person, now)
			e.Detail["more"] = fmt.Sprint(sum.n)
			if sum.network != "" {
				e.Detail["origin"] = sum.network
			} else {
				e.Reason = "others, whose names and addresses are not noted"
			}
			if err := Audit(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// refusal is an entry without details. A name that nobody has is not in it: somebody may have typed a password there.
func refusal(person string, at time.Time) Entry {
	e := Entry{At: at, Actor: Server, Action: refuseSession, Detail: map[string]string{}}
	if person == "" {
		e.Reason = "nobody has the name that was given"
	} else {
		e.Detail["person"] = person
	}
	return e
}
