package star

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// protoExpression is a value on its way into the tree: a literal, or what makes an
// expression of references and opaque values.
type protoExpression struct {
	literal cty.Value // if make is nil
	make    func(in *state, src hcl2.Range) hclsyntax.Expression
	size    int // nodes
	depth   int
}

// expression makes the expression, anew each time: linking rewrites it. in is
// the state in which it stands, nil elsewhere.
func (b protoExpression) expression(in *state, src hcl2.Range) hclsyntax.Expression {
	if b.make == nil {
		return &hclsyntax.LiteralValueExpr{Val: b.literal, SrcRange: src}
	}
	return b.make(in, src)
}

func literal(v cty.Value) protoExpression { return protoExpression{literal: v, size: 1, depth: 1} }

// The limits of an expression over opaque values: what it would be written out.
const (
	maxSize  = 10_000
	maxDepth = 200
)

func (b protoExpression) check() error {
	if b.size > maxSize || b.depth > maxDepth {
		return &diag.HintError{Message: "the expression over values that are not known yet grows too large",
			Hint: "build lists of them with fewer elements, or compute less of them"}
	}
	return nil
}

// convert turns a Starlark value into one for the tree. Elements of lists and
// dicts that are written out get their own places.
func (r *run) convert(v starlark.Value, at place) (protoExpression, error) {
	c := converter{run: r}
	return c.value(v, at)
}

// converter turns values into built ones. Lists may contain themselves, so that
// depth has a limit.
type converter struct {
	run   *run
	depth int
}

func (c *converter) value(v starlark.Value, at place) (protoExpression, error) {
	if c.depth++; c.depth > maxDepth {
		return protoExpression{}, &diag.HintError{Message: "the value nests too deep, or contains itself", Hint: "give a flatter value"}
	}
	defer func() { c.depth-- }()
	switch v := v.(type) {
	case starlark.NoneType:
		return literal(cty.NullVal(cty.DynamicPseudoType)), nil
	case starlark.Bool:
		return literal(cty.BoolVal(bool(v))), nil
	case starlark.String:
		return text(string(v))
	case starlark.Bytes:
		return protoExpression{}, &diag.HintError{Message: "bytes are no value of the language", Hint: "the attribute source of a file carries any bytes untouched"}
	case starlark.Int:
		return literal(cty.NumberVal(new(big.Float).SetInt(v.BigInt()))), nil
	case starlark.Float:
		n, err := number(float64(v))
		return literal(n), err
	case expressive:
		return v.build()
	case *starlark.Set:
		return c.set(v, at)
	case starlark.IterableMapping:
		return c.dict(v.Items(), at)
	case *starlark.Function, *starlark.Builtin:
		return protoExpression{}, &diag.HintError{Message: fmt.Sprintf("a function stands where a value is needed: %s", v.(starlark.Callable).Name()),
			Hint: "call it, with ()"}
	case starlark.Sequence:
		return c.list(v, at)
	}
	return protoExpression{}, &diag.HintError{Message: fmt.Sprintf("a %s is no value of the language", v.Type()),
		Hint: "give None, a bool, a number, text, a list or a dict"}
}

// expressive are values that stand for an expression.
type expressive interface {
	starlark.Value
	build() (protoExpression, error)
}

// text refuses what values cannot hold.
func text(s string) (protoExpression, error) {
	v, err := expr.Value(s)
	if err != nil {
		return protoExpression{}, &diag.HintError{Message: "the text " + err.Error(),
			Hint: "the attribute source of a file carries any bytes untouched"}
	}
	return literal(v), nil
}

func number(f float64) (cty.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("%v is no number of the language", f), Hint: "give a finite number"}
	}
	if f == 0 {
		return cty.Zero, nil // without a sign
	}
	return cty.ParseNumberVal(strconv.FormatFloat(f, 'g', -1, 64))
}

func (c *converter) list(v starlark.Sequence, at place) (protoExpression, error) {
	elements := make([]protoExpression, 0, v.Len())
	places := make([]hcl2.Range, 0, v.Len())
	constant := true
	for e := range starlark.Elements(v) {
		where := at.element(len(elements), v.Len())
		b, err := c.value(e, where)
		if err != nil {
			return protoExpression{}, innerPlace(err, fmt.Sprintf("element %d", len(elements)), where)
		}
		constant = constant && b.make == nil
		elements, places = append(elements, b), append(places, where.src)
	}
	if constant {
		values := make([]cty.Value, len(elements))
		for i, e := range elements {
			values[i] = e.literal
		}
		return literal(cty.TupleVal(values)), nil
	}
	out := sum(elements)
	out.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
		tuple := &hclsyntax.TupleConsExpr{SrcRange: src, OpenRange: src}
		for i, e := range elements {
			tuple.Exprs = append(tuple.Exprs, e.expression(in, places[i]))
		}
		return tuple
	}
	return out, out.check()
}

// sum adds up sizes.
func sum(elements []protoExpression) protoExpression {
	out := protoExpression{size: 1, depth: 1}
	for _, e := range elements {
		out.size += e.size
		out.depth = max(out.depth, e.depth+1)
	}
	return out
}

func (c *converter) dict(items []starlark.Tuple, at place) (protoExpression, error) {
	var keys []string
	elements := make([]protoExpression, 0, len(items))
	places := make([]hcl2.Range, 0, len(items))
	constant := true
	for _, item := range items {
		key, ok := starlark.AsString(item[0])
		if !ok {
			return protoExpression{}, &diag.HintError{Message: fmt.Sprintf("the keys of a dict are text, not %s", item[0].Type()),
				Hint: "make them text: str(KEY)"}
		}
		if _, err := text(key); err != nil {
			return protoExpression{}, err
		}
		where := at.entry(key)
		b, err := c.value(item[1], where)
		if err != nil {
			return protoExpression{}, innerPlace(err, fmt.Sprintf("[%q]", key), where)
		}
		constant = constant && b.make == nil
		keys, elements, places = append(keys, key), append(elements, b), append(places, where.src)
	}
	if constant {
		values := make(map[string]cty.Value, len(items))
		for i, e := range elements {
			values[keys[i]] = e.literal
		}
		return literal(cty.ObjectVal(values)), nil
	}
	out := sum(elements)
	out.make = func(in *state, src hcl2.Range) hclsyntax.Expression {
		object := &hclsyntax.ObjectConsExpr{SrcRange: src, OpenRange: src}
		for i, e := range elements {
			key := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(keys[i]), SrcRange: places[i]}
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: e.expression(in, places[i])})
		}
		return object
	}
	return out, out.check()
}

// set makes a set, whose elements have one type.
func (c *converter) set(v *starlark.Set, at place) (protoExpression, error) {
	b, err := c.list(v, at)
	if err != nil || b.make != nil {
		return b, err
	}
	set, err := convert.Convert(b.literal, cty.Set(cty.DynamicPseudoType))
	if err != nil {
		return protoExpression{}, &diag.HintError{Message: "the elements of the set have no type in common", Hint: "give a list"}
	}
	return literal(set), nil
}

// starlarkOf turns a value into one of Starlark. It is known, and has no marks.
func starlarkOf(v cty.Value) (starlark.Value, error) {
	if v.IsNull() {
		return starlark.None, nil
	}
	t := v.Type()
	switch {
	case t == cty.String:
		return starlark.String(v.AsString()), nil
	case t == cty.Bool:
		return starlark.Bool(v.True()), nil
	case t == cty.Number:
		return starlarkNumber(v), nil
	case t.IsObjectType() || t.IsMapType():
		d := starlark.NewDict(v.LengthInt())
		for key, e := range v.Elements() {
			value, err := starlarkOf(e)
			if err != nil {
				return nil, err
			}
			if err := d.SetKey(starlark.String(key.AsString()), value); err != nil {
				return nil, err
			}
		}
		return d, nil
	case t.IsListType() || t.IsTupleType() || t.IsSetType():
		return starlarkList(v)
	}
	if h, ok := handleOf(v); ok {
		return h, nil
	}
	return nil, fmt.Errorf("a %s is no value for Starlark", t.FriendlyName())
}

// starlarkList makes a list, or a set where the elements can be in one.
func starlarkList(v cty.Value) (starlark.Value, error) {
	elements := make([]starlark.Value, 0, v.LengthInt())
	for _, e := range v.Elements() {
		value, err := starlarkOf(e)
		if err != nil {
			return nil, err
		}
		elements = append(elements, value)
	}
	if v.Type().IsSetType() && v.Type().ElementType().IsPrimitiveType() {
		set := starlark.NewSet(len(elements))
		for _, e := range elements {
			if err := set.Insert(e); err != nil {
				return nil, err
			}
		}
		return set, nil
	}
	return starlark.NewList(elements), nil
}

func starlarkNumber(v cty.Value) starlark.Value {
	n := v.AsBigFloat()
	if n.IsInt() && n.MantExp(nil) <= 1<<12 {
		i, _ := n.Int(nil)
		return starlark.MakeBigInt(i)
	}
	f, _ := n.Float64()
	return starlark.Float(f)
}
