package states

import (
	"io/fs"

	"github.com/tenetcm/tenet/runtime/host"
)

// Of a file that another account has made, that account may have chosen the mode. So a mode
// that a part does not give, and takes from what is there, leaves out what would let the
// former owner act with the rights of the new one, or change what is not its own any more.

// mayWithhold reports whether a mode has bits that withheld could give.
func mayWithhold(mode fs.FileMode) bool { return mode&(host.SetIDBits|host.WriteBits) != 0 }

// withheld gives the bits that a mode does not take over from what is there, given the
// values that are there and that are wanted, by attribute.
func withheld(attributes []Attribute, have, want func(i int) any) fs.FileMode {
	var bits fs.FileMode
	for i, a := range attributes {
		if a.In || a.Out || a.Key || a.Kind == KindMode {
			continue
		}
		is, shall := have(i), want(i)
		if is == nil || shall == nil || sameValue(is, shall) {
			continue
		}
		bits |= host.SetIDBits
		if a.OfUser && is != "root" && is != "0" {
			bits |= host.WriteBits
		}
	}
	return bits
}

// isModeOfFile reports whether an attribute is a mode of which bits may be withheld.
func isModeOfFile(a Attribute) bool { return a.Kind == KindMode && isFilled(a) && !a.OfDirectory }
