package states_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"pgregory.net/rapid"
)

// All has an attribute of each kind.
type All struct {
	Name     string            `state:"name,key" doc:"Key."`
	Second   *string           `state:"second,key" doc:"Second key."`
	Flag     *bool             `state:"flag" doc:"Bool."`
	Count    *int              `state:"count" doc:"Int."`
	Ratio    *float64          `state:"ratio" doc:"Number."`
	Mode     *fs.FileMode      `state:"mode" doc:"Mode."`
	Wait     *time.Duration    `state:"wait" doc:"Duration."`
	List     []string          `state:"list,path" doc:"List."`
	Set      []string          `state:"set,set" doc:"Set."`
	Map      map[string]string `state:"map" doc:"Map."`
	Content  *host.Content     `state:"content" doc:"Content."`
	Any      json.RawMessage   `state:"any" doc:"Any."`
	Color    *string           `state:"color" enum:"red,green" doc:"Enum."`
	How      *string           `state:"how,in" doc:"In."`
	Seen     *string           `state:"seen,out" doc:"Out."`
	Secret   *string           `state:"secret,sensitive" doc:"Sensitive."`
	internal string
}

func allType() states.Type[All] {
	return states.Type[All]{
		Name: "all", Doc: "All.",
		New:    All{Color: new("green"), Count: new(3)},
		Read:   func(context.Context, host.Host, All) (*All, error) { return nil, nil },
		Write:  func(context.Context, host.Host, *All, All) error { return nil },
		Remove: func(context.Context, host.Host, All) error { return nil },
	}
}

func number(s string) json.Number { return json.Number(s) }

func allValues() map[string]any {
	return map[string]any{
		"name": "n", "second": "s", "flag": true, "count": number("-7"), "ratio": number("0.5"),
		"mode": "4755", "wait": "1m30s", "list": []any{"b", "a", "b"}, "set": []any{"a", "b"},
		"map": map[string]any{"k": "v"}, "content": "\xff\x00", "any": map[string]any{"x": []any{number("1"), nil, true}},
		"color": "red", "how": "so", "secret": "hidden",
	}
}

func TestDecodeAndEncodeAreInverse(t *testing.T) {
	m := states.Define(allType())
	r, err := m.Decode(allValues(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if values := m.Encode(r); !reflect.DeepEqual(values, allValues()) {
		t.Errorf("%v\nis not\n%v", values, allValues())
	}
	if all := r.(*All); *all.Wait != 90*time.Second || *all.Mode != fs.ModeSetuid|0o755 || all.internal != "" {
		t.Errorf("%+v", all)
	}
}

func TestSchema(t *testing.T) {
	m := states.Define(allType())
	if key := m.Key(allValues()); key != `["n","s"]` {
		t.Errorf("key %s", key)
	}
	paths := m.Paths(map[string]any{"list": []any{"/b", "a", "/a"}})
	if !slices.Equal(paths, []string{"/b", "/a"}) {
		t.Errorf("paths %v", paths)
	}
	if c := m.Attribute("count"); c.Kind != states.KindInt || c.Default != number("3") || c.Required {
		t.Errorf("count is %+v", c)
	}
	if n := m.Attribute("name"); !n.Key || !n.Required || m.Attribute("none") != nil || m.IsAct() {
		t.Errorf("name is %+v", n)
	}
	if keys := m.Keys(); !slices.Equal(keys, []string{"name", "second"}) {
		t.Errorf("keys %v", keys)
	}
}

// A device comes before what is on it, as a directory before what lies in it.
func TestPathsOfDevices(t *testing.T) {
	type port struct {
		Port   string  `state:"port,key,on_device" doc:"Port."`
		Bridge *string `state:"bridge,device" doc:"Bridge."`
		Source *string `state:"source,path" doc:"Path, or a word."`
	}
	typ := actType[port]()
	m := states.Define(typ)
	for source, want := range map[string][]string{
		"tmpfs": {"/sys/class/net/eth1/x", "/sys/class/net/br0"}, "/srv": {"/sys/class/net/eth1/x", "/sys/class/net/br0", "/srv"},
	} {
		if is := m.Paths(map[string]any{"port": "eth1", "bridge": "br0", "source": source}); !slices.Equal(is, want) {
			t.Errorf("%q", is)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	m := states.Define(allType())
	for name, v := range map[string]any{
		"flag": "yes", "count": number("1.5"), "ratio": "x", "mode": number("644"), "wait": number("3"),
		"list": "a", "set": []any{[]any{}}, "map": []any{}, "color": "blue", "seen": "x", "unknown": true, "second": map[string]any{},
	} {
		_, err := m.Decode(map[string]any{"name": "n", name: v}, nil)
		wrong, ok := errors.AsType[*states.AttributeError](err)
		if !ok || wrong.Attribute != name {
			t.Errorf("%s = %v: %v", name, v, err)
		}
	}
	r, err := m.Decode(map[string]any{"name": "n", "flag": nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(r); err == nil || !strings.Contains(err.Error(), "second: it is required") {
		t.Errorf("a missing key: %v", err)
	}
}

func TestFillAndDiff(t *testing.T) {
	m := states.Define(allType())
	decode := func(v map[string]any) any {
		r, err := m.Decode(v, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := decode(map[string]any{"name": "n", "second": "s", "flag": true, "how": "so", "content": "new"})
	created := m.Fill(nil, want)
	if v := m.Encode(created); v["color"] != "green" || v["count"] != number("3") {
		t.Errorf("defaults are not filled in: %v", v)
	}
	var names []string
	for _, c := range m.Diff(nil, created) {
		names = append(names, c.Attribute)
	}
	if !slices.Equal(names, []string{"flag", "count", "content", "color"}) {
		t.Errorf("a new resource differs in %v", names)
	}

	have := decode(map[string]any{"name": "n", "second": "s", "flag": true, "color": "red", "content": "old", "how": "other"})
	filled := m.Fill(have, want)
	if v := m.Encode(filled); v["color"] != "red" || v["how"] != "so" || v["count"] != nil {
		t.Errorf("filled in: %v", v)
	}
	changes := m.Diff(have, filled)
	if len(changes) != 1 || changes[0].Attribute != "content" || !changes[0].To.(host.Content).Equal(host.Text("new")) {
		t.Errorf("changes %v", changes)
	}
	if gone := m.Diff(have, nil); len(gone) != 3 || gone[0].To != nil {
		t.Errorf("gone: %v", gone)
	}
	if v := m.Encode(want); v["color"] != nil {
		t.Error("Fill changed what it was given")
	}
}

func TestExtraAddsToTheDifference(t *testing.T) {
	typ := allType()
	typ.Extra = func(have, want All) []states.Change {
		return []states.Change{{Attribute: "list", From: have.Name, To: want.Name}}
	}
	m := states.Define(typ)
	have, want := &All{Name: "a"}, &All{Name: "a", Flag: new(true)}
	if changes := m.Diff(have, want); len(changes) != 2 || changes[1].Attribute != "list" {
		t.Errorf("%v", changes)
	}
	if changes := m.Diff(nil, want); len(changes) != 1 || changes[0].Attribute != "flag" {
		t.Errorf("Extra was asked about nothing: %v", changes)
	}
}

func TestDefinePanics(t *testing.T) {
	broken := map[string]func(*states.Type[All]){
		"name":       func(t *states.Type[All]) { t.Name = "state" },
		"identifier": func(t *states.Type[All]) { t.Name = "a b" },
		"doc":        func(t *states.Type[All]) { t.Doc = "" },
		"no write":   func(t *states.Type[All]) { t.Write = nil },
		"no remove":  func(t *states.Type[All]) { t.Remove = nil },
		"no reason":  func(t *states.Type[All]) { t.NoAbsent = "Because." },
		"act beside read": func(t *states.Type[All]) {
			t.Act = func(context.Context, host.Host, All) (bool, All, error) { return false, All{}, nil }
		},
	}
	for name, breakIt := range broken {
		typ := allType()
		breakIt(&typ)
		panics(t, name, func() { states.Define(typ) })
	}
	type option struct {
		Tags []string `state:"tags" doc:"Like an option."`
	}
	type undocumented struct {
		A *string `state:"a"`
	}
	type flag struct {
		A *string `state:"a,odd" doc:"Flag."`
	}
	type kind struct {
		A chan int `state:"a" doc:"Kind."`
	}
	panics(t, "option", func() { states.Define(actType[option]()) })
	panics(t, "undocumented", func() { states.Define(actType[undocumented]()) })
	panics(t, "flag", func() { states.Define(actType[flag]()) })
	panics(t, "kind", func() { states.Define(actType[kind]()) })
	panics(t, "two of a name", func() { states.NewRegistry(states.Define(allType()), states.Define(allType())) })
}

func actType[T any]() states.Type[T] {
	return states.Type[T]{
		Name: "x", Doc: "X.", NoAbsent: "No.",
		Act: func(context.Context, host.Host, T) (bool, T, error) { return false, *new(T), nil },
	}
}

func panics(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", name)
		}
	}()
	f()
}

// Normalize is idempotent, whatever the value.
func TestNormalizeTwice(t *testing.T) {
	m := states.Define(allType())
	plain := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{"0644", "5m", "1h0m0s", "true", "red", "1e3"}), func(s string) any { return s }),
		rapid.Map(rapid.Float64(), func(f float64) any {
			data, err := json.Marshal(f)
			if err != nil {
				return number("0")
			}
			return number(string(data))
		}),
		rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"b", "a", "c"})), func(l []string) any {
			out := []any{}
			for _, s := range l {
				out = append(out, s)
			}
			return out
		}),
	)
	rapid.Check(t, func(r *rapid.T) {
		v := plain.Draw(r, "value")
		for i := range m.Attributes {
			a := &m.Attributes[i]
			once, err := a.Normalize(v)
			if err != nil {
				continue
			}
			twice, err := a.Normalize(once)
			if err != nil || !reflect.DeepEqual(once, twice) {
				r.Fatalf("%s: %v, then %v, %v", a.Name, once, twice, err)
			}
		}
	})
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		kind states.Kind
		in   any
		out  any
	}{
		{states.KindString, number("5"), "5"},
		{states.KindString, true, "true"},
		{states.KindBool, "false", false},
		{states.KindInt, "10", number("10")},
		{states.KindInt, number("1e3"), number("1000")},
		{states.KindMode, "644", "0644"},
		{states.KindDuration, "90s", "1m30s"},
		{states.KindSet, []any{"b", "a", "b"}, []any{"a", "b"}},
		{states.KindList, []any{"b", number("1")}, []any{"b", "1"}},
		{states.KindMap, map[string]any{"a": true}, map[string]any{"a": "true"}},
		{states.KindAny, nil, nil},
	} {
		a := states.Attribute{Name: "a", Kind: c.kind}
		if out, err := a.Normalize(c.in); err != nil || !reflect.DeepEqual(out, c.out) {
			t.Errorf("%s %v: %v, %v", c.kind, c.in, out, err)
		}
	}
	mode := states.Attribute{Name: "mode", Kind: states.KindMode}
	_, err := mode.Normalize(number("644"))
	if wrong, ok := errors.AsType[*states.AttributeError](err); !ok || !strings.Contains(wrong.Hint, `"0644"`) {
		t.Errorf("a mode as a number: %v", err)
	}
	for _, s := range []string{"", "8", "99", "10644", "-644", "rwx", "0x1"} {
		if _, err := mode.Normalize(s); err == nil {
			t.Errorf("the mode %q is accepted", s)
		}
	}
}
