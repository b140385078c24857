package lang_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// TestSyntaxes demands the same declarations of a site in both syntaxes.
func TestSyntaxes(t *testing.T) {
	a, err := txtar.ParseFile("../testdata/lang/syntaxes/both.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var got []*states.Declarations
	for _, f := range a.Files {
		_, name, _ := strings.Cut(f.Name, "/")
		site, _ := lang.Load(fstest.MapFS{name: {Data: f.Data}}, lang.Options{Registry: registry()})
		d, list := site.Evaluate(context.Background(), lang.Target{Host: "h", Facts: facts})
		if len(list) > 0 {
			t.Fatalf("%s: %v", f.Name, list)
		}
		strip(reflect.ValueOf(d))
		got = append(got, d)
	}
	native, json := encode(t, got[0]), encode(t, got[1])
	if string(native) != string(json) {
		t.Errorf("native:\n%s\nJSON:\n%s", native, json)
	}
	if len(got[0].List) != 7 {
		t.Errorf("%d declarations", len(got[0].List))
	}
}

// strip removes ranges and file names.
func strip(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			strip(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			strip(v.Index(i))
		}
	case reflect.Struct:
		if _, ok := v.Interface().(diag.Range); ok {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "File" {
				v.Field(i).SetZero()
				continue
			}
			strip(v.Field(i))
		}
	}
}

// An element of "parts" holds one part: of several in an object nobody knows
// the order.
func TestPartsOfJSON(t *testing.T) {
	const site = `{"state": {"a": {"parts": [
{"//": "a comment", "file": {"//": "another", "/a": {}}},
{"file": {"/b": {}, "/c": {}}},
{"file": {"/d": {}}, "directory": {"/e": {}}},
{},
{"file": {}},
{"file": [{"/f": {}}, {"/g": {}}]},
{"file": []}
]}}}`
	loaded, _ := lang.Load(fstest.MapFS{"a.hcl.json": {Data: []byte(site)}}, lang.Options{Registry: registry()})
	_, list := loaded.Evaluate(t.Context(), lang.Target{Host: "web1", Facts: facts})
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%d:%d: %s", d.Range.Start.Line, d.Range.Start.Column, d.Summary))
	}
	want := []string{
		"3:10: an element of parts has one label",
		"4:1: an element of parts is an object with one property",
		"5:1: an element of parts is an object with one property",
		"6:10: an element of parts has one label",
		"7:10: an element of parts is one part",
		"8:10: an element of parts is one part",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
