package expr

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// errUnknown says that a value, or a part of it, could not be had.
var errUnknown = errors.New("a value is not known")

// literalOf gives a value as data. What is known only on the host stands in it
// as its expression, and a sensitive part as a literal of its own, so that its
// neighbours can be shown.
func literalOf(v cty.Value, at hcl.Range) (*states.Expr, error) {
	return dataOf(v, Range(at))
}

func dataOf(v cty.Value, at diag.Range) (*states.Expr, error) {
	if tree := treeOf(v); tree != nil {
		if tree.Kind == states.ExprOutput && tree.Range.IsZero() { // HostOutput does not know where it is read
			placed := *tree
			placed.Range, tree = at, &placed
		}
		if v.HasMark(Sensitive) && (tree.Kind != states.ExprCall || tree.Name != "sensitive") {
			return states.Expr{Kind: states.ExprCall, Name: "sensitive", Args: []*states.Expr{tree}, Range: tree.Range}.New()
		}
		return tree, nil
	}
	plain, marks := v.Unmark()
	_, sensitive := marks[Sensitive]
	if plain.Type().Equals(RefType) && plain.IsKnown() && !plain.IsNull() {
		return states.Expr{Kind: states.ExprReference, Name: refOf(plain).Text(), Range: at}.New()
	}
	if !plain.ContainsMarked() && plain.IsWhollyKnown() && !holdsType(plain.Type(), RefType) {
		return literal(plain, sensitive, at)
	}
	if !plain.IsKnown() {
		return nil, errUnknown
	}
	t := plain.Type()
	if sensitive && plain.IsWhollyKnown() {
		inner, _ := Split(plain)
		return literal(inner, true, at)
	}
	if t.IsSetType() { // marks of elements are the set's
		inner, _ := Split(plain)
		if !inner.IsWhollyKnown() { // Settle makes nothing of what stands beside a withheld value
			return nil, errUnknown
		}
		return literal(inner, true, at)
	}
	node := states.Expr{Kind: states.ExprTuple, Range: at}
	if t.IsObjectType() || t.IsMapType() {
		node.Kind = states.ExprObject
	}
	for key, e := range plain.Elements() {
		if sensitive {
			e = e.Mark(Sensitive)
		}
		x, err := dataOf(e, at)
		if err != nil {
			return nil, err
		}
		if node.Kind == states.ExprObject {
			name, err := literal(key, sensitive, at)
			if err != nil {
				return nil, err
			}
			node.Args = append(node.Args, name)
		}
		node.Args = append(node.Args, x)
	}
	made, err := node.New()
	if err == nil && !t.IsObjectType() && !t.IsTupleType() {
		made, err = convertNode(made, t)
	}
	if err != nil || !sensitive {
		return made, err
	}
	return states.Expr{Kind: states.ExprCall, Name: "sensitive", Args: []*states.Expr{made}, Range: at}.New()
}

// literal gives a known value without marks.
func literal(v cty.Value, sensitive bool, at diag.Range) (*states.Expr, error) {
	plain, err := Plain(v)
	if err != nil {
		return nil, err
	}
	x := states.Expr{Kind: states.ExprLiteral, Value: plain, Sensitive: sensitive, Range: at}
	if implied, err := Value(plain); err != nil {
		return nil, err
	} else if !implied.Type().Equals(v.Type()) {
		if x.Type, err = typeText(v.Type()); err != nil {
			return nil, err
		}
	}
	return x.New()
}

func typeText(t cty.Type) (string, error) {
	data, err := ctyjson.MarshalType(t)
	return string(data), err
}

// convertNode converts what an expression gives to a type.
func convertNode(x *states.Expr, t cty.Type) (*states.Expr, error) {
	text, err := typeText(t)
	if err != nil {
		return nil, err
	}
	return states.Expr{Kind: states.ExprConvert, Args: []*states.Expr{x}, Type: text, Range: x.Range}.New()
}

// Convert converts a value to a type; of what is known only on the host, the
// host converts it.
func Convert(v cty.Value, t cty.Type) (cty.Value, error) {
	converted, err := convertTo(v, t)
	if err != nil || !IsDeferred(v) || t == cty.DynamicPseudoType || v.Type().Equals(t) {
		return converted, err
	}
	return convertDeferred(v, converted)
}

// convertDeferred gives what is known only on the host the type that it has in the
// converted value, element by element.
func convertDeferred(v, converted cty.Value) (cty.Value, error) {
	if v.IsWhollyKnown() {
		return settleKnown(converted), nil
	}
	plain, marks := v.Unmark()
	converted, _ = converted.Unmark()
	for m := range marks {
		if _, ok := m.(deferredMark); ok {
			delete(marks, m)
		}
	}
	t := converted.Type()
	if !plain.IsKnown() || !converted.IsKnown() || converted.IsNull() || !converted.CanIterateElements() || t.IsSetType() {
		x, err := dataOf(v, diag.Range{})
		if err == nil && !plain.Type().Equals(t) {
			x, err = convertNode(x, t)
		}
		if err != nil {
			return cty.DynamicVal, err
		}
		return DeferredValue(x, t).WithMarks(marks), nil
	}
	if t.IsObjectType() || t.IsMapType() {
		of, to := plain.AsValueMap(), converted.AsValueMap()
		for name, e := range of {
			if inner, ok := to[name]; ok {
				late, err := convertDeferred(e, inner)
				if err != nil {
					return cty.DynamicVal, err
				}
				to[name] = late
			}
		}
		if t.IsMapType() {
			return cty.MapVal(to).WithMarks(marks), nil
		}
		return cty.ObjectVal(to).WithMarks(marks), nil
	}
	of, to := plain.AsValueSlice(), converted.AsValueSlice()
	for i := range to {
		late, err := convertDeferred(of[i], to[i])
		if err != nil {
			return cty.DynamicVal, err
		}
		to[i] = late
	}
	if t.IsListType() {
		return cty.ListVal(to).WithMarks(marks), nil
	}
	return cty.TupleVal(to).WithMarks(marks), nil
}

// getNode takes an attribute of what an expression gives.
func getNode(x *states.Expr, name string, at diag.Range) (*states.Expr, error) {
	if inner := member(x, name); inner != nil {
		return inner, nil
	}
	return complete(states.Expr{Kind: states.ExprGet, Name: name, Args: []*states.Expr{x}}, hclRange(at))
}

// indexNode takes an element of what an expression gives.
func indexNode(x *states.Expr, key cty.Value, at diag.Range) (*states.Expr, error) {
	if key.Type() == cty.String && key.IsKnown() && !key.IsNull() && !key.IsMarked() {
		if inner := member(x, key.AsString()); inner != nil {
			return inner, nil
		}
	}
	if i, ok := wholeIndex(key); ok && x.Kind == states.ExprTuple && i >= 0 && i < len(x.Args) {
		return x.Args[i], nil
	}
	k, err := dataOf(key, at)
	if err != nil {
		return nil, err
	}
	return complete(states.Expr{Kind: states.ExprIndex, Args: []*states.Expr{x, k}}, hclRange(at))
}

func wholeIndex(key cty.Value) (int, bool) {
	if !key.IsKnown() || key.IsMarked() {
		return 0, false
	}
	return intFrom(key)
}

// member finds the value of a key in an object that is written out; nil where
// that is not certain.
func member(x *states.Expr, name string) *states.Expr {
	if x.Kind != states.ExprObject {
		return nil
	}
	var found *states.Expr
	for i := 0; i+1 < len(x.Args); i += 2 {
		key := x.Args[i]
		if !isText(key) {
			return nil
		}
		if key.Value.(string) == name {
			if found != nil {
				return nil
			}
			found = x.Args[i+1]
		}
	}
	return found
}

func hclRange(r diag.Range) hcl.Range {
	return hcl.Range{Filename: r.File,
		Start: hcl.Pos{Line: r.Start.Line, Column: r.Start.Column, Byte: r.Start.Byte},
		End:   hcl.Pos{Line: r.End.Line, Column: r.End.Column, Byte: r.End.Byte}}
}
