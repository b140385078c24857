package star

import (
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/expr"
)

// referenceValue is a reference that has come as a value, such as a component's input. It
// names what another directory declares, so that a script can pass it on only.
type referenceValue struct{ value cty.Value }

var _ expressive = referenceValue{}

func (g referenceValue) build() (protoExpression, error) { return literal(g.value), nil }

// String writes the address.
func (g referenceValue) String() string { return expr.Address(g.value) }

// Type is "reference".
func (g referenceValue) Type() string { return "reference" }

// Freeze does nothing: it cannot change.
func (g referenceValue) Freeze() {}

// Truth is true.
func (g referenceValue) Truth() starlark.Bool { return true }

// Hash makes references keys.
func (g referenceValue) Hash() (uint32, error) { return starlark.String(g.String()).Hash() }
