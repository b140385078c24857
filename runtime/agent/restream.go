package agent

import (
	"errors"

	"github.com/tenetcm/tenet/runtime/control"
)

// restream begins another stream, since the server has more of this one than this host knows of: it was taken back in time, or is a copy. What it told by
// numbers that were used before would be taken for what the server has already. The lock is held.
func (a *Agent) restream(out *control.Output) {
	a.Log(errors.New("the server has more of what this host has told than the host itself: it was taken back in time, or copied. It tells anew from here on"))
	if err := a.stream.begin(); err != nil {
		a.Log(err) // the next answer says so again
		return
	}
	out.Send = a.core.Restream(a.now(), a.stream.queue).Send
	a.gap = 0
	a.repeat()
}

// repeat has told again how things stand.
func (a *Agent) repeat() {
	a.keeper.repeat()
	a.updater.repeat()
	select {
	case a.telling <- struct{}{}:
	default:
	}
}
