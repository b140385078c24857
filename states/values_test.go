package states_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// allOfValues is the module of All with Values in the struct's place.
func allOfValues(t *testing.T) *states.Module {
	t.Helper()
	m, err := states.DefineValues(states.ValuesType{
		Schema: states.Define(allType()).Schema,
		Read:   func(context.Context, host.Host, states.Values) (states.Values, error) { return nil, nil },
		Write:  func(context.Context, host.Host, states.Values, states.Values) error { return nil },
		Remove: func(context.Context, host.Host, states.Values) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A module of Values does what one of a struct does, whatever the values.
func TestValuesAreLikeAStruct(t *testing.T) {
	structs, values := states.Define(allType()), allOfValues(t)
	if a, b := structs.Schema, values.Schema; !reflect.DeepEqual(a, b) {
		t.Fatalf("the schemas differ:\n%+v\n%+v", a, b)
	}
	given := rapid.Custom(func(r *rapid.T) map[string]any {
		out := map[string]any{}
		for _, a := range structs.Attributes {
			choices := []any{
				nil, "", "text", "0644", "30s", "90s", "red", true, number("3"), number("-0.50"), number("1e2"),
				[]any{"b", "a", "b"}, []any{}, map[string]any{"k": "v"}, map[string]any{},
			}
			if v := allValues()[a.Name]; v != nil {
				choices = append(choices, v, v, v, v)
			}
			if rapid.IntRange(0, 3).Draw(r, "given") > 0 {
				out[a.Name] = rapid.SampledFrom(choices).Draw(r, a.Name)
			}
		}
		// Most are good, so that more than one attribute matters.
		for name, v := range out {
			if _, err := structs.Attribute(name).Normalize(v); err != nil && rapid.IntRange(0, 20).Draw(r, "bad") > 0 {
				delete(out, name)
			}
		}
		if out["second"] == "" {
			delete(out, "second") // a key that is empty is not given; a struct's pointer can tell
		}
		if rapid.IntRange(0, 20).Draw(r, "out") > 0 {
			delete(out, "seen")
		}
		return out
	})
	rapid.Check(t, func(r *rapid.T) {
		a, b := given.Draw(r, "a"), given.Draw(r, "b")
		decode := func(v map[string]any) (any, any) {
			x, errX := structs.Decode(v, nil)
			y, errY := values.Decode(v, nil)
			if (errX == nil) != (errY == nil) || errX != nil && errX.Error() != errY.Error() {
				r.Fatalf("decoding %v: %v and %v", v, errX, errY)
			}
			if errX != nil {
				return nil, nil
			}
			return x, y
		}
		haveX, haveY := decode(a)
		wantX, wantY := decode(b)
		if haveX == nil || wantX == nil {
			return
		}
		same := func(what string, x, y any) {
			if !reflect.DeepEqual(x, y) {
				r.Errorf("%s: %v and %v", what, x, y)
			}
		}
		same("encode", structs.Encode(wantX), values.Encode(wantY))
		same("check", structs.Check(wantX), values.Check(wantY))
		same("diff", structs.Diff(haveX, wantX), values.Diff(haveY, wantY))
		same("diff of nothing", structs.Diff(nil, wantX), values.Diff(nil, wantY))
		same("diff with nothing", structs.Diff(haveX, nil), values.Diff(haveY, nil))
		same("fill", structs.Encode(structs.Fill(haveX, wantX)), values.Encode(values.Fill(haveY, wantY)))
		same("fill with defaults", structs.Encode(structs.Fill(nil, wantX)), values.Encode(values.Fill(nil, wantY)))
		same("unchanged", values.Encode(wantY), structs.Encode(wantX))
		observed, err := values.Observe(maps.Clone(wantY.(states.Values)))
		if err != nil {
			r.Fatal(err)
		}
		same("observed", values.Encode(observed), values.Encode(wantY))
	})
}

func TestDefineValuesFindsAllMistakes(t *testing.T) {
	good := states.Attribute{Name: "name", Kind: states.KindString, Doc: "Name.", Key: true}
	attribute := func(name, kind string, change func(*states.Attribute)) states.Attribute {
		a := states.Attribute{Name: name, Kind: states.Kind(kind), Doc: "Doc."}
		if change != nil {
			change(&a)
		}
		return a
	}
	_, err := states.DefineValues(states.ValuesType{Schema: states.Schema{
		Name: "state",
		Attributes: []states.Attribute{
			good,
			attribute("tags", "list", nil),
			attribute("bare", "string", func(a *states.Attribute) { a.Doc = "" }),
			attribute("a b", "string", nil),
			attribute("odd", "strin", nil),
			attribute("key", "int", func(a *states.Attribute) { a.Key = true }),
			attribute("where", "int", func(a *states.Attribute) { a.Path = true }),
			attribute("choice", "int", func(a *states.Attribute) { a.Enum = []string{"1"} }),
			attribute("both", "string", func(a *states.Attribute) { a.In, a.Out = true, true }),
			attribute("mode", "mode", func(a *states.Attribute) { a.Default = "rw" }),
		},
	}})
	var found []string
	for _, line := range strings.Split(err.Error(), "\n") {
		name, _, _ := strings.Cut(line, ":")
		found = append(found, name)
	}
	want := []string{"a b", "odd", "key", "where", "choice", "both", "mode", "the name is no identifier, or a word of the language",
		"it has no documentation", "it has neither Act nor Read and Write", "tags", "bare"}
	if !slices.Equal(found, want) {
		t.Errorf("found\n%q, want\n%q", found, want)
	}
}

func TestObserveRefuses(t *testing.T) {
	m := allOfValues(t)
	for name, v := range map[string]any{
		"flag": "yes", "count": number("1.5"), "mode": number("644"), "name": host.Text("x"), "content": &states.Source{}, "none": 1,
	} {
		_, err := m.Observe(map[string]any{name: v})
		if wrong, ok := errors.AsType[*states.AttributeError](err); !ok || wrong.Attribute != name {
			t.Errorf("%s = %v: %v", name, v, err)
		}
	}
	r, err := m.Observe(map[string]any{"seen": "s", "content": host.Text("x"), "flag": nil})
	if err != nil || len(r) != 2 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestRegistryWith(t *testing.T) {
	first := states.NewRegistry(states.Define(allType()))
	typ := allType()
	typ.Name = "other"
	both := first.With(states.Define(typ))
	if names := both.Names(); !slices.Equal(names, []string{"all", "other"}) || first.Lookup("other") != nil {
		t.Errorf("%v", names)
	}
	panics(t, "two of a name", func() { both.With(states.Define(typ)) })
}
