package star

import (
	"fmt"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// opaque is a value that is not known while scripts run, or never to be shown:
// an expression that is passed on. Whatever would look into it ends the script.
type opaque struct {
	run  *run
	expr protoExpression
	what string // what it is, for messages: "the result …"
	// value is what is known of it: marked, or unknown.
	value cty.Value
}

var (
	_ expressive           = (*opaque)(nil)
	_ starlark.HasAttrs    = (*opaque)(nil)
	_ starlark.Mapping     = (*opaque)(nil)
	_ starlark.Iterable    = (*opaque)(nil)
	_ starlark.HasBinary   = (*opaque)(nil)
	_ starlark.HasUnary    = (*opaque)(nil)
	_ starlark.Comparable  = (*opaque)(nil)
	_ starlark.HasSetField = (*opaque)(nil)
)

func (o *opaque) build() (protoExpression, error) { return o.expr, nil }

// stop ends the script: these methods cannot give an error.
func (o *opaque) stop(how, instead string) {
	o.run.stopForOpaque(o.refuse(how, instead))
}

func (o *opaque) reason() string {
	if o.value.IsKnown() && o.value.ContainsMarked() {
		return "sensitive"
	}
	return "not known yet"
}

// String ends the script.
func (o *opaque) String() string {
	o.stop("text", `write format("…%s…", value), which may take it, or hand it to template()`)
	return "(" + o.reason() + ")"
}

// Type is "opaque".
func (o *opaque) Type() string { return "opaque" }

// Freeze does nothing: it cannot change.
func (o *opaque) Freeze() {}

// Truth ends the script.
func (o *opaque) Truth() starlark.Bool {
	o.stop("truth", "write if_(condition, a, b), not_(x), and_(x, y) or or_(x, y), which may take it, or the option when")
	return false
}

// Iterate ends the script.
func (o *opaque) Iterate() starlark.Iterator {
	o.stop("something to go over", "hand it on as an argument, or to functions of the language that take all of it, such as join() or keys()")
	return starlark.Tuple(nil).Iterate()
}

// Hash refuses it as a key.
func (o *opaque) Hash() (uint32, error) {
	return 0, o.refuse("a key", "use a value that is known")
}

func (o *opaque) refuse(how, instead string) error {
	return &diag.HintError{Message: fmt.Sprintf("%s is %s, and cannot be used as %s here", o.what, o.reason(), how), Hint: instead}
}

// CompareSameType refuses to compare two of them. A comparison with something
// else gives False, as Starlark has it.
func (o *opaque) CompareSameType(starsyntax.Token, starlark.Value, int) (bool, error) {
	return false, o.refuse("an operand", "write eq(a, b), lt(a, b) and so on, which may take it")
}

// Binary refuses operators, and names the function in their place.
func (o *opaque) Binary(op starsyntax.Token, _ starlark.Value, _ starlark.Side) (starlark.Value, error) {
	hint := "use the functions of the language, which may take it"
	switch op {
	case starsyntax.PLUS:
		hint = `write add(a, b) for numbers, format("%s%s", a, b) for text, concat(a, b) for lists`
	case starsyntax.MINUS, starsyntax.STAR, starsyntax.SLASH, starsyntax.SLASHSLASH:
		hint = "write sub(a, b), mul(a, b) or div(a, b)"
	case starsyntax.PERCENT:
		hint = `write format("…%s…", value), or mod(a, b) for numbers`
	case starsyntax.PIPE:
		hint = "write merge(a, b)"
	case starsyntax.IN, starsyntax.NOT_IN:
		hint = "write contains(list, value)"
	}
	return nil, o.refuse("an operand", hint)
}

// Unary refuses operators.
func (o *opaque) Unary(starsyntax.Token) (starlark.Value, error) {
	return nil, o.refuse("an operand", "write sub(0, value)")
}

// Attr gives an attribute of what it will be.
func (o *opaque) Attr(name string) (starlark.Value, error) {
	return o.step(hcl2.TraverseAttr{Name: name})
}

// AttrNames gives none: they are not known.
func (o *opaque) AttrNames() []string { return nil }

// SetField refuses to change it.
func (o *opaque) SetField(string, starlark.Value) error {
	return o.refuse("something to change", "make a new value")
}

// Get gives an element of what it will be.
func (o *opaque) Get(key starlark.Value) (starlark.Value, bool, error) {
	if o.run.isSearching() {
		o.stop("an operand", "write contains(list, value)")
		return nil, false, nil
	}
	if other, ok := key.(*opaque); ok {
		x := sum([]protoExpression{o.expr, other.expr})
		x.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
			return &hclsyntax.IndexExpr{Collection: o.expr.expression(in, src), Key: other.expr.expression(in, src),
				SrcRange: src, OpenRange: src, BracketRange: src}
		}
		return &opaque{run: o.run, expr: x, what: "an element of " + o.what, value: cty.DynamicVal}, true, x.check()
	}
	b, err := o.run.convert(key, place{})
	if err != nil {
		return nil, false, err
	}
	if b.make != nil || b.literal.Type() != cty.String && b.literal.Type() != cty.Number {
		return nil, false, fmt.Errorf("an index is a number or text, not %s", key.Type())
	}
	v, err := o.step(hcl2.TraverseIndex{Key: b.literal})
	return v, true, err
}

// isSearching reports whether the operator "in" asks, which takes no error.
func (r *run) isSearching() bool {
	if r.thread.CallStackDepth() == 0 {
		return false
	}
	name := r.thread.CallFrame(0).Name
	return strings.HasPrefix(name, "\x00") && strings.HasSuffix(name, "in")
}

// step looks one step into the value.
func (o *opaque) step(t hcl2.Traverser) (starlark.Value, error) {
	x := sum([]protoExpression{o.expr})
	x.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
		return step(o.expr.expression(in, src), t, src)
	}
	value := cty.DynamicVal
	if o.value.IsKnown() {
		found, err := stepInto(unmark(o.value), t)
		if err != nil {
			return nil, &diag.HintError{Message: fmt.Sprintf("%s has no such attribute or element", o.what), Hint: "look at the type of the value"}
		}
		value = found.WithMarks(o.value.Marks())
	}
	return &opaque{run: o.run, expr: x, what: o.what, value: value}, x.check()
}

// stepInto is what a step finds in a value.
func stepInto(v cty.Value, t hcl2.Traverser) (cty.Value, error) {
	switch t := t.(type) {
	case hcl2.TraverseAttr:
		if v.Type().IsMapType() {
			return cty.IndexPath(cty.StringVal(t.Name)).Apply(v)
		}
		return cty.GetAttrPath(t.Name).Apply(v)
	case hcl2.TraverseIndex:
		if v.Type().IsObjectType() && t.Key.Type() == cty.String {
			return cty.GetAttrPath(t.Key.AsString()).Apply(v)
		}
		return cty.IndexPath(t.Key).Apply(v)
	}
	return cty.DynamicVal, nil
}

func unmark(v cty.Value) cty.Value {
	v, _ = v.Unmark()
	return v
}

// step appends to an expression.
func step(x hclsyntax.Expression, t hcl2.Traverser, src hcl2.Range) hclsyntax.Expression {
	switch t := t.(type) {
	case hcl2.TraverseAttr:
		t.SrcRange = src
		return appendStep(x, t, src)
	case hcl2.TraverseIndex:
		t.SrcRange = src
		return appendStep(x, t, src)
	}
	return x
}

func appendStep(x hclsyntax.Expression, t hcl2.Traverser, src hcl2.Range) hclsyntax.Expression {
	switch x := x.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		x.Traversal = append(x.Traversal, t)
		return x
	case *hclsyntax.RelativeTraversalExpr:
		x.Traversal = append(x.Traversal, t)
		return x
	}
	return &hclsyntax.RelativeTraversalExpr{Source: x, Traversal: hcl2.Traversal{t}, SrcRange: src}
}

// traversal is an opaque value with a name: var.NAME.
func (r *run) traversal(what string, value cty.Value, root string, names ...string) *opaque {
	x := protoExpression{size: 1, depth: 1, make: func(_ *state, src hcl2.Range) hclsyntax.Expression {
		t := hcl2.Traversal{hcl2.TraverseRoot{Name: root, SrcRange: src}}
		for _, name := range names {
			t = append(t, hcl2.TraverseAttr{Name: name, SrcRange: src})
		}
		return &hclsyntax.ScopeTraversalExpr{Traversal: t, SrcRange: src}
	}}
	return &opaque{run: r, expr: x, what: what, value: value}
}

// scriptValue gives a value to the script: itself where it is known and may be shown,
// otherwise an opaque one with that name.
func (r *run) scriptValue(v cty.Value, what, root string, names ...string) (starlark.Value, error) {
	if !v.IsWhollyKnown() || v.ContainsMarked() {
		r.lacking = r.lacking || !v.ContainsMarked()
		return r.traversal(what, v, root, names...), nil
	}
	return starlarkOf(v)
}

// stopForOpaque ends the script because of an opaque value.
func (r *run) stopForOpaque(err error) {
	if r.stopReason == nil {
		r.stopReason = &stopError{err: err, stack: r.thread.CallStack()}
		r.thread.Cancel(err.Error())
	}
}

// stopError is why a script was ended from outside, and where it was then.
type stopError struct {
	err   error
	stack starlark.CallStack
}
