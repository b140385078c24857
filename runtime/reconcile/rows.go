package reconcile

import "github.com/tenetcm/tenet/states"

// FoundIn tells what the events of a plan come to.
func FoundIn(events []states.Event) Found {
	var f Found
	for i := range events {
		switch ev := &events[i]; ev.Type {
		case states.EventUnknown: // nobody saw it end: it is tried again
			f.Something = true
		case states.EventOwed, states.EventDropped: // what an apply takes note of
			f.Maybe = true
		case states.EventOrphan:
			f.Something = f.Something || ev.Action == states.Remove
		case states.EventPart:
			something, maybe := row(ev)
			f.Something, f.Maybe = f.Something || something, f.Maybe || maybe
		}
	}
	return f
}

// Differing counts the rows of a plan that are certainly not as wanted.
func Differing(events []states.Event) (n int) {
	for i := range events {
		if FoundIn(events[i : i+1]).Something {
			n++
		}
	}
	return n
}

// row tells whether a part is certainly to be changed, or perhaps. One that cannot be planned is not as wanted: an apply tells why, and does
// the others.
func row(ev *states.Event) (something, maybe bool) {
	certain := ev.Certain == nil || *ev.Certain
	switch {
	case ev.Outcome == states.Failed, ev.Outcome == states.Unknown:
		return true, false
	case ev.Outcome == states.Blocked:
		return false, true
	case ev.Outcome != "" || ev.Action == states.NoChange:
		return false, false
	case certain && (ev.Action == states.Create || ev.Action == states.Update || ev.Action == states.Remove):
		return true, false
	}
	return false, true
}
