package custom

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/sandbox"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// toPlain turns a value into plain data (see states.Attribute.Normalize).
func toPlain(v starlark.Value) (any, error) {
	if err := sandbox.CheckValue(v); err != nil {
		return nil, err
	}
	return plain(v)
}

func plain(v starlark.Value) (any, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.String:
		return string(v), nil
	case starlark.Bytes:
		return string(v), nil
	case starlark.Int:
		return json.Number(v.String()), nil
	case starlark.Float:
		return plainFloat(float64(v))
	case *starlark.Dict:
		return plainDict(v)
	case *starlark.List, starlark.Tuple, *starlark.Set:
		list := []any{}
		for e := range starlark.Elements(v.(starlark.Iterable)) {
			p, err := plain(e)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", len(list), err)
			}
			list = append(list, p)
		}
		return list, nil
	}
	return nil, fmt.Errorf("a value of type %s cannot be used here", v.Type())
}

// plainFloat gives whole numbers as such: 1.0 is the same as 1.
func plainFloat(f float64) (any, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("%v is no number that can be written", f)
	}
	if f == math.Trunc(f) && math.Abs(f) < 0x1p512 { // as the language has them
		n, _ := big.NewFloat(f).Int(nil)
		return json.Number(n.String()), nil
	}
	data, err := json.Marshal(f)
	return json.Number(data), err
}

func plainDict(d *starlark.Dict) (any, error) {
	out := make(map[string]any, d.Len())
	for _, item := range d.Items() {
		key, ok := starlark.AsString(item[0])
		if !ok {
			return nil, fmt.Errorf("a key is a string, not a value of type %s", item[0].Type())
		}
		p, err := plain(item[1])
		if err != nil {
			return nil, fmt.Errorf("[%q]: %w", key, err)
		}
		out[key] = p
	}
	return out, nil
}

// fromPlain turns plain data into a frozen value.
func fromPlain(v any) (starlark.Value, error) {
	value, err := value(v)
	if err != nil {
		return nil, err
	}
	value.Freeze()
	return value, nil
}

func value(v any) (starlark.Value, error) {
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(v), nil
	case string:
		return starlark.String(v), nil
	case json.Number:
		return number(v)
	case []any:
		list := make([]starlark.Value, len(v))
		for i := range v {
			var err error
			if list[i], err = value(v[i]); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(list), nil
	case map[string]any:
		return dict(v)
	case host.Content:
		if text, ok := v.Inline(); ok {
			return starlark.String(text), nil
		}
		return content{v}, nil
	case *states.Source:
		return source{v}, nil
	}
	return nil, fmt.Errorf("a value of type %T has no form in Starlark", v)
}

func number(n json.Number) (starlark.Value, error) {
	text := n.String()
	if !strings.ContainsAny(text, ".eE") {
		i, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, fmt.Errorf("%q is no number", text)
		}
		return starlark.MakeBigInt(i), nil
	}
	f, err := n.Float64()
	return starlark.Float(f), err
}

// dict keeps a fixed order: that of the keys.
func dict(m map[string]any) (starlark.Value, error) {
	d := starlark.NewDict(len(m))
	for _, key := range sortedKeys(m) {
		v, err := value(m[key])
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(key), v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// observedValue turns what a function returned for an attribute into what
// states.Schema.Observe takes. It is stricter than what a site may write: a
// number is no string.
func observedValue(a *states.Attribute, v starlark.Value) (any, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case content:
		return v.Content, nil
	case source:
		return v.Source, nil
	}
	if !fits(a.Kind, v) {
		hint := ""
		if a.Kind == states.KindMode {
			hint = `, such as "0644"`
		}
		return nil, fmt.Errorf("%s is required%s, not a value of type %s", kindName(a.Kind), hint, v.Type())
	}
	return toPlain(v)
}

// fits reports whether a value is of the kind.
func fits(kind states.Kind, v starlark.Value) bool {
	text := func(v starlark.Value) bool {
		switch v.(type) {
		case starlark.String, starlark.Bytes:
			return true
		}
		return false
	}
	switch kind {
	case states.KindString, states.KindContent, states.KindMode, states.KindDuration:
		return text(v)
	case states.KindBool:
		_, ok := v.(starlark.Bool)
		return ok
	case states.KindInt, states.KindNumber:
		_, whole := v.(starlark.Int)
		_, float := v.(starlark.Float)
		return whole || float && kind == states.KindNumber
	case states.KindList, states.KindSet:
		return allElements(v, text)
	case states.KindMap:
		d, ok := v.(*starlark.Dict)
		if !ok {
			return false
		}
		for _, item := range d.Items() {
			if !text(item[0]) || !text(item[1]) {
				return false
			}
		}
		return true
	}
	return kind == states.KindAny
}

func allElements(v starlark.Value, f func(starlark.Value) bool) bool {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Set:
	default:
		return false
	}
	for e := range starlark.Elements(v.(starlark.Iterable)) {
		if !f(e) {
			return false
		}
	}
	return true
}

// kindName names what a kind takes.
func kindName(kind states.Kind) string {
	switch kind {
	case states.KindBool:
		return "True or False"
	case states.KindInt:
		return "an int"
	case states.KindNumber:
		return "an int or a float"
	case states.KindList, states.KindSet:
		return "a list of strings"
	case states.KindMap:
		return "a dict of strings"
	case states.KindSource:
		return "a source"
	case states.KindMode:
		return "a string of octal digits"
	}
	return "a string"
}

// printable is a value as text for people.
func printable(v starlark.Value) (string, error) {
	if text, ok := starlark.AsString(v); ok {
		return text, nil
	}
	if err := sandbox.CheckValue(v); err != nil {
		return "", err
	}
	text := v.String()
	if len(text) > 10_000 {
		return "", errors.New("the message is too long")
	}
	return text, nil
}
