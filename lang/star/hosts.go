package star

import (
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// hostObject is what hosts() gives of a host: a dict of its name, address and labels, which
// are attributes as well. What else may be known of it is looked up when it is named.
type hostObject struct {
	object
	run     *run
	value   cty.Value
	pattern string // by which it was asked for
}

var (
	_ expressive          = (*hostObject)(nil)
	_ starlark.Comparable = (*hostObject)(nil)
	_ starlark.HasBinary  = (*hostObject)(nil)
)

// hostList makes the list of hosts that a call of hosts() gives. A script may ask for it often: the
// hosts are made once, the list anew, since a script may change it.
func (r *run) hostList(args []protoExpression, v cty.Value) (starlark.Value, error) {
	key := hostsKey(args)
	hosts, known := r.hostLists[key]
	if !known {
		for _, e := range v.AsValueSlice() {
			value, err := starlarkOf(e)
			if err != nil {
				return nil, err
			}
			value.Freeze()
			hosts = append(hosts, &hostObject{object{d: value.(*starlark.Dict), name: "the host"}, r, e, args[0].literal.AsString()})
		}
		if key != "" {
			r.hostLists[key] = hosts
		}
	}
	return starlark.NewList(slices.Clone(hosts)), nil
}

// hostsKey tells calls of hosts() apart that give different hosts; empty: nobody knows, since it has options
// that ask for more than facts.
func hostsKey(args []protoExpression) string {
	if len(args) == 0 || args[0].literal.Type() != cty.String || args[0].literal.IsNull() {
		return ""
	}
	pattern := args[0].literal.AsString()
	if len(args) == 1 {
		return "all " + pattern
	}
	options := args[1].literal
	if len(args) > 2 || !options.IsKnown() || options.IsNull() || !options.CanIterateElements() || !options.Type().IsObjectType() || options.LengthInt() != 1 || !options.Type().HasAttribute("facts") {
		return ""
	}
	return "now " + pattern
}

// knownHosts gives the list of a call of hosts() that was made before; nil: there is none.
func (r *run) knownHosts(name string, args []protoExpression) starlark.Value {
	if name != "hosts" {
		return nil
	}
	hosts, known := r.hostLists[hostsKey(args)]
	if !known {
		return nil
	}
	return starlark.NewList(slices.Clone(hosts))
}

// build gives the host as a value.
func (h *hostObject) build() (protoExpression, error) { return literal(h.value), nil }

// CompareSameType compares two hosts as dicts are compared.
func (h *hostObject) CompareSameType(op starsyntax.Token, other starlark.Value, depth int) (bool, error) {
	return h.d.CompareSameType(op, other.(*hostObject).d, depth)
}

// Binary joins a host with a dict.
func (h *hostObject) Binary(op starsyntax.Token, other starlark.Value, side starlark.Side) (starlark.Value, error) {
	d, ok := other.(*starlark.Dict)
	if op != starsyntax.PIPE || !ok {
		return nil, nil
	}
	if side == starlark.Left {
		return starlark.Binary(op, h.d, d)
	}
	return starlark.Binary(op, d, h.d)
}

// Type is "host".
func (h *hostObject) Type() string { return "host" }

// AttrNames lists what is known of it, and what may be.
func (h *hostObject) AttrNames() []string {
	return slices.Sorted(slices.Values(append(h.object.AttrNames(), expr.HostAttributes()...)))
}

// Attr gives what is known of it, or what may be.
func (h *hostObject) Attr(name string) (starlark.Value, error) {
	if slices.Contains(expr.HostAttributes(), name) {
		return &hostAttribute{h, name}, nil
	}
	return h.object.Attr(name)
}

// Get is Attr for a key.
func (h *hostObject) Get(key starlark.Value) (starlark.Value, bool, error) {
	if name, ok := starlark.AsString(key); ok && slices.Contains(expr.HostAttributes(), name) {
		return &hostAttribute{h, name}, true, nil
	}
	return h.object.Get(key)
}

// hostAttribute is what may be known of a host: its attributes, or keys, are the names.
type hostAttribute struct {
	host *hostObject
	name string
}

var (
	_ starlark.HasAttrs = (*hostAttribute)(nil)
	_ starlark.Mapping  = (*hostAttribute)(nil)
	_ expressive        = (*hostAttribute)(nil)
)

// String names it.
func (a *hostAttribute) String() string { return a.name }

// Type is its name, too.
func (a *hostAttribute) Type() string { return a.name }

// Freeze does nothing.
func (a *hostAttribute) Freeze() {}

// Truth is true.
func (a *hostAttribute) Truth() starlark.Bool { return true }

// Hash refuses it as a key, like a dict.
func (a *hostAttribute) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: %s", a.name) }

// AttrNames gives none: they are looked up one by one.
func (a *hostAttribute) AttrNames() []string { return nil }

// Attr looks a name up.
func (a *hostAttribute) Attr(name string) (starlark.Value, error) {
	r := a.host.run
	at := r.here()
	args := a.steps()
	if name != "" {
		args = append(args, literal(cty.StringVal(name)), literal(cty.StringVal(a.host.pattern)))
	}
	v, err := r.apply(expr.HostFunction, ".", at, args, slices.Repeat([]hcl2.Range{at.whole}, len(args)))
	if d, ok := v.(*starlark.Dict); ok && a.name == "facts" {
		d.Freeze()
		return &object{d: d, name: "facts." + name}, err // as fact.NAME is
	}
	return v, err
}

// Get looks a key up.
func (a *hostAttribute) Get(key starlark.Value) (starlark.Value, bool, error) {
	name, ok := starlark.AsString(key)
	if !ok || name == "" {
		return nil, false, &diag.HintError{Message: fmt.Sprintf("a key of %s is text, not %s", a.name, kindOf(key)), Hint: fmt.Sprintf("write %s.NAME", a.name)}
	}
	v, err := a.Attr(name)
	return v, err == nil, err
}

// build gives all of it as a value.
func (a *hostAttribute) build() (protoExpression, error) {
	steps := a.steps()
	out := sum(steps)
	out.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
		args := make([]hclsyntax.Expression, len(steps))
		for i, s := range steps {
			args[i] = s.expression(in, src)
		}
		return callExpr(expr.HostFunction, args, src)
	}
	return out, nil
}

func (a *hostAttribute) steps() []protoExpression {
	return []protoExpression{literal(a.host.value), literal(cty.StringVal(a.name))}
}

// here is the place at which the script is, as a call.
func (r *run) here() *call {
	frame := r.thread.CallFrame(0)
	f := r.files[frame.Pos.Filename()]
	if f == nil {
		f = r.running[0]
		return &call{file: f, whole: hcl2.Range{Filename: f.name, Start: hcl2.InitialPos, End: hcl2.InitialPos}}
	}
	return &call{file: f, whole: f.rangeAt(frame.Pos)}
}
