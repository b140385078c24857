package grouping

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// leaf is a value in the JSON of a row that holds no others: a line of text, a number, a boolean
// or null. Of what holds others and is empty, or begins and ends, there is one, too, so that the
// leaves in their order are the row.
type leaf struct {
	path  string
	kind  kind
	value any // of text a string, of a number a json.Number, of a boolean a bool; comparable
}

// kind is what a leaf is.
type kind byte

const (
	text   kind = 's' // the only line, or the first
	line   kind = 'l' // one that continues the text before
	number kind = 'n'
	truth  kind = 'b'
	null   kind = '0'
	object kind = '{'
	list   kind = '['
	key    kind = 'k' // of an object: what follows is its value
	end    kind = 'e' // of an object or a list
)

// flatten gives the leaves of a row, and its shape: rows of the same shape are about the same,
// and would do the same with it, if with other values.
func flatten(ev states.Event) (leaves []leaf, shape string, err error) {
	data, err := encode(ev)
	if err != nil {
		return nil, "", err
	}
	var tree any
	if err := decode(data, &tree); err != nil {
		return nil, "", fmt.Errorf("a row of a plan: %w", err)
	}
	f := &flattener{}
	f.walk(nil, tree)
	return f.leaves, f.shape.String(), nil
}

type flattener struct {
	leaves []leaf
	shape  strings.Builder
}

func (f *flattener) walk(path []string, v any) {
	switch v := v.(type) {
	case map[string]any:
		f.add(path, object, nil)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			f.add(path, key, k)
			f.walk(append(slices.Clip(path), k), v[k])
		}
		f.add(path, end, nil)
	case []any:
		f.add(path, list, nil)
		for i, e := range v {
			f.walk(append(slices.Clip(path), strconv.Itoa(i)), e)
		}
		f.add(path, end, nil)
	case string:
		f.text(path, v)
	case json.Number:
		f.add(path, number, v)
	case bool:
		f.add(path, truth, v)
	default:
		f.add(path, null, nil)
	}
}

// text adds the lines of a text. Those of a diff that are added, and those that are removed, are
// not the same.
func (f *flattener) text(path []string, v string) {
	lines := strings.Split(v, "\n")
	if len(lines) == 1 && path[len(path)-1] != "diff" {
		f.add(path, text, v)
		return
	}
	k := text
	for i, s := range lines {
		f.add(append(slices.Clip(path), strconv.Itoa(i)), k, s)
		if path[len(path)-1] == "diff" {
			fmt.Fprintf(&f.shape, "%q", s[:min(1, len(s))])
		}
		k = line
	}
}

func (f *flattener) add(path []string, k kind, v any) {
	l := leaf{strings.Join(path, "."), k, v}
	f.leaves = append(f.leaves, l)
	f.shape.WriteByte(byte(k))
	if !mayDiffer(path, k) {
		fmt.Fprintf(&f.shape, "%q", fmt.Sprint(v))
	}
}

// mayDiffer reports whether rows in which a leaf is another one say the same but for a value.
func mayDiffer(path []string, k kind) bool {
	switch k {
	case text, line:
		switch {
		case len(path) == 1:
			return !slices.Contains([]string{"type", "time", "address", "invocation", "part_type", "ensure", "outcome", "action"}, path[0])
		case len(path) == 3 && path[0] == "changes":
			return path[2] != "attribute"
		}
		return !slices.Equal(path, []string{"error", "code"})
	case number, truth:
		return len(path) >= 3 && path[0] == "changes"
	}
	return false
}

// unflatten makes a row of its leaves.
func unflatten(leaves []leaf) (ev states.Event, err error) {
	u := &unflattener{leaves: leaves}
	tree := u.value()
	data, err := encode(tree)
	if err == nil {
		err = decode(data, &ev)
	}
	if err != nil {
		err = fmt.Errorf("a row of a plan: %w", err)
	}
	return ev, err
}

type unflattener struct{ leaves []leaf }

func (u *unflattener) next() leaf {
	l := u.leaves[0]
	u.leaves = u.leaves[1:]
	return l
}

func (u *unflattener) value() any {
	switch l := u.next(); l.kind {
	case object:
		v := map[string]any{}
		for u.leaves[0].kind == key {
			name, _ := u.next().value.(string)
			v[name] = u.value()
		}
		u.next()
		return v
	case list:
		v := []any{}
		for u.leaves[0].kind != end {
			v = append(v, u.value())
		}
		u.next()
		return v
	case text:
		s := fmt.Sprint(l.value)
		for len(u.leaves) > 0 && u.leaves[0].kind == line {
			s += "\n" + fmt.Sprint(u.next().value)
		}
		return s
	default:
		return l.value
	}
}
