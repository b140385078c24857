package rc2

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/document"
)

// Rule is one way of fitting a device. Of several one suffices; of one, both selectors are to fit.
type Rule struct {
	Properties, Labels []Expression // empty: there is no such selector
}

// Expression looks at one value.
type Expression struct {
	Key      string
	Operator string
	Values   []any        // string, json.Number or bool
	Items    []Expression // of an item of a list of maps
}

func readRule(n *document.Node) Rule {
	return Rule{readSelector(below(n, "propertySelector")), readSelector(below(n, "labelSelector"))}
}

func readSelector(n *document.Node) (out []Expression) {
	for _, item := range items(n, "matchExpressions") {
		e := Expression{Key: text(item, "key"), Operator: text(item, "operator"), Items: readSelector(below(item, "itemSelector"))}
		for _, v := range items(item, "values") {
			e.Values = append(e.Values, v.Value)
		}
		out = append(out, e)
	}
	return out
}

// Fits tells whether a device may run what has these rules.
func (c *Capabilities) Fits(rules []Rule) bool {
	return len(rules) == 0 || slices.ContainsFunc(rules, c.fits)
}

func (c *Capabilities) fits(r Rule) bool {
	properties, labels := below(c.node, "properties"), below(c.node, "labels")
	for _, e := range r.Properties {
		if !e.holds(pointer(properties, e.Key)) {
			return false
		}
	}
	for _, e := range r.Labels {
		var value *document.Node
		if f := labels.Field(e.Key); f != nil {
			value = f.Value
		}
		if len(e.Items) > 0 || !e.holds(value) { // no label holds maps
			return false
		}
	}
	return len(r.Properties)+len(r.Labels) > 0
}

// pointer follows a JSON Pointer (RFC 6901); nil: it leads nowhere.
func pointer(n *document.Node, path string) *document.Node {
	if !strings.HasPrefix(path, "/") {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for step := range strings.SplitSeq(path[1:], "/") {
		switch n.Kind {
		case document.Map:
			f := n.Field(unescape.Replace(step))
			if f == nil {
				return nil
			}
			n = f.Value
		case document.List:
			i, err := strconv.Atoi(step)
			if err != nil || strconv.Itoa(i) != step || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = n.Items[i]
		default:
			return nil
		}
	}
	return n
}

// holds tells whether an expression is true of a value; nil: there is none.
func (e Expression) holds(v *document.Node) bool {
	switch e.Operator {
	case "Exists":
		return v != nil
	case "DoesNotExist":
		return v == nil
	}
	if v == nil {
		return false
	}
	switch e.Operator {
	case "In", "NotIn":
		candidates, ok := scalars(v)
		return ok && slices.ContainsFunc(candidates, func(c any) bool {
			return slices.ContainsFunc(e.Values, func(w any) bool { return same(c, w) })
		}) == (e.Operator == "In")
	case "Gt", "Lt":
		is, wanted := number(v.Value), number(e.Values[0])
		sign := map[string]int{"Gt": 1, "Lt": -1}[e.Operator]
		return v.Kind == document.Scalar && is != nil && wanted != nil && is.Cmp(wanted) == sign
	case "ContainsAll":
		return v.Kind == document.List && slices.ContainsFunc(v.Items, func(item *document.Node) bool {
			return item.Kind == document.Map && !slices.ContainsFunc(e.Items, func(i Expression) bool { return !i.holds(pointer(item, i.Key)) })
		})
	case "ContainsAny":
		return v.Kind == document.List && slices.ContainsFunc(v.Items, func(item *document.Node) bool {
			return item.Kind == document.Map && slices.ContainsFunc(e.Items, func(i Expression) bool { return i.holds(pointer(item, i.Key)) })
		})
	}
	return false
}

// scalars gives a value, or those of a list of them; of maps it says no.
func scalars(n *document.Node) (out []any, ok bool) {
	switch n.Kind {
	case document.Scalar:
		return []any{n.Value}, true
	case document.List:
		for _, item := range n.Items {
			if item.Kind != document.Scalar {
				return nil, false
			}
			out = append(out, item.Value)
		}
		return out, true
	}
	return nil, false
}

// same compares two scalars: texts exactly, numbers by value.
func same(a, b any) bool {
	_, isNumber := a.(json.Number)
	_, areNumbers := b.(json.Number)
	if isNumber && areNumbers {
		x, y := number(a), number(b)
		return x != nil && y != nil && x.Cmp(y) == 0
	}
	return a == b
}

// number gives what can be read as a number; nil: nothing.
func number(v any) *big.Rat {
	switch v.(type) {
	case json.Number, string:
		if s := fmt.Sprint(v); len(s) <= 64 && !strings.ContainsAny(s, "/eEpPxX_") {
			r, ok := new(big.Rat).SetString(s)
			if ok {
				return r
			}
		}
	}
	return nil
}
