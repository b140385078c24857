package expr

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// maxIntegerBits bounds the whole numbers that are written digit by digit;
// cty computes with 512 bits, and what is above is not exact.
const maxIntegerBits = 512

// Plain turns a known value without marks into canonical plain data: nil,
// bool, string, json.Number, []any and map[string]any. Whole numbers are
// exact, others the shortest text of the nearest double; sets are sorted. A
// number beyond the doubles and a reference are errors that name the place
// within the value.
func Plain(v cty.Value) (any, error) {
	if v.IsNull() {
		return nil, nil
	}
	t := v.Type()
	switch {
	case t == cty.String:
		return v.AsString(), nil
	case t == cty.Bool:
		return v.True(), nil
	case t == cty.Number:
		return plainNumber(v)
	case t.IsMapType() || t.IsObjectType():
		return plainMap(v)
	case t.IsListType() || t.IsTupleType() || t.IsSetType():
		return plainList(v)
	case t.Equals(SourceType):
		return nil, errSourceAsValue(v.EncapsulatedValue().(*source))
	case t.Equals(RefType):
		return nil, fmt.Errorf("a reference to %s stands where a value is needed", refOf(v).Text())
	}
	return nil, fmt.Errorf("a value of type %s cannot be used here", t.FriendlyName())
}

func plainMap(v cty.Value) (any, error) {
	out := make(map[string]any, v.LengthInt())
	for key, e := range v.Elements() {
		p, err := Plain(e)
		if err != nil {
			return nil, fmt.Errorf("[%q]: %w", key.AsString(), err)
		}
		out[key.AsString()] = p
	}
	return out, nil
}

// plainList keeps cty's order of sets, which for strings and numbers is
// ascending, and for all other types depends on the values alone.
func plainList(v cty.Value) (any, error) {
	out := make([]any, 0, v.LengthInt())
	for _, e := range v.Elements() {
		p, err := Plain(e)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(out), err)
		}
		out = append(out, p)
	}
	return out, nil
}

func plainNumber(v cty.Value) (any, error) {
	v, err := canonicalNumber(v)
	if err != nil {
		return nil, err
	}
	n := v.AsBigFloat()
	if text, ok := integerText(n); ok {
		return json.Number(text), nil
	}
	if n.IsInt() && n.MantExp(nil) <= maxIntegerBits {
		return json.Number(n.Text('f', 0)), nil
	}
	f, _ := n.Float64()
	return json.Number(formatFloat(f)), nil
}

// formatFloat writes a double as JSON encoders do.
func formatFloat(f float64) string {
	data, err := json.Marshal(f)
	if err != nil {
		panic("eval: a finite number is no JSON: " + err.Error())
	}
	return string(data)
}

// Value turns plain data into a value. Maps become objects and lists become
// tuples, so that elements may have different types. Go's own numbers are
// taken too.
func Value(plain any) (cty.Value, error) {
	switch p := plain.(type) {
	case nil:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case bool:
		return cty.BoolVal(p), nil
	case string:
		if err := checkText(p); err != nil {
			return cty.DynamicVal, err
		}
		return cty.StringVal(p), nil
	case json.Number:
		v, err := cty.ParseNumberVal(p.String())
		if err == nil && isTooLarge(v.AsBigFloat()) {
			err = errTooLarge
		}
		return v, err
	case int:
		return cty.NumberIntVal(int64(p)), nil
	case int64:
		return cty.NumberIntVal(p), nil
	case float64:
		return cty.ParseNumberVal(strconv.FormatFloat(p, 'g', -1, 64))
	case []any:
		list := make([]cty.Value, len(p))
		for i, e := range p {
			v, err := Value(e)
			if err != nil {
				return cty.DynamicVal, fmt.Errorf("element %d: %w", i, err)
			}
			list[i] = v
		}
		return cty.TupleVal(list), nil
	case map[string]any:
		object := make(map[string]cty.Value, len(p))
		for k, e := range p {
			v, err := Value(e)
			if err != nil {
				return cty.DynamicVal, fmt.Errorf("[%q]: %w", k, err)
			}
			object[k] = v
		}
		return cty.ObjectVal(object), nil
	}
	return cty.DynamicVal, fmt.Errorf("%T is no plain data", plain)
}

// ValueWith is Value of data in which other things stand for some values: open gives such a value, and mark what it becomes.
func ValueWith(plain any, open func(any) (value any, ok bool), mark func(cty.Value) cty.Value) (cty.Value, error) {
	if value, ok := open(plain); ok {
		v, err := Value(value)
		return mark(v), err
	}
	switch p := plain.(type) {
	case map[string]any:
		fields := make(map[string]cty.Value, len(p))
		for name, e := range p {
			v, err := ValueWith(e, open, mark)
			if err != nil {
				return cty.DynamicVal, fmt.Errorf("[%q]: %w", name, err)
			}
			fields[name] = v
		}
		return cty.ObjectVal(fields), nil
	case []any:
		list := make([]cty.Value, len(p))
		for i, e := range p {
			v, err := ValueWith(e, open, mark)
			if err != nil {
				return cty.DynamicVal, fmt.Errorf("element %d: %w", i, err)
			}
			list[i] = v
		}
		return cty.TupleVal(list), nil
	}
	return Value(plain)
}

// Int gives a whole number that an int holds; marks are ignored.
func Int(v cty.Value) (int, bool) {
	v, _ = Split(v)
	return intFrom(v)
}

// intFrom gives a whole number that an int holds.
func intFrom(v cty.Value) (int, bool) {
	if v.IsNull() || v.Type() != cty.Number {
		return 0, false
	}
	n, accuracy := v.AsBigFloat().Int64()
	return int(n), accuracy == big.Exact
}
