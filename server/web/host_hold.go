package web

import (
	"strings"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

// hold is whether applies on a host are on hold, as far as it is known without asking it.
type hold int

const (
	holdUnknown hold = iota
	isHeld
	isFree
)

// hold tells it by what the host has just answered, where it was asked, or by why its loops are blocked. A loop that has nothing to
// apply does not say.
func (h *hostPage) hold() hold {
	switch {
	case h.Now != nil && h.Now.Hold != nil:
		return isHeld
	case h.Now != nil:
		return isFree
	}
	for _, s := range h.Sites {
		if s.Loop != nil && s.Loop.Cause == string(reconcile.Obstacle) && strings.HasPrefix(s.Loop.Reason, journal.OnHold) {
			return isHeld
		}
	}
	return holdUnknown
}

// CanHold tells whether it can be held: it is known that it is not.
func (h *hostPage) CanHold() bool { return h.hold() == isFree }

// CanRelease tells whether it can be released: it is known to be on hold.
func (h *hostPage) CanRelease() bool { return h.hold() == isHeld }

// CanAskHold tells whether the host can say whether it is on hold, and has not just been asked in vain.
func (h *hostPage) CanAskHold() bool { return h.hold() == holdUnknown && h.NowWhy == nil }
