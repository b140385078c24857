package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Documents for random tests: switches by name with VLANs by number, ports by name in a map, texts, and fields of their own.
func documents() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		own := func(t *rapid.T, m map[string]any) map[string]any {
			for _, name := range []string{"p", "q"} {
				switch rapid.IntRange(0, 4).Draw(t, name) {
				case 0:
					m[name] = json.Number(fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "number")))
				case 1:
					m[name] = []any{"x", json.Number(fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "item")))}
				case 2:
					m[name] = map[string]any{"r": rapid.SampledFrom([]any{nil, "u", true}).Draw(t, "r")}
				}
			}
			return m
		}
		doc := own(t, map[string]any{})
		if rapid.Bool().Draw(t, "switches") {
			list := []any{}
			for _, name := range some(t, "a", "b", "c/~") {
				s := own(t, map[string]any{"n": name})
				var vlans []any
				for _, id := range some(t, "1", "2", "3") {
					vlans = append(vlans, own(t, map[string]any{"i": json.Number(id)}))
				}
				if vlans != nil {
					s["v"] = vlans
				}
				if rapid.Bool().Draw(t, "texts") {
					var texts []any
					for _, text := range some(t, "t1", "t2") {
						texts = append(texts, text)
					}
					s["t"] = texts
				}
				list = append(list, s)
			}
			doc["s"] = list
		}
		if rapid.Bool().Draw(t, "ports") {
			ports := map[string]any{}
			for _, name := range some(t, "e1", "e2") {
				if rapid.Bool().Draw(t, "scalar") {
					ports[name] = "up"
				} else {
					ports[name] = own(t, map[string]any{})
				}
			}
			doc["o"] = ports
		}
		return doc
	})
}

// some gives some of the names, in any order.
func some(t *rapid.T, names ...string) []string {
	list := rapid.Permutation(names).Draw(t, "names")
	return list[:rapid.IntRange(0, len(names)).Draw(t, "count")]
}

// apply does to a document what the changes say, knowing nothing but what each of them carries: a plain model of what states do.
func apply(t *rapid.T, list []Rule, doc any, changes []Change) any {
	if doc == nil {
		doc = map[string]any{}
	}
	for _, c := range changes {
		steps := list[c.Rule].Selector
		keys := strings.Split(c.Hit.Name, "/")
		in := doc.(map[string]any)
		for i, step := range steps {
			last := i == len(steps)-1
			if !step.selects() {
				if last {
					in[step.Field] = put(in[step.Field], c)
					continue
				}
				in = in[step.Field].(map[string]any)
				continue
			}
			key := keys[0]
			keys = keys[1:]
			if m, ok := in[step.Field].(map[string]any); ok || step.Each && kindOf(c.Hit.Node) == mapKind || step.Each && c.Hit.kinds[len(c.Hit.kinds)-2] == 'm' {
				if m == nil {
					m = map[string]any{}
					in[step.Field] = m
				}
				name := strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
				m[name] = put(m[name], c)
				if c.Act == Delete {
					delete(m, name)
				}
				continue
			}
			elements, _ := in[step.Field].([]any)
			at := slices.IndexFunc(elements, func(e any) bool {
				if step.Each {
					return escape(keyText(e)) == key
				}
				return escape(keyText(e.(map[string]any)[step.Keys[0]])) == key
			})
			switch {
			case !last:
				in = elements[at].(map[string]any)
			case c.Act == Delete:
				in[step.Field] = slices.Delete(slices.Clone(elements), at, at+1)
			case at < 0:
				in[step.Field] = append(elements, put(nil, c))
			default:
				elements[at] = put(elements[at], c)
			}
		}
	}
	return doc
}

// put gives a node after a change of it.
func put(old any, c Change) any {
	switch c.Act {
	case Delete:
		return nil
	case Create:
		return only(c.Hit.Node)
	}
	m, ok := old.(map[string]any)
	if !ok {
		return c.Hit.Node
	}
	for _, d := range c.Diff {
		set(m, d.Path, d.New)
	}
	return m
}

// only gives a new node without the lists of nodes, which are created for themselves.
func only(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	m = maps.Clone(m)
	delete(m, "v")
	delete(m, "t")
	return m
}

func set(m map[string]any, path []string, v any) {
	if len(path) == 1 {
		m[path[0]] = v
		return
	}
	inner, ok := m[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[path[0]] = inner
	}
	set(inner, path[1:], v)
}

// sorted gives a document in which the order of switches, VLANs and texts is always the same.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			out[name] = sorted(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = sorted(e)
		}
		slices.SortFunc(out, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return out
	}
	return v
}

func copied(t testing.TB, v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// Whoever does what the changes say to the old document gets the new one, and the way back leads back.
func TestChangesMakeTheNewDocument(t *testing.T) {
	list := []Rule{rule(t, "s[n]"), rule(t, "s[n].v[i]"), rule(t, "s[n].t[*]"), rule(t, "o[*]"), rule(t, "p"), rule(t, "q")}
	rapid.Check(t, func(rt *rapid.T) {
		before, after := documents().Draw(rt, "before"), documents().Draw(rt, "after")
		c, err := Compare(list, before, after)
		if err != nil {
			rt.Fatal(err)
		}
		if len(c.Rest) > 0 {
			rt.Fatalf("all is selected, and %v is left", c.Rest)
		}
		made := apply(rt, list, copied(t, before), c.Changes)
		if !Same(sorted(made), sorted(after)) {
			rt.Fatalf("%s\nmakes of %v\n%v\nand not\n%v", shown(list, c), before, made, after)
		}
		if again, err := Compare(list, made, after); err != nil || len(again.Changes) > 0 {
			rt.Fatalf("after it %s is left: %v", shown(list, again), err)
		}
		if len(c.Changes) == 0 != Same(sorted(before), sorted(after)) {
			rt.Fatalf("there are %d changes", len(c.Changes))
		}
	})
}

// Same is an equivalence, whatever is in the values.
func TestSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := documents().Draw(rt, "a"), documents().Draw(rt, "b"), documents().Draw(rt, "c")
		if !Same(a, a) || Same(a, b) != Same(b, a) || Same(a, b) && Same(b, c) && !Same(a, c) {
			rt.Fatal("it is none")
		}
		if Same(a, b) != (len(differences(nil, a, b)) == 0) {
			rt.Fatal("what is the same has differences, or what is not has none")
		}
	})
}
