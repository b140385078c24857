package trust

import "crypto/subtle"

// Renewals are what a server knows of the renewals of a host: each tells the value that the host gave last, and the next one.
type Renewals struct {
	Value  []byte // that the host gave last
	Former []byte // and before
	Any    bool   // the next renewal counts, whatever it knows
}

// Accept tells whether a renewal is of the host that has renewed last: it knows the last value, or it is that last one again, whose answer was lost. A
// copy of the host does not, nor the host itself after it was taken back in time, once the other one has renewed. After are the renewals with this one.
func (r Renewals) Accept(value, next []byte) (after Renewals, ok bool) {
	if !r.Any && !sameValue(r.Value, value) && !(sameValue(r.Former, value) && sameValue(r.Value, next)) {
		return r, false
	}
	return Renewals{Value: next, Former: value}, true
}

// sameValue takes as long whichever values differ. An empty one is none.
func sameValue(a, b []byte) bool { return len(a) > 0 && subtle.ConstantTimeCompare(a, b) == 1 }
