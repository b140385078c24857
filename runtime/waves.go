package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// maxNotifiers is how many of those that notify a wave are named.
const maxNotifiers = 3

// waveReason says what makes a wave of a handler that has several, or that would have several
// but for `follows`; empty for any other invocation.
func waveReason(inv *states.Invocation) string {
	several := states.WithoutWave(inv.Address) != inv.Address
	if !several && len(inv.Joined) == 0 {
		return ""
	}
	text := "for " + notifiers(inv)
	if inv.Always {
		text = "as it is required"
	}
	switch next := inv.Next; {
	case next == nil:
	case next.Requires == "":
		text += fmt.Sprintf(", before %s, which follows it", next.Address)
	case next.Requires == inv.Address:
		text += fmt.Sprintf(", before %s, which requires it", next.Address)
	default:
		text += fmt.Sprintf(", before %s, which requires %s", next.Address, next.Requires)
	}
	var joined []string
	for _, f := range inv.Joined {
		if f.Address == states.WithoutWave(inv.Address) {
			joined = append(joined, "it follows "+f.Follows)
		} else {
			joined = append(joined, f.Address+" follows "+f.Follows)
		}
	}
	if len(joined) > 0 {
		text += " together, since " + strings.Join(joined, " and ")
	}
	return text
}

// notifiers names what notifies a wave.
func notifiers(inv *states.Invocation) string {
	var names []string
	for _, n := range inv.NotifiedBy {
		if !slices.Contains(names, n.Address) {
			names = append(names, n.Address)
		}
	}
	if more := len(names) - maxNotifiers; more > 1 {
		names = append(names[:maxNotifiers], fmt.Sprintf("%d more", more))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
