// Package watch tells what is new where something is planned or applied again and again.
package watch

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/tenetcm/tenet/states"
)

// Types of the events that tell news of Drift, beside those of a run.
const (
	EventBack = "back" // a part is as declared again: the fields of its event
	EventGone = "gone" // nothing is said of it any more: Address, Key, Reason
)

// Drift tells what is new in the events of a plan or an apply against those of
// the one before, so that the same is not said again each time. It remembers
// what is not as declared, and nothing else: it grows with that, not with time.
// It is not for several goroutines at once.
type Drift struct {
	previous map[subject]digest // what was not as declared in the run before
	current  map[subject]digest // and in this one so far
	restored map[subject]bool   // of off: what this one has spoken of
}

// subject is what an event speaks of.
type subject Vanished

type digest [16]byte

// News is what an event says against those of the run before.
type News int

// The news.
const (
	NoNews   News = iota // as before, or of no account
	Drifted              // it is not as declared, in a way that is new, or was made so just now
	Restored             // it is as declared again
)

// Add takes the next event of a run.
func (d *Drift) Add(ev *states.Event) News {
	if d.current == nil {
		d.current, d.restored = map[subject]digest{}, map[subject]bool{}
	}
	what, off := judge(ev)
	if what.Type == "" {
		return NoNews
	}
	before, was := d.previous[what]
	if was {
		d.restored[what] = true
	}
	switch {
	case off:
		sum := digestOf(ev)
		d.current[what] = sum
		if was && before == sum {
			return NoNews
		}
		return Drifted
	case ev.Outcome == states.Changed:
		return Drifted
	case was:
		return Restored
	}
	return NoNews
}

// Len tells how much is not as declared in the run so far.
func (d *Drift) Len() int { return len(d.current) }

// Vanished is something that was not as declared, and of which nothing is said any
// more: a part (Type is states.EventPart) that is not declared any more, or what
// an earlier run had left (states.EventOwed and the like).
type Vanished struct{ Type, Address, Key string }

// End takes note that the run has come to its end, and gives what was not as
// declared and has not been spoken of, by address.
func (d *Drift) End() (gone []Vanished) {
	for what := range d.previous {
		if !d.restored[what] {
			gone = append(gone, Vanished(what))
		}
	}
	d.previous, d.current, d.restored = d.current, nil, nil
	slices.SortFunc(gone, func(a, b Vanished) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
	return gone
}

// Forget takes note that the run has not come to its end: the next is held
// against the one before it.
func (d *Drift) Forget() { d.current, d.restored = nil, nil }

// judge tells what an event speaks of, if that counts, and whether this is not
// as declared.
func judge(ev *states.Event) (what subject, off bool) {
	switch ev.Type {
	case states.EventPart:
		off = ev.Outcome == states.Failed || ev.Outcome == states.Unknown || ev.Outcome == states.Blocked ||
			ev.Outcome == "" && ev.Action != states.NoChange
		return subject{Type: ev.Type, Address: ev.Address}, off
	case states.EventOwed, states.EventDropped, states.EventUnknown, states.EventOrphan:
		return subject{ev.Type, ev.Address, ev.Key}, true
	}
	return subject{}, false
}

// digestOf sums up what an event says, but for when it did and how long it took.
func digestOf(ev *states.Event) (d digest) {
	said := *ev
	said.Seq, said.Time, said.Duration = 0, time.Time{}, 0
	if ev.Outcome == states.Failed { // a plan and an apply say the same of it, and the apply more besides
		said = states.Event{Type: ev.Type, Address: ev.Address, Outcome: ev.Outcome, Error: ev.Error}
	}
	data, err := json.Marshal(said)
	if err != nil { // then it is new each time
		data = []byte(ev.Time.String())
	}
	sum := sha256.Sum256(data)
	copy(d[:], sum[:])
	return d
}
