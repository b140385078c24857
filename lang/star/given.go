package star

import (
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/expr"
)

// given is a reference that has come as a value, such as a component's input. It
// names what another directory declares, so that a script can pass it on only.
type given struct{ value cty.Value }

var _ expressive = given{}

func (g given) build() (built, error) { return literal(g.value), nil }

// String writes the address.
func (g given) String() string { return expr.Address(g.value) }

// Type is "reference".
func (g given) Type() string { return "reference" }

// Freeze does nothing: it cannot change.
func (g given) Freeze() {}

// Truth is true.
func (g given) Truth() starlark.Bool { return true }

// Hash makes references keys.
func (g given) Hash() (uint32, error) { return starlark.String(g.String()).Hash() }
