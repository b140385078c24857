package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func parse(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func rule(t testing.TB, selector string) Rule {
	t.Helper()
	s, err := ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return Rule{Name: selector, Selector: s}
}

func TestParseSelector(t *testing.T) {
	for text, want := range map[string]Selector{
		"switches[name].vlans[id]": {{Field: "switches", Keys: []string{"name"}}, {Field: "vlans", Keys: []string{"id"}}},
		"links[A, B]":              {{Field: "links", Keys: []string{"A", "B"}}},
		`"a.b"[*]."c\"\\"`:         {{Field: "a.b", Each: true}, {Field: `c"\`}},
	} {
		got, err := ParseSelector(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives %+v: %v", text, got, err)
		}
		if again, err := ParseSelector(got.String()); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s is written as %s: %v", text, got, err)
		}
	}
	for text, offset := range map[string]int{"": 0, "a.": 2, "a[": 2, "a[b": 3, "a[]": 2, "a[b,b]": 4, "a b": 1, "a[*": 3, `"a`: 0, `"a\n"`: 3, "a[b].[c]": 5, "ä": 0} {
		_, err := ParseSelector(text)
		if e, ok := errors.AsType[*SyntaxError](err); !ok || e.Offset != offset {
			t.Errorf("%q: %v, not at %d", text, err, offset)
		}
	}
}

func FuzzSelector(f *testing.F) {
	f.Add(`switches[name]."x y"[*].links[A,B]`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(text)
		if err != nil {
			return
		}
		if again, err := ParseSelector(s.String()); err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%q is written as %q, which gives %+v: %v", text, s, again, err)
		}
	})
}

func TestHits(t *testing.T) {
	document := `{"switches": [{"name": "core1", "vlans": [{"id": 10}, {"id": 2.0}]}, {"name": "a/b~", "vlans": null}],
		"links": [{"A": 1, "B": "x"}], "flags": ["p", 7], "by": {"z": {"n": 1}, "y": {}}, "one": {"v": 1}, "objects": [{"n": 1}, {"n": 2}]}`
	for selector, want := range map[string]string{
		"switches[name]":           "core1 a~1b~0",
		"switches[name].vlans[id]": "core1/10 core1/2",
		"links[A,B]":               "1/x",
		"flags[*]":                 "p 7",
		"by[*]":                    "z", // {} is not there
		"by[*].n":                  "z",
		"one":                      "",
		"missing[*].x":             "none",
		"one.v[*]":                 "none",
		"one.v.w":                  "none",
		"objects[*] ordered":       "0 1",
	} {
		s, ordered := strings.CutSuffix(selector, " ordered")
		hits, err := rule(t, s).Selector.Hits(parse(t, document), ordered)
		var names []string
		for _, h := range hits {
			names = append(names, h.Name)
		}
		got := strings.Join(names, " ")
		if len(hits) == 0 {
			got = "none"
		}
		if err != nil || got != want {
			t.Errorf("%s gives %q, not %q: %v", selector, got, want, err)
		}
	}
	hits, _ := rule(t, "switches[name].vlans[id]").Selector.Hits(parse(t, document), false)
	if h := hits[0]; !reflect.DeepEqual(h.Path, map[string]any{"switches": "core1", "vlans": json.Number("10")}) || h.Parent.(map[string]any)["name"] != "core1" ||
		!reflect.DeepEqual(h.At, []string{"switches", "0", "vlans", "0"}) {
		t.Errorf("a hit is %+v", h)
	}
	hits, _ = rule(t, "links[A,B]").Selector.Hits(parse(t, document), false)
	if !reflect.DeepEqual(hits[0].Path, map[string]any{"links": map[string]any{"A": json.Number("1"), "B": "x"}}) {
		t.Errorf("the path is %v", hits[0].Path)
	}
	for selector, want := range map[string]string{
		"switches[vlan]": "switches.0: switches.0 has no field", "objects[*]": "objects.0: objects.0 is an object, which nothing tells apart",
		"flags[x]": "flags.0: flags.0 is the text", "one[v]": "one: one is a map",
		"switches[vlans]": "switches.0.vlans: switches.0.vlans is a list",
	} {
		_, err := rule(t, selector).Selector.Hits(parse(t, document), false)
		e, ok := errors.AsType[*NodeError](err)
		if !ok || !strings.HasPrefix(strings.Join(e.At, ".")+": "+e.Message, want) {
			t.Errorf("%s: %v, not %q", selector, err, want)
		}
	}
	_, err := rule(t, "l[k]").Selector.Hits(parse(t, `{"l": [{"k": 1}, {"k": 1.0}]}`), false)
	if e, ok := errors.AsType[*NodeError](err); !ok || strings.Join(e.At, ".") != "l.1" || !strings.Contains(e.Message, "the same key") {
		t.Errorf("a key that is there twice: %v", err)
	}
}

// shown gives changes in a short form.
func shown(list []Rule, c *Comparison) string {
	var parts []string
	for _, change := range c.Changes {
		text := fmt.Sprintf("%s %s %s", change.Act, list[change.Rule].Name, change.Hit.Name)
		for _, d := range change.Diff {
			text += fmt.Sprintf(" %s:%v>%v", strings.Join(d.Path, "."), d.Old, d.New)
		}
		if change.Moved {
			text += " moved"
		}
		parts = append(parts, text)
	}
	for _, d := range c.Rest {
		parts = append(parts, fmt.Sprintf("rest %s:%v>%v", strings.Join(d.Path, "."), d.Old, d.New))
	}
	return strings.Join(parts, "; ")
}

func TestCompare(t *testing.T) {
	const network = `{"s": [{"n": "a", "p": 1, "v": [{"i": 1, "t": "x"}, {"i": 2}]}, {"n": "b"}]}`
	for _, one := range []struct{ rules, before, after, want string }{
		{"s[n] s[n].v[i]", network, network, ""},
		{"s[n] s[n].v[i]", `null`, network, "create s[n] a; create s[n] b; create s[n].v[i] a/1; create s[n].v[i] a/2"},
		{"s[n] s[n].v[i]", network, `{}`, "delete s[n].v[i] a/1; delete s[n].v[i] a/2; delete s[n] a; delete s[n] b"},
		{"s[n] s[n].v[i]", network, `{"s": [{"n": "b"}, {"n": "a", "p": 1.0, "v": [{"i": 2}, {"i": 1, "t": "y"}, {"i": 3}]}]}`, "update s[n].v[i] a/1 t:x>y; create s[n].v[i] a/3"},
		{"s[n]", network, `{"s": [{"n": "a", "p": 2, "v": [{"i": 1, "t": "x"}]}, {"n": "b"}]}`, "update s[n] a p:1>2 v:[map[i:1 t:x] map[i:2]]>[map[i:1 t:x]]"},
		{"s[n].v[i]", network, `{"s": [{"n": "a", "p": 2, "v": [{"i": 2}]}], "x": "1"}`, "delete s[n].v[i] a/1; rest s:[map[n:a p:1 v:[]] map[n:b]]>[map[n:a p:2 v:[]]]; rest x:<nil>>1"},
		{"s[n] s[n]", network, `{"s": [{"n": "a", "p": 1, "v": [{"i": 1, "t": "x"}, {"i": 2}]}, {"n": "b", "p": 3}]}`, "update s[n] b p:<nil>>3"},
		{"x", `{"x": null}`, `{"x": {"y": [], "z": null}}`, ""},
		{"x", `{"x": 1}`, `{"x": "1"}`, "update x  :1>1"},
		{"x", `{"x": 10}`, `{"x": 1e1}`, ""},
		{"x x.y", `{"x": {"y": 1, "z": 2}}`, `{"x": 3}`, "delete x.y ; delete x ; create x "},
		{"l[*]", `{"l": ["a", "b"]}`, `{"l": {"a": 1, "b": 2}}`, "delete l[*] a; delete l[*] b; create l[*] a; create l[*] b"},
		{"l[*]", `{"l": ["a", "b", 3]}`, `{"l": [3.0, "b", "c"]}`, "delete l[*] a; create l[*] c"},
		{"l[k] ordered", `{"l": [{"k": 1}, {"k": 2}, {"k": 3}]}`, `{"l": [{"k": 3}, {"k": 1}, {"k": 2}]}`, "update l[k] 3 moved"},
		{"l[*] ordered", `{"l": [{"k": 1}, {"k": 2}]}`, `{"l": [{"k": 1}, {"k": 3}, {"k": 2}]}`, "update l[*] 1 k:2>3; create l[*] 2"},
	} {
		var list []Rule
		names, ordered := strings.CutSuffix(one.rules, " ordered")
		for name := range strings.FieldsSeq(names) {
			r := rule(t, name)
			r.Ordered = ordered
			list = append(list, r)
		}
		c, err := Compare(list, parse(t, one.before), parse(t, one.after))
		if err != nil {
			t.Errorf("%s: %v", one.rules, err)
			continue
		}
		if got := shown(list, c); got != one.want {
			t.Errorf("%s: from %s to %s:\n%s\nnot\n%s", one.rules, one.before, one.after, got, one.want)
		}
	}
}

func TestConflicts(t *testing.T) {
	for rules, wrong := range map[string]bool{"s[n] s[i]": true, "s[n].v s[*].v": true, "s[n].v[i] s[n].v[k]": true, "s s[n]": false, "s[n].v s[n].w[*]": false, "s[n] t[i]": false} {
		var list []Rule
		for name := range strings.FieldsSeq(rules) {
			list = append(list, rule(t, name))
		}
		_, err := Compare(list, nil, nil)
		if e, ok := errors.AsType[*ConflictError](err); ok != wrong || wrong && (e.First != 0 || e.Second != 1) {
			t.Errorf("%s: %v", rules, err)
		}
	}
	_, err := Compare([]Rule{rule(t, "a"), rule(t, "s[n]")}, nil, parse(t, `{"s": [1]}`))
	if e, ok := errors.AsType[*DocumentError](err); !ok || e.Rule != 1 || !e.IsNew || !slices.Equal(e.At, []string{"s", "0"}) {
		t.Errorf("%v", err)
	}
}
