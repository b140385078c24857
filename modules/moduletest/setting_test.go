package moduletest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/setting"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func settingValues(format, key string, value any, more ...any) map[string]any {
	v := map[string]any{"path": "/etc/app." + format, "key": key, "value": value}
	for i := 0; i < len(more); i += 2 {
		v[more[i].(string)] = more[i+1]
	}
	return v
}

// change is a text before and after one value was set, or removed.
type change struct {
	name, format, before, key string
	value                     any // nil: it is removed
	after                     string
}

func number(s string) json.Number { return json.Number(s) }

func changes() []change {
	const (
		ini  = "; global\nname = app\n\n[server]\n# the port\n\tport=80 \n\thost: a\n\n[other]\nport = 1\n"
		js   = "{\n  // the port\n  \"port\": 80, // here\n  \"a\": {\"b\": [1, 2]},\n  \"last\": 0\n}\n"
		tml  = "# app\nname = \"app\" # its name\n\n[server]\n  port = 80 # here\n  list = [\n    1, # one\n    2,\n  ]\n\n[[item]]\nport = 1\n"
		yml  = "# app\nname: app # its name\nserver:\n    # the port\n    port: 80   # here\n    list:\n      - 1\n      - 2\n\n# other\nother: |\n  # text\n  more\n"
		prop = "# app\na.b=1\nlong = one \\\n   two\n\\u0061\\:c : d\n"
	)
	swap := func(name, format, text, key string, value any, from, to string) change {
		if strings.Count(text, from) != 1 {
			panic(name + ": " + from + " is not there once")
		}
		return change{name, format, text, key, value, strings.Replace(text, from, to, 1)}
	}
	return []change{
		swap("replace", "ini", ini, "server.port", number("8080"), "port=80 ", "port=8080 "),
		swap("replace without a section", "ini", ini, "name", "b", "name = app", "name = b"),
		swap("insert", "ini", ini, "server.user", "www", "host: a\n", "host: a\n\tuser = www\n"),
		swap("insert without a section", "ini", ini, "user", "www", "name = app\n", "name = app\nuser = www\n"),
		swap("insert a section", "ini", ini, "new.a", true, "port = 1\n", "port = 1\n\n[new]\na = true\n"),
		swap("remove", "ini", ini, "server.port", nil, "\tport=80 \n", ""),
		{"CR LF", "ini", "[a]\r\nb=1\r\n", "a.c", "2", "[a]\r\nb=1\r\nc = 2\r\n"},
		{"no last end", "ini", "[a]\nb=1", "a.b", "2", "[a]\nb=2"},
		{"a key without a value", "ini", "[a]\nflag\n", "a.flag", "1", "[a]\nflag = 1\n"},
		{"a quoted section", "ini", "[remote \"a.b\"]\n\turl = x\n", `"remote \"a.b\"".url`, "y", "[remote \"a.b\"]\n\turl = y\n"},

		{"replace several lines", "ini", "[a]\nb =\n    1\n    # c\n\n    d = 2\ne = 3\n", "a.b", "x", "[a]\nb =x\n    # c\ne = 3\n"},
		{"replace lines that a backslash joins", "ini", "[a]\nb = 1 \\\n    2\nc = 3\n", "a.b", "x", "[a]\nb = x\nc = 3\n"},
		{"replace by several lines", "ini", "[a]\r\n b = 1\r\n", "a.b", "x\ny", "[a]\r\n b = x\r\n     y\r\n"},
		{"insert behind several lines", "ini", "[a]\nb =\n    1\n    2\n\n[c]\n", "a.d", "x", "[a]\nb =\n    1\n    2\nd = x\n\n[c]\n"},
		{"remove several lines", "ini", "[a]\nb =\n    1\n\n    2\n\n[c]\n", "a.b", nil, "[a]\n\n[c]\n"},
		{"replace in a section with a colon", "ini", "[program:x] ; [y]\na = 1\n", "program:x.a", "2", "[program:x] ; [y]\na = 2\n"},
		{"replace a name with brackets", "ini", "Name=a\nName[de]=b\n", "Name[de]", "c", "Name=a\nName[de]=c\n"},
		{"replace a name with a colon", "ini", "[a]\nb = 1\nb:c = 2\n", "a.b:c", "3", "[a]\nb = 1\nb:c = 3\n"},
		{"replace behind a byte order mark", "ini", "\ufeff[a]\r\nb=1\r\n", "a.b", "2", "\ufeff[a]\r\nb=2\r\n"},

		swap("replace", "json", js, "port", number("8080"), "80,", "8080,"),
		swap("replace below", "json", js, "a.b", "x", "[1, 2]", `"x"`),
		{"replace null", "json", "{\"a\": null}", "a", false, "{\"a\": false}"},
		swap("insert", "json", js, "new.deep", []any{"<a>"}, ": 0\n", ": 0,\n  \"new\": {\n    \"deep\": [\n      \"<a>\"\n    ]\n  }\n"),
		swap("insert in a line", "json", js, "a.c", "x", "[1, 2]}", `[1, 2],"c": "x"}`),
		swap("remove the first", "json", js, "port", nil, "  \"port\": 80, // here\n", "   // here\n"),
		swap("remove the last", "json", js, "last", nil, ",\n  \"last\": 0\n", "\n"),
		swap("remove the only one", "json", js, "a.b", nil, `{"b": [1, 2]}`, "{}"),
		{"an empty object", "json", "{}", "a", number("1"), "{\n  \"a\": 1\n}"},
		{"a comma behind the last", "json", "{\n\t\"a\": 1,\n}\n", "b", number("2"), "{\n\t\"a\": 1,\n\t\"b\": 2,\n}\n"},

		swap("replace", "toml", tml, "server.port", number("8080"), "80", "8080"),
		swap("replace a text", "toml", tml, "name", "x\ny\x7f", `"app"`, `"x\ny\u007F"`),
		swap("replace a list", "toml", tml, "server.list", []any{"a", map[string]any{"b": true}}, "[\n    1, # one\n    2,\n  ]", `["a", { b = true }]`),
		swap("insert", "toml", tml, "server.a b", number("1.5"), "  ]\n", "  ]\n  \"a b\" = 1.5\n"),
		swap("insert at the top", "toml", tml, "new", true, "its name\n", "its name\nnew = true\n"),
		swap("insert a table", "toml", tml, "new.deep.a", "b", "port = 1\n", "port = 1\n\n[new.deep]\na = \"b\"\n"),
		swap("remove", "toml", tml, "server.port", nil, "  port = 80 # here\n", ""),
		{"a dotted key", "toml", "a.b = 1 # x\n", "a.b", number("2"), "a.b = 2 # x\n"},
		{"an empty file", "toml", "", "a.b", "c", "[a]\nb = \"c\"\n"},
		{"no last end", "toml", "a = 1", "b", "c", "a = 1\nb = \"c\"\n"},

		{"insert with CR LF", "json", "{\r\n  \"a\": 1\r\n}\r\n", "b.c", number("2"), "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}\r\n"},
		{"replace with CR LF", "json", "{\r\n  \"a\": 1\r\n}\r\n", "a", []any{"x"}, "{\r\n  \"a\": [\r\n    \"x\"\r\n  ]\r\n}\r\n"},
		{"insert into an empty object with CR LF", "json", "{}\r\n", "a", number("2"), "{\r\n  \"a\": 2\r\n}\r\n"},
		{"replace behind a byte order mark", "json", "\ufeff{\"a\": 1}\n", "a", number("2"), "\ufeff{\"a\": 2}\n"},
		{"insert behind a comment", "json", "{\n  \"a\": 1 // one\n  // end\n}\n", "b", number("2"), "{\n  \"a\": 1, // one\n  \"b\": 2\n  // end\n}\n"},
		{"insert behind a comma and a comment", "json", "{\n  \"a\": 1, /* one */ // 1\n}\n", "b", number("2"), "{\n  \"a\": 1, /* one */ // 1\n  \"b\": 2,\n}\n"},

		{"replace in an inline table", "toml", "a = { b = 1, c = { d = 2 } } # x\n", "a.c.d", number("3"), "a = { b = 1, c = { d = 3 } } # x\n"},
		{"insert into an inline table", "toml", "a = { b = 1, c = {} } # x\n", "a.c.d", number("3"), "a = { b = 1, c = { d = 3 } } # x\n"},
		{"insert below an inline table", "toml", "a = {b = 1}\n", "a.c.d", number("3"), "a = {b = 1, c.d = 3}\n"},
		{"remove the first of an inline table", "toml", "a = { b = 1, c = 2 }\n", "a.b", nil, "a = { c = 2 }\n"},
		{"remove the last of an inline table", "toml", "a = { b = 1, c = 2 }\n", "a.c", nil, "a = { b = 1 }\n"},
		{"remove the only one of an inline table", "toml", "a = { b = 1 }\n", "a.b", nil, "a = {}\n"},
		{"insert into a table that dots make", "toml", "[t]\n  a.b = 1 # x\nc = 2\n", "t.a.d", number("3"), "[t]\n  a.b = 1 # x\n  a.d = 3\nc = 2\n"},
		{"insert below a table that dots make", "toml", "a.b.c = 1\n", "a.b.d", number("3"), "a.b.c = 1\na.b.d = 3\n"},
		{"insert with CR LF and a mark", "toml", "\ufeff[a]\r\nb = 1\r\n", "a.c", number("2"), "\ufeff[a]\r\nb = 1\r\nc = 2\r\n"},

		swap("replace", "yaml", yml, "server.port", number("8080"), "80   # here", "8080   # here"),
		swap("replace a text", "yaml", yml, "name", "yes", "app # its", `"yes" # its`),
		swap("replace a list", "yaml", yml, "server.list", "x", "list:\n      - 1\n      - 2", "list: x"),
		swap("replace a text of lines", "yaml", yml, "other", "x", "other: |\n  # text\n  more\n", "other: x\n"),
		swap("insert", "yaml", yml, "server.user", "www", "- 2\n", "- 2\n    user: www\n"),
		swap("insert maps", "yaml", yml, "server.a.b", []any{number("1"), "1"}, "- 2\n", "- 2\n    a:\n      b:\n        - 1\n        - \"1\"\n"),
		swap("insert at the top", "yaml", yml, "new", true, "more\n", "more\nnew: true\n"),
		swap("remove", "yaml", yml, "server.port", nil, "    port: 80   # here\n", ""),
		{"remove the only one", "yaml", "a:\n  b: 1\nc: 2\n", "a.b", nil, "a: {}\nc: 2\n"},
		{"a key without a value", "yaml", "a:\nb: 1\n", "a.c", number("2"), "a:\n  c: 2\nb: 1\n"},
		{"a quoted key", "yaml", "'a: b': \"x # y\" # z\n", `"a: b"`, "q", "'a: b': q # z\n"},
		{"no last end", "yaml", "a: 1", "a", number("2"), "a: 2"},
		{"CR LF", "yaml", "a:\r\n  b: 1\r\n", "a.c", "x", "a:\r\n  b: 1\r\n  c: x\r\n"},
		{"an empty file", "yaml", "# nothing\n", "a.b", "c", "# nothing\na:\n  b: c\n"},

		swap("replace", "properties", prop, "a.b", "x y", "a.b=1", "a.b=x y"),
		swap("replace several lines", "properties", prop, "long", "ü\n", "one \\\n   two\n", "\\u00FC\\n\n"),
		swap("an escaped name", "properties", prop, "a:c", "e", ": d", ": e"),
		swap("insert", "properties", prop, "new key", " x", ": d\n", ": d\nnew\\ key = \\ x\n"),
		swap("remove", "properties", prop, "long", nil, "long = one \\\n   two\n", ""),
	}
}

func TestSetting(t *testing.T) {
	t.Parallel()
	var cases []statestest.Case
	for _, c := range changes() {
		file := "/etc/app." + c.format
		cs := statestest.Case{
			Name: c.format + ": " + c.name, Values: settingValues(c.format, c.key, c.value),
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, file, c.before, 0o640) },
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if is := fake.Text(h, file); is != c.after {
					t.Errorf("%s becomes\n%s, want\n%s", c.before, is, c.after)
				}
			},
			Changes: []string{"value"}, Action: states.Update,
		}
		switch {
		case c.value == nil:
			delete(cs.Values, "value")
			cs.Action, cs.Ensure = states.Remove, states.Absent
		case !strings.Contains(c.name, "replace") && len(c.after) > len(c.before) && strings.Contains(c.name, "insert") || strings.Contains(c.name, "empty") ||
			c.name == "a comma behind the last" || c.name == "CR LF" || c.name == "no last end" && c.format == "toml" || c.name == "a key without a value" && c.format == "yaml":
			cs.Action = states.Create
		}
		cases = append(cases, cs)
	}
	cases = append(cases,
		statestest.Case{Name: "create the file", Values: settingValues("toml", "a", "b", "create", true), Action: states.Create, Changes: []string{"value"}},
		statestest.Case{Name: "create a JSON file", Values: settingValues("json", "a.b", "b", "create", true), Action: states.Create, Changes: []string{"value"}},
		statestest.Case{Name: "nothing to do", Values: settingValues("ini", "a.b", 1, "separator", "="),
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/app.ini", "[a]\nb = 1\n", 0o644) }},
		statestest.Case{Name: "the same number", Values: settingValues("json", "a", 100),
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/app.json", `{"a": 1e2}`, 0o644) }},
		statestest.Case{Name: "absent already", Ensure: states.Absent, Values: map[string]any{"path": "/etc/app.ini", "key": "a"}},
	)
	statestest.Run(t, statestest.Suite{Module: setting.Module, Host: plainHost, Cases: cases})
}

func TestSettingHostile(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"ini", "json", "yaml", "toml", "properties"} {
		statestest.Run(t, statestest.Suite{Module: setting.Module, Host: plainHost, Hostile: settingValues(format, "a", "b", "create", true)})
	}
}

func TestSettingFails(t *testing.T) {
	t.Parallel()
	fails := func(format, text, key string, value any, message string) statestest.Case {
		return statestest.Case{Name: format + ": " + message, Values: settingValues(format, key, value), Fails: message,
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/app."+format, text, 0o644) }}
	}
	wrong := func(message string, v map[string]any) statestest.Case {
		return statestest.Case{Name: message, Values: v, Wrong: message}
	}
	statestest.Run(t, statestest.Suite{Module: setting.Module, Host: plainHost, Cases: []statestest.Case{
		fails("ini", "[a]\nb=1\nb=2\n", "a.b", "3", "the lines 2 and 3 both set a.b"),
		fails("ini", "[a]\nb=1\\\nc=2\n", "a.b", "3", "line 3 can be read as one of its own, or as going on with the value of line 2"),
		fails("ini", "[a]\nb=1\\\nc=2\n", "a.c", "3", "line 3 can be read"),
		fails("ini", "[a]\nb=1\n  c = 2\n", "a.b", "3", "line 3 can be read"),
		fails("ini", "[a]\nb=1\n  [c]\nd=2", "c.d", "3", "line 3 can be read"),
		fails("ini", "[a]\nb=1\\\n", "a.c", "3", "cannot come behind line 2"),
		fails("ini", "[a]\nb:c=1\n", "a.b", "3", `line 2 can be read as setting "b" or "b:c"`),
		fails("properties", "a=1\na=2\n", "a", "3", "the lines 1 and 2 both set a"),
		fails("json", `{"a": 1, "a": 2}`, "a", "3", `the key "a" is there twice`),
		fails("json", `{"a": 1`, "a", "3", "is no json file"),
		fails("json", `[1]`, "a", "3", "there is no object"),
		fails("json", `{"a": 1}`, "a.b", "3", "there is no object"),
		fails("yaml", "a: 1\na: 2\n", "a", "3", "already defined"),
		fails("yaml", "a: 1\n---\na: 2\n", "a", "3", "several documents"),
		fails("yaml", "a: &x 1\nb: *x\n", "a", "3", "anchor"),
		fails("yaml", "a: &x 1\nb: *x\n", "b", "3", "anchor or an alias"),
		fails("yaml", "a: {b: 1, c: 2}\n", "a.b", "3", "stands in { … }"),
		fails("yaml", "a: [1\n", "a", "3", "is no yaml file"),
		fails("toml", "a = 1\na = 2\n", "a", "3", "is no toml file"),
		fails("toml", "[[a]]\nb = 1\n", "a.b", "3", "there is no map"),
		fails("toml", "[a]\nb = 1\n", "a", "3", "without touching anything else"),
		{Name: "no file", Values: settingValues("ini", "a", "b"), Fails: "is not there", Hint: "create = true"},
		wrong("does not tell how it is written", settingValues("txt", "a", "b")),
		wrong("a section and a name", settingValues("ini", "a.b.c", "d")),
		wrong("an empty name", settingValues("ini", "a.", "d")),
		wrong("does not end", settingValues("json", `"a`, "d")),
		wrong("something behind a quote", settingValues("json", `"a"b`, "d")),
		wrong("begins and ends with no space", settingValues("ini", "a", "b\n c")),
		wrong("begin with # or ;", settingValues("ini", "a", "b\n#c")),
		wrong("does not end with", settingValues("ini", "a", "b\n")),
		wrong("cannot be a section and a name", settingValues("ini", "[a", "b")),
		wrong("cannot be a section and a name", settingValues("ini", "a=b", "c")),
		wrong("cannot be a section and a name", settingValues("ini", "a:b", "c", "separator", ": ")),
		wrong("a list or a map", settingValues("ini", "a", []any{"b"})),
		wrong("no text", settingValues("json", "a", "b\x00")),
		wrong("cannot contain", settingValues("ini", `"a\nb".c`, "d")),
	}})
}

// editSetting is what a property test needs of the module: one value set in a text; nil: it is
// removed.
func editSetting(t *rapid.T, format, text, key string, value any, how map[string]any) (string, error) {
	h := host.NewMemory()
	name := "/f." + format
	if err := h.WriteFile(t.Context(), name, host.Text(text), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	m := setting.Module
	values := map[string]any{"path": name, "key": key}
	if value != nil {
		values["value"] = value
	}
	maps.Copy(values, how)
	want, err := m.Decode(values, nil)
	if err == nil {
		err = m.Check(want)
	}
	if err == nil && value == nil {
		err = m.Remove(t.Context(), h, want)
	} else if err == nil {
		err = m.Write(t.Context(), h, nil, want)
	}
	if err != nil {
		return "", err
	}
	have, err := m.Read(t.Context(), h, want)
	if err != nil || (have == nil) != (value == nil) || value != nil && len(m.Diff(have, want)) > 0 {
		t.Fatalf("%s in %q: it reads as %v, %v: %q", key, text, have, err, fake.Text(h, name))
	}
	return fake.Text(h, name), nil
}

// Whatever lines stand around it: a value is set, and what is not on its line keeps
// every byte.
func TestSettingOtherLinesStay(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct{ line, comment string }{
		"ini": {"k%d = v%d", "; c"}, "toml": {"k%d = \"v%d\"", "# c"}, "yaml": {"k%d: \"v%d\"", "# c"}, "properties": {"k%d=v%d", "! c"},
	}
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]string{"ini", "toml", "yaml", "properties"}).Draw(t, "format")
		n := rapid.IntRange(1, 6).Draw(t, "lines")
		var before []string
		for i := range n {
			if rapid.Bool().Draw(t, "comment") {
				before = append(before, kinds[format].comment)
			}
			before = append(before, fmt.Sprintf(kinds[format].line, i, i))
		}
		k := rapid.IntRange(0, n).Draw(t, "which")
		value := rapid.StringMatching(`[ -~äß€😀]{0,12}`).Draw(t, "value")
		text := drawEnds(t, strings.Join(before, "\n")+rapid.SampledFrom([]string{"\n", ""}).Draw(t, "last"))
		if format == "properties" {
			text = strings.TrimPrefix(text, "\ufeff") // a part of the first name, for Java
		}
		after, err := editSetting(t, format, text, fmt.Sprintf("k%d", k), value, nil)
		if err != nil {
			if format != "ini" {
				t.Fatal(err)
			}
			return // such a value is none there
		}
		lost := 0
		if k < n || !strings.HasSuffix(text, "\n") {
			lost = 1 // the value's line, or the last one, which has got an end
		}
		if linesLost(text, after) > lost {
			t.Fatalf("%q became %q", text, after)
		}
	})
}

// No text makes the module lose anything: what it writes, it reads again.
func FuzzSettingSet(f *testing.F) {
	for _, c := range changes() {
		f.Add(c.format, c.before, c.key, "x")
	}
	shapes, err := filepath.Glob("testdata/shapes/*")
	if err != nil || len(shapes) == 0 {
		f.Fatal(shapes, err)
	}
	for _, name := range shapes {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, key := range []string{"new", "alias.graph", `"program:web".environment`, `"Desktop Entry"."Name[de]"`, "Service.ExecStart", "dependencies.two.version", "dependencies.three.new", "editor.tabSize"} {
			f.Add(strings.TrimPrefix(filepath.Ext(name), "."), string(text), key, "x\ny")
		}
	}
	f.Fuzz(func(t *testing.T, format, text, key, value string) {
		m, h := setting.Module, host.NewMemory()
		if len(text) > 4096 || h.WriteFile(t.Context(), "/f", host.Text(text), host.Meta{}) != nil {
			return
		}
		want, err := m.Decode(map[string]any{"path": "/f", "key": key, "value": value, "format": format}, nil)
		if err != nil || m.Check(want) != nil {
			return
		}
		if m.Write(t.Context(), h, nil, want) != nil {
			if is := fake.Text(h, "/f"); is != text {
				t.Fatalf("a failure changed %q to %q", text, is)
			}
			return
		}
		have, err := m.Read(t.Context(), h, want)
		if err != nil || have == nil || len(m.Diff(have, want)) > 0 {
			t.Fatalf("%q reads as %v, %v", fake.Text(h, "/f"), have, err)
		}
		if text != "" && strings.HasPrefix(text, "\ufeff") != strings.HasPrefix(fake.Text(h, "/f"), "\ufeff") {
			t.Fatalf("the mark of %q is another one in %q", text, fake.Text(h, "/f"))
		}
		if err := m.Remove(t.Context(), h, have); err != nil {
			return
		}
		if have, err := m.Read(t.Context(), h, want); err != nil || have != nil {
			t.Fatalf("removed, it is still there: %v, %v", have, err)
		}
	})
}
