package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
)

func plainOf(t *testing.T, name, text string) any {
	t.Helper()
	n, list := document.Read(name, []byte(text))
	if list.HasErrors() {
		t.Fatalf("%s: %v", name, list)
	}
	return n.Plain()
}

// The same document in three formats is the same.
func TestFormats(t *testing.T) {
	texts := map[string]string{
		"a.json": `{"switches": [{"name": "core1", "vlans": [{"id": 10, "name": "users"}, {"id": 20}], "up": true, "gain": 0.5, "note": null}], "x/y": "yes"}`,
		"a.yml": `# the network
switches:
  - name: core1
    vlans: &vlans
      - {id: 10, name: users}
      - id: 0x14
    up: true
    gain: +.5
    note: ~
x/y: yes
`,
	}
	want := plainOf(t, "a.json", texts["a.json"])
	if got := plainOf(t, "a.yml", texts["a.yml"]); !reflect.DeepEqual(got, want) {
		t.Errorf("YAML gives\n%v, not\n%v", got, want)
	}
	toml := plainOf(t, "a.toml", `"x/y" = "yes" # a text
[[switches]]
name = "core1"
up = true
gain = 0.5
[[switches.vlans]]
id = 1_0
name = 'users'
[[switches.vlans]]
id = 0b10100
`)
	delete(want.(map[string]any)["switches"].([]any)[0].(map[string]any), "note") // TOML has no null
	if !reflect.DeepEqual(toml, want) {
		t.Errorf("TOML gives\n%v, not\n%v", toml, want)
	}
}

// Plain scalars of YAML are those of version 1.2.
func TestScalars(t *testing.T) {
	for text, want := range map[string]any{
		"yes": "yes", "off": "off", "true": true, "FALSE": false, "~": nil, "null": nil, "": nil,
		"0777": json.Number("777"), "0o17": json.Number("15"), "0xfF": json.Number("255"), "-0": json.Number("0"), "+12": json.Number("12"),
		"1_000": "1_000", "12:30": "12:30", "2026-11-24": "2026-11-24", "1.": json.Number("1"), ".5": json.Number("0.5"), "-01.50e+3": json.Number("-1.50e3"),
		"0b1": "0b1", `"10"`: "10", "'~'": "~", "!!str 10": "10", "!!int 10": json.Number("10"), "|\n  a\n  b\n": "a\nb\n",
	} {
		if got := plainOf(t, "a.yaml", "v: "+text).(map[string]any)["v"]; got != want {
			t.Errorf("%q gives %#v, not %#v", text, got, want)
		}
	}
	got := plainOf(t, "a.yaml", "base: &b {a: 1, b: 2}\nown: {<<: *b, b: 3}\nlist: {<<: [{c: 4}, *b]}\n10: x\n")
	want := map[string]any{"base": map[string]any{"a": json.Number("1"), "b": json.Number("2")}, "own": map[string]any{"a": json.Number("1"), "b": json.Number("3")},
		"list": map[string]any{"a": json.Number("1"), "b": json.Number("2"), "c": json.Number("4")}, "10": "x"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("aliases give %v", got)
	}
}

func TestPlaces(t *testing.T) {
	for name, text := range map[string]string{
		"a.json": "{\n  \"ä\": {\"b\": [1, \"zwei\"]}}",
		"a.yml":  "\nä:   {b: [1, \"zwei\"]}",
		"a.toml": "\n'ä' = {b = [1, \"zwei\"]}",
	} {
		n, list := document.Read(name, []byte(text))
		if list.HasErrors() {
			t.Fatal(list)
		}
		item := n.At([]string{"ä", "b", "1"})
		if got := text[item.Range.Start.Byte:item.Range.End.Byte]; got != `"zwei"` || item.Range.Start.Line != 2 || item.Range.File != name {
			t.Errorf("%s: the item is at %v: %q", name, item.Range, got)
		}
		field := n.Field("ä")
		if got := strings.Trim(text[field.Range.Start.Byte:field.Range.End.Byte], `"'`); got != "ä" {
			t.Errorf("%s: the field is at %v: %q", name, field.Range, got)
		}
		if column := map[string]int{"a.json": 18, "a.yml": 14, "a.toml": 16}[name]; item.Range.Start.Column != column {
			t.Errorf("%s: the item is in column %d, not %d", name, item.Range.Start.Column, column)
		}
	}
}

func TestMistakes(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	laughs := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'j'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	for _, one := range []struct{ name, text, at, want string }{
		{"a.txt", "", "a.txt", "ends in .json"},
		{"a.yml", "a: 1\n---\nb: 2", "a.yml:2:1", "more than one document"},
		{"a.yml", "a: 1\nb: 2\na: 3", "a.yml:3:1", `"a" is there twice, first in line 1`},
		{"a.yml", "a: [1", "a.yml:1:1", "this is no YAML"},
		{"a.yml", "a: !vault x", "a.yml:1:4", "values of the kind !vault"},
		{"a.yml", "a: !!set {b}", "a.yml:1:4", "values of the kind"},
		{"a.yml", "a: !!int b", "a.yml:1:4", `"b" is no !!int`},
		{"a.yml", "a: -.inf", "a.yml:1:4", "infinite"},
		{"a.yml", "[1]: b", "a.yml:1:1", "the name of a field is a text"},
		{"a.yml", "~: b", "a.yml:1:1", "no name"},
		{"a.yml", "<<: b", "a.yml:1:5", "takes in the fields of maps"},
		{"a.yml", "a: " + deep, "", "deeper than 100"},
		{"a.yml", "a: 1e999999999", "a.yml:1:4", "out of range"},
		{"a.yml", "a: " + strings.Repeat("9", 500), "a.yml:1:4", "more than 400 digits"},
		{"a.yml", laughs, "", "aliases stand for more than"},
		{"a.yml", "a: &a [*a]", "", ""},
		{"a.json", `{"a": 1, "b": 2, "a": 3}`, "a.json:1:18", `"a" is there twice`},
		{"a.json", "{\"a\": 1,}", "a.json:1:9", "this is no JSON"},
		{"a.json", "{\"a\": ", "a.json:1:7", "too early"},
		{"a.json", "{} {}", "", "behind the document"},
		{"a.json", deep, "", "deeper than 100"},
		{"a.json", "{\"a\": \"\xff\"}", "a.json:1:8", "not in UTF-8"},
		{"a.toml", "a = 1\na = 2", "a.toml:2:1", "this is no TOML"},
		{"a.toml", "a = nan", "a.toml:1:5", "infinite"},
		{"a.toml", "a = " + deep, "", "deeper than 100"},
	} {
		_, list := document.Read(one.name, []byte(one.text))
		if len(list) != 1 || !list.HasErrors() {
			t.Errorf("%s %.40q: %v", one.name, one.text, list)
			continue
		}
		if got := list[0].Range.String(); one.at != "" && got != one.at {
			t.Errorf("%s %.40q: it is wrong at %s, not %s", one.name, one.text, got, one.at)
		}
		if !strings.Contains(list[0].Summary, one.want) {
			t.Errorf("%s %.40q: %q lacks %q", one.name, one.text, list[0].Summary, one.want)
		}
	}
	if _, list := document.Read("a.json", bytes.Repeat([]byte(" "), document.MaxSize+1)); !list.HasErrors() {
		t.Error("a document of any size is read")
	}
	for _, name := range []string{"a.yml", "a.json"} {
		if got := plainOf(t, name, " \n"); got != nil {
			t.Errorf("an empty %s is %v", name, got)
		}
	}
}

// values are random values that all formats have.
func values() *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Map(rapid.StringN(0, 8, -1), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{"yes", "0777", "1e3", "~", "<<", "a: b", "- x", "#", "null", "[", "2026-01-01"}), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return json.Number(fmt.Sprint(n)) }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
	)
	return rapid.Custom(func(t *rapid.T) any { return value(t, leaf, 3) })
}

func value(t *rapid.T, leaf *rapid.Generator[any], depth int) any {
	switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
	case depth == 0 || kind == 0:
		return leaf.Draw(t, "leaf")
	case kind == 1:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range list {
			list[i] = value(t, leaf, depth-1)
		}
		return list
	}
	out := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		out[rapid.StringN(0, 5, -1).Draw(t, "name")] = value(t, leaf, depth-1)
	}
	return out
}

// What is written as JSON is read as it was, as JSON and as YAML, of which JSON is a part.
func TestReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]any{"v": values().Draw(t, "value")}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"a.json"}
		if !strings.ContainsAny(string(text), "\x7f\u0080\u0085\u2028\u2029\ufeff") && isPrintable(string(text)) {
			names = append(names, "a.yaml") // what JSON leaves as it is, and YAML does not have
		}
		for _, name := range names {
			n, list := document.Read(name, text)
			if list.HasErrors() {
				t.Fatalf("%s of %s: %v", name, text, list)
			}
			if got := n.Plain(); !reflect.DeepEqual(got, any(want)) {
				t.Fatalf("%s of %s gives %v", name, text, got)
			}
		}
	})
}

// isPrintable tells whether YAML has all characters of a text (chapter 5.1).
func isPrintable(s string) bool {
	for _, r := range s {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r > 0xd7ff && r < 0xe000 || r == 0xfffe || r == 0xffff || r == 0xfffd {
			return false
		}
	}
	return true
}

// TOML is read as another library reads it.
func FuzzTOML(f *testing.F) {
	f.Add("a.b = 1\n[a.c]\nd = [1, {e = 'f'}]\n[[g]]\n[g.h]\ni = 1.5\n[[g]]\nj = 2026-01-01\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, list := document.Read("a.toml", []byte(text))
		if list.HasErrors() {
			return
		}
		var other map[string]any
		if _, err := toml.Decode(text, &other); err != nil {
			return
		}
		if got, want := shape(n.Plain()), shape(other); got != want {
			t.Errorf("%q gives\n%s, not\n%s", text, got, want)
		}
	})
}

// shape is what both libraries have of a value: dates are what they are written as in one of them.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := map[string]string{}
		for name, e := range v {
			parts[name] = shape(e)
		}
		return fmt.Sprint(parts)
	case []map[string]any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = e
		}
		return shape(list)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = shape(e)
		}
		return fmt.Sprint(parts)
	case int64, float64, json.Number:
		n, _, err := big.ParseFloat(fmt.Sprint(v), 10, 53, big.ToNearestEven)
		if err != nil {
			return "number"
		}
		number, _ := n.Float64()
		return fmt.Sprint(number)
	case bool:
		return fmt.Sprint(v)
	}
	return "text"
}

// Whatever is read, nothing breaks, and each place is within the text.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"a: [1, {b: c}]\n", `{"a": [1, null, "x"]}`, "a = 1\n[b]\nc = [{d = 2}]\n", "a: &a {<<: *a}", "? a\n: b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"a.yml", "a.json", "a.toml"} {
			n, list := document.Read(name, []byte(text))
			if n == nil == !list.HasErrors() {
				t.Fatalf("%s: there is neither a value nor an error, or both", name)
			}
			for _, d := range list {
				checkPlace(t, text, d.Range.Start.Byte, d.Range.End.Byte)
			}
			if n != nil {
				walk(t, text, n)
			}
		}
	})
}

func walk(t *testing.T, text string, n *document.Node) {
	checkPlace(t, text, n.Range.Start.Byte, n.Range.End.Byte)
	for _, e := range n.Items {
		walk(t, text, e)
	}
	for _, f := range n.Fields {
		checkPlace(t, text, f.Range.Start.Byte, f.Range.End.Byte)
		walk(t, text, f.Value)
	}
}

func checkPlace(t *testing.T, text string, from, to int) {
	if from < 0 || from > to || to > len(text) {
		t.Fatalf("%q: a place is %d to %d", text, from, to)
	}
}

// What plain data gives is the document that JSON has of it, at one place.
func TestNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := values().Draw(t, "value")
		at := diag.Range{File: "x", Start: diag.Pos{Line: 1, Column: 2, Byte: 1}}
		n := document.New(want, at)
		if got := n.Plain(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v gives %v", want, got)
		}
		if n.Range != at {
			t.Fatalf("it is at %v", n.Range)
		}
	})
}
