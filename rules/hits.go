package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Hit is a node that a selector selects.
type Hit struct {
	Name   string         // its keys, joined by "/": core1/10
	Path   map[string]any // its keys by the fields of the selector: of several keys, a map of them
	Parent any            // the element around it that the selector selects, or the document
	Node   any
	At     []string // fields, and places in lists, that lead to it in its document
	Around any      // of a node that Divide gives: Parent without what rules select

	id    string // tells it apart from all nodes of a document, whatever selects them
	kinds string // of what type what is around it is, and it itself
	order int    // its place among the elements of its list

	parentAt []string // what leads to Parent
}

// NodeError is a node that cannot be selected.
type NodeError struct {
	At      []string // fields, and places in lists, that lead to it
	Message string
}

// Error says what is wrong.
func (e *NodeError) Error() string { return e.Message }

// Hits gives the nodes of a document, in its order; those of maps, in that of their keys. With ordered, objects of a list are
// told apart by their places where nothing else does. Its error is a *NodeError.
func (s Selector) Hits(document any, ordered bool) ([]Hit, error) {
	hits := []Hit{{Parent: document, Node: document, Path: map[string]any{}}}
	for _, step := range s {
		var next []Hit
		for _, h := range hits {
			inner, err := h.step(step, ordered)
			if err != nil {
				return nil, err
			}
			next = append(next, inner...)
		}
		hits = next
	}
	return hits, nil
}

// step gives the nodes below one that a step leads to.
func (h *Hit) step(step Step, ordered bool) ([]Hit, error) {
	if _, secret := h.Node.(Secret); secret {
		return nil, sensitiveError(h.At, "what rules select in it is shown")
	}
	fields, _ := h.Node.(map[string]any) // what is of another type has no such nodes: it belongs to an outer rule
	value := fields[step.Field]
	if isHollow(value) {
		return nil, nil
	}
	in := *h
	in.At = append(slices.Clone(h.At), step.Field)
	in.id += strconv.Quote(step.Field) + "."
	in.Node = value
	if !step.selects() {
		in.kinds += kindName(value)
		return []Hit{in}, nil
	}
	if _, secret := value.(Secret); secret {
		return nil, sensitiveError(in.At, "what tells its elements apart is shown")
	}
	in.Parent, in.parentAt = h.Node, h.At
	in.kinds += kindName(value)
	list, err := in.elements(step, ordered)
	if err != nil {
		return nil, err
	}
	seen := map[string][]string{}
	for i := range list {
		e := &list[i]
		if first, ok := seen[e.id]; ok {
			return nil, &NodeError{e.At, fmt.Sprintf("%s and %s have the same key %q", placeName(first), placeName(e.At), e.Name)}
		}
		seen[e.id] = e.At
	}
	return list, nil
}

// elements gives the elements of a list or a map.
func (h *Hit) elements(step Step, ordered bool) ([]Hit, error) {
	var out []Hit
	switch value := h.Node.(type) {
	case map[string]any:
		if !step.Each {
			return nil, &NodeError{h.At, fmt.Sprintf("%s is a map, whose elements have their names: select them by [*]", placeName(h.At))}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !isHollow(value[name]) {
				out = append(out, h.element(step, name, []any{name}, value[name], 0))
			}
		}
		return out, nil
	case []any:
		for i, e := range value {
			keys, err := h.keys(step, e, i, ordered)
			if err != nil {
				return nil, err
			}
			out = append(out, h.element(step, strconv.Itoa(i), keys, e, i))
		}
		return out, nil
	}
	return nil, nil // as with fields
}

// keys gives what tells an element of a list apart.
func (h *Hit) keys(step Step, e any, place int, ordered bool) ([]any, error) {
	at := append(slices.Clone(h.At), strconv.Itoa(place))
	fields, isObject := e.(map[string]any)
	if _, secret := e.(Secret); secret {
		return nil, sensitiveError(at, "what tells it apart is shown")
	}
	if step.Each {
		switch {
		case kindOf(e) == scalarKind && e != nil:
			return []any{e}, nil
		case ordered:
			return []any{json.Number(strconv.Itoa(place))}, nil
		}
		return nil, &NodeError{at, fmt.Sprintf("%s is %s, which nothing tells apart: select by a key, or have the rule ordered", placeName(at), describe(e))}
	}
	if !isObject {
		return nil, &NodeError{at, fmt.Sprintf("%s is %s, and has no field %q that tells it apart", placeName(at), describe(e), step.Keys[0])}
	}
	var keys []any
	for _, name := range step.Keys {
		value := fields[name]
		if value == nil {
			return nil, &NodeError{at, fmt.Sprintf("%s has no field %q, which tells it apart", placeName(at), name)}
		}
		if _, secret := value.(Secret); secret {
			return nil, sensitiveError(append(at, name), "a key is shown")
		}
		if kindOf(value) != scalarKind {
			return nil, &NodeError{append(at, name), fmt.Sprintf("%s is %s, and a key is a text or a number", placeName(append(at, name)), describe(value))}
		}
		keys = append(keys, value)
	}
	return keys, nil
}

func sensitiveError(at []string, why string) error {
	return &NodeError{at, fmt.Sprintf("%s is sensitive, and %s", placeName(at), why)}
}

// element makes the hit of an element.
func (h *Hit) element(step Step, place string, keys []any, node any, order int) Hit {
	e := *h
	e.At = append(slices.Clone(h.At), place)
	e.Node, e.order = node, order
	e.Path = maps.Clone(h.Path)
	e.Path[step.Field] = keys[0]
	if len(keys) > 1 {
		several := map[string]any{}
		for i, name := range step.Keys {
			several[name] = keys[i]
		}
		e.Path[step.Field] = several
	}
	for _, k := range keys {
		if e.Name != "" {
			e.Name += "/"
		}
		e.Name += escape(keyText(k))
		e.id += escape(keyText(k)) + "/"
	}
	e.kinds += kindName(node)
	return e
}

// keyText gives a key as a text: 1.0 is 1.
func keyText(v any) string {
	if n, ok := v.(json.Number); ok {
		return number(n)
	}
	return fmt.Sprint(v)
}

// escape keeps the separators out of a key, as JSON pointers do (RFC 6901), and that of fields likewise.
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func kindName(v any) string { return [...]string{"s", "l", "m"}[kindOf(v)] }

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case json.Number:
		return "the number " + string(v)
	case bool:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("the text %.60q", v)
}

func placeName(at []string) string {
	if len(at) == 0 {
		return "the document"
	}
	return strings.Join(at, ".")
}
