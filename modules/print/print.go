// Package print is the module "print": a message to whoever follows the run.
package print

import (
	"context"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Print is one message.
type Print struct {
	Message *string `state:"message,required" doc:"The text to show."`
}

const doc = `Shows a message while the run is under way, in a plan too.

It changes nothing, so it notifies nobody.`

const example = `print "welcome" {
  message = "The site is reachable at https://${var.domain}/."
}`

// Module is the module "print".
var Module = states.Define(states.Type[Print]{
	Name: "print", Doc: doc, Example: example,
	NoAbsent: "A message that was shown cannot be taken back.",
	Act: func(_ context.Context, _ host.Host, want Print) (bool, Print, error) {
		return false, want, nil
	}, Effects: effects,
})

// effects: there are none.
func effects(_ Print, _ bool) states.Effects {
	return states.Effects{}
}
