// Package assert is the module "assert": a condition without which a run is not
// to go on.
package assert

import (
	"context"
	"errors"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Assert is one condition.
type Assert struct {
	That    *bool   `state:"that,required" doc:"What must hold: an expression over facts, variables and the results of other parts."`
	Message *string `state:"message" doc:"What is said where it does not hold, and what to do about it."`
}

const doc = `Fails where a condition does not hold, in a plan as in an apply.

What requires it, and what comes after it in its state, is then not done. A condition over facts and variables is decided by the plan already; one over the results of parts that have yet to run is decided by the apply, just before what comes after it.

It changes nothing, so it notifies nobody. Conditions over the machine itself, such as whether a port is open, are parts of their own: http, wait_for, and command with plan = true.`

const example = `assert "a name of our own" {
  that    = endswith(var.domain, ".test")
  message = "${var.domain} belongs to somebody else: set domain in the vars of this host."
}

command "free" {
  argv = ["sh", "-c", "df --output=avail /srv | tail -n1"]
  plan = true
}

assert "enough room" {
  that    = tonumber(trimspace(command.free.stdout)) > 1024
  message = "/srv needs 1 MiB of room."
}`

// Module is the module "assert".
var Module = states.Define(states.Type[Assert]{
	Name: "assert", Doc: doc, Example: example,
	NoAbsent: "A condition is looked at, and leaves nothing behind.",
	Act:      act, Effects: effects,
})

// effects: there are none.
func effects(_ Assert, _ bool) states.Effects {
	return states.Effects{}
}

func act(_ context.Context, _ host.Host, want Assert) (bool, Assert, error) {
	switch {
	case *want.That:
		return false, want, nil
	case want.Message == nil || *want.Message == "":
		return false, want, errors.New("its condition does not hold")
	}
	return false, want, errors.New(*want.Message)
}
