package rules

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
)

// isEmpty reports whether a value is one that counts as not being there: null, a list or a map without elements.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case Secret:
		return v.Digest == "" && isHollow(v.Value)
	}
	return false
}

// Same reports whether two values are the same: null, an empty list, an empty map and a field that is missing are one, and numbers are compared
// by their value. A text is never a number.
func Same(a, b any) bool {
	if isEmpty(a) || isEmpty(b) {
		return isHollow(a) && isHollow(b)
	}
	if s, ok := a.(Secret); ok {
		return s.same(b)
	}
	if s, ok := b.(Secret); ok {
		return s.same(a)
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for name := range fields(a, b) {
			if !Same(a[name], b[name]) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Same)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || number(a) == number(b))
	}
	if _, ok := b.(json.Number); ok || kindOf(b) != scalarKind {
		return false
	}
	return a == b
}

// isHollow reports whether nothing but empty values is in a value. The elements of a list count, whatever they are.
func isHollow(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return isEmpty(v)
	}
	for _, e := range m {
		if !isHollow(e) {
			return false
		}
	}
	return true
}

// fields are the names of the fields of either map.
func fields(a, b map[string]any) map[string]bool {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return all
}

// number gives a number in one form, however it is written.
func number(n json.Number) string {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return string(n)
	}
	return r.RatString()
}

// kind is of what type a value is, as far as types are told apart.
type kind int

const (
	scalarKind kind = iota
	listKind
	mapKind
)

func kindOf(v any) kind {
	switch v := v.(type) {
	case Secret:
		return kindOf(v.Value)
	case []any:
		return listKind
	case map[string]any:
		return mapKind
	}
	return scalarKind
}

// Difference is a place at which two values differ.
type Difference struct {
	Path []string `json:"path"` // names of fields
	Old  any      `json:"old,omitempty"`
	New  any      `json:"new,omitempty"`
}

// Differences lists where two values differ: the fields of maps one by one, and lists as a whole.
func Differences(old, now any) []Difference { return differences(nil, old, now) }

// differences lists where two values differ: the fields of maps one by one, and lists as a whole.
func differences(path []string, a, b any) []Difference {
	if Same(a, b) {
		return nil
	}
	x, isMap := a.(map[string]any)
	y, areMaps := b.(map[string]any)
	if isMap && isEmpty(b) {
		y, areMaps = nil, true
	}
	if areMaps && isEmpty(a) {
		x, isMap = nil, true
	}
	if !isMap || !areMaps {
		return []Difference{{slices.Clone(path), a, b}}
	}
	var list []Difference
	for _, name := range slices.Sorted(maps.Keys(fields(x, y))) {
		list = append(list, differences(append(path, name), x[name], y[name])...)
	}
	return list
}
