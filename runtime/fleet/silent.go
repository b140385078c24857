package fleet

import (
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Silence is a Listener that nobody hears, to embed in one that is about some things only.
type Silence struct{}

// State tells nobody.
func (Silence) State(string, State) {}

// Event tells nobody.
func (Silence) Event(string, states.Event) {}

// Note tells nobody.
func (Silence) Note(string, machine.Note) {}

// Output tells nobody.
func (Silence) Output(string, string, []byte) {}

// Ended tells nobody.
func (Silence) Ended(string, Outcome) {}

func orSilent(l Listener) Listener {
	if l == nil {
		return Silence{}
	}
	return l
}
