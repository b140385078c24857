package star

import (
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/expr"
)

// handle is a value that a script can only pass on: a source, or a reference that has come as a
// value, such as a component's input, and names what another directory declares.
type handle struct {
	value      cty.Value
	kind, name string
}

var _ expressive = handle{}

// handleOf makes a handle of a value whose type has them.
func handleOf(v cty.Value) (h handle, ok bool) {
	switch t := v.Type(); {
	case t.Equals(expr.RefType):
		return handle{v, "reference", expr.Address(v)}, true
	case t.Equals(expr.SourceType):
		return handle{v, "source", expr.SourceText(v)}, true
	}
	return handle{}, false
}

func (h handle) build() (protoExpression, error) { return literal(h.value), nil }

// String writes the address of a reference, and the path of a source.
func (h handle) String() string { return h.name }

// Type is "reference" or "source".
func (h handle) Type() string { return h.kind }

// Freeze does nothing: it cannot change.
func (h handle) Freeze() {}

// Truth is true.
func (h handle) Truth() starlark.Bool { return true }

// Hash makes handles keys.
func (h handle) Hash() (uint32, error) { return starlark.String(h.name).Hash() }
