package lang_test

import (
	"context"
	"reflect"
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
		d, list := site.For(context.Background(), lang.Target{Host: "h", Facts: facts})
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
