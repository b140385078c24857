package lang_test

import (
	"context"
	"io/fs"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
)

// one demands exactly one diagnostic with this text, and a hint.
func one(t *testing.T, l diag.List, want string) {
	t.Helper()
	if len(l) != 1 || !strings.Contains(l[0].Error(), want) || l[0].Hint == "" {
		t.Errorf("got %q, want one with %q and a hint", l, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := map[string]struct{ name, source, want string }{
		"bytes":          {"a.hcl", "x = 1\ny = \"é\xff\"\n", "a.hcl:2:7: the file is not UTF-8 text"},
		"bytes in JSON":  {"a.hcl.json", "{\n\"\xff\": 1}", "a.hcl.json:2:2: the file is not UTF-8 text"},
		"UTF-16":         {"a.hcl", "\xff\xfef\x00i\x00", "a.hcl:1:1: the file is not UTF-8 text: It looks like UTF-16"},
		"syntax":         {"a.hcl", "file \"/a\" {\n  content =\n}\n", "a.hcl:2:12: Invalid expression"},
		"quote":          {"a.hcl", "file '/a' {\n}\n", "a.hcl:1:6: text stands in double quotes"},
		"nested line":    {"a.hcl", "role \"r\" { variable \"v\" { default = 1 } }\n", "a.hcl:1:12: a block in one line has one attribute, and no block such as variable in it"},
		"one line":       {"a.hcl", "file \"/a\" { mode = \"1\", owner = \"x\" }\n", "a.hcl:1:23: a block in one line has one attribute"},
		"label":          {"a.hcl", "file \"/a/${x}\" {\n}\n", "a.hcl:1:10: a label is literal text"},
		"interpolation":  {"a.hcl", "file \"/a\" {\n  content = \"$${a} ${b}\"\n}\n", "$${ stands for a literal ${"},
		"brace":          {"a.hcl", "file \"/a\" {\n", "this block has no closing brace"},
		"JSON":           {"a.hcl.json", "{\"file\": {\"/a\": {\"mode\": 1,}}}", "a.hcl.json:1:27: there is a comma behind the last element"},
		"JSON list":      {"a.hcl.json", "[]", "a.hcl.json:1:1: a site is an object"},
		"JSON twice":     {"a.hcl.json", "{\"file\": {\"/a\": {\"mode\": \"0644\",\n\"mode\": \"0600\"}}}", "a.hcl.json:2:1: the property \"mode\" is given twice"},
		"JSON value":     {"a.hcl.json", "{\"locals\": {\"a\": {\"b\": 1, \"b\": 2}}}", "a.hcl.json:1:27: the property \"b\" is given twice"},
		"JSON label":     {"a.hcl.json", "{\"file\": \"/a\"}", "a.hcl.json:1:10: file needs a label"},
		"JSON parts":     {"a.hcl.json", "{\"parts\": [{}]}", "a.hcl.json:1:12: an element of parts is an object with one property"},
		"JSON no parts":  {"a.hcl.json", "{\"parts\": 1}", "a.hcl.json:1:11: parts is an array"},
		"JSON reference": {"a.hcl.json", "{\"file\": {\"/a\": {\"require\": [\"state.\"]}}}", "a.hcl.json:1:"},
		"JSON template":  {"a.hcl.json", "{\"file\": {\"/a\": {\"content\": \"${\"}}}", "a.hcl.json:1:"},
		"nesting":        {"a.hcl", "locals {\n  a = " + strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300) + "\n}\n", "a.hcl:2:257: the source nests deeper than 250 levels"},
		"nesting JSON":   {"a.hcl.json", "{\"locals\": {\"a\": " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}}", "the source nests deeper than 250 levels"},
		"nesting text":   {"a.hcl.json", "{\"locals\": {\"a\": \"${" + strings.Repeat("!", 300) + "true}\"}}", "a.hcl.json:1:18: the source nests deeper than 250 levels"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			site, list := lang.Load(fstest.MapFS{tt.name: {Data: []byte(tt.source)}}, lang.Options{Registry: registry()})
			one(t, list, tt.want)
			if d, list := site.Evaluate(context.Background(), lang.Target{}); !list.HasErrors() {
				t.Errorf("For gives %v, %v", d, list)
			}
		})
	}
}

func TestLoadOrder(t *testing.T) {
	site, list := lang.Load(fstest.MapFS{
		"a.hcl.json": {Data: []byte(`{"state": {"b": {}, "a": {"parts": [{"fiel": {"x": {}}}, {"file": {"/a": {}}}]}}}`)},
	}, lang.Options{Registry: registry()})
	one(t, list, `a.hcl.json:1:38: there is no type of part or declaration "fiel" (did you mean "file"?)`)
	if site.Name() != "" {
		t.Errorf("the name is %q", site.Name())
	}
}

func TestLoadUnordered(t *testing.T) {
	_, list := lang.Load(fstest.MapFS{
		"a.hcl.json": {Data: []byte(`{"state": {"a": {"file": {"/a": {}, "/b": {}}}}}`)},
	}, lang.Options{Registry: registry()})
	one(t, list, `a.hcl.json:1:12: the parts of state.a have no order`)
}

func TestLoadFiles(t *testing.T) {
	files := fstest.MapFS{
		"a.hcl":       {Data: []byte("file \"/a\" {}\n")},
		"b.hcl":       {Data: []byte("file \"/b\" {}\n")},
		"vars.hcl":    {Data: []byte("undeclared = 1\n")},
		".hidden.hcl": {Data: []byte("{{{")},
		"sub/c.hcl":   {Data: []byte("{{{")},
		"notes.txt":   {Data: []byte("{{{")},
		"out.hcl":     {Data: []byte("../x.hcl"), Mode: fs.ModeSymlink | 0o777},
	}
	options := lang.Options{Registry: registry(), Files: []string{"b.hcl"}}
	site, list := lang.Load(files, options)
	d, more := site.Evaluate(context.Background(), lang.Target{Host: "h"})
	if len(list)+len(more) > 0 || len(d.List) != 1 || d.List[0].Address != `file["/b"]` {
		t.Errorf("got %v, %v, %v", d, list, more)
	}
	if src, ok := site.Source("b.hcl"); !ok || string(src) != "file \"/b\" {}\n" {
		t.Errorf("the source is %q", src)
	}
	options.Files = []string{"d.hcl"}
	_, list = lang.Load(files, options)
	one(t, list, `there is no file "d.hcl" in the site`)
	options.Files = []string{"notes.txt"}
	_, list = lang.Load(files, options)
	one(t, list, `"notes.txt" is no source of a site`)
	options.Files = nil
	_, list = lang.Load(files, options)
	one(t, list, `"out.hcl" leads out of the site: out.hcl is a symbolic link to ../x.hcl`)
	_, list = lang.Load(fstest.MapFS{"x.txt": {}}, options)
	one(t, list, "there is nothing to read")
}

func TestVariables(t *testing.T) {
	site, list := lang.Load(fstest.MapFS{
		"site.hcl": {Data: []byte("variable \"a\" {\n  type = number\n  description = \"an a\"\n  default = 1\n}\n" +
			"variable \"s\" {\n  sensitive = true\n  default = \"x\"\n}\n" +
			"variable \"m\" {\n  merge = true\n  default = { a = 1 }\n}\nvariable \"none\" {\n}\n")},
		"vars.hcl": {Data: []byte("a = 2\n")},
	}, lang.Options{Registry: registry()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	got, list := site.Variables(context.Background(), lang.Target{
		Vars: []lang.Var{{Name: "a", Value: "3"}}, Environment: map[string]string{"s": "y"},
		VarFiles: []lang.VarFile{{Name: "f.hcl", Data: []byte("m = { b = 2 }\n")}}})
	one(t, list, `site.hcl:14:1: the variable "none" has no value`)
	want := `[
  {
    "description": "an a",
    "from": {
      "level": "var",
      "range": "--var a:0:0",
      "value": "3"
    },
    "name": "a",
    "overrode": [
      {
        "level": "site",
        "range": "vars.hcl:1:5",
        "value": 2
      },
      {
        "level": "default",
        "range": "site.hcl:4:13",
        "value": 1
      }
    ],
    "type": "number",
    "value": 3
  },
  {
    "from": {
      "level": "var-file",
      "range": "f.hcl:1:5",
      "value": {
        "b": 2
      }
    },
    "merged": true,
    "name": "m",
    "overrode": [
      {
        "level": "default",
        "range": "site.hcl:12:13",
        "value": {
          "a": 1
        }
      }
    ],
    "type": "any",
    "value": {
      "a": 1,
      "b": 2
    }
  },
  {
    "from": {
      "level": "environment",
      "range": "TENET_VAR_s:0:0"
    },
    "name": "s",
    "overrode": [
      {
        "level": "default",
        "range": "site.hcl:8:13"
      }
    ],
    "sensitive": true,
    "type": "any"
  }
]
`
	if data := encode(t, got); string(data) != want {
		t.Errorf("got\n%s", data)
	}
}

func TestVarsRefused(t *testing.T) {
	site, _ := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte("variable \"list\" {\n  type = list(string)\n  default = []\n}\n" +
		"variable \"secret\" {\n  type = list(string)\n  sensitive = true\n  default = []\n}\n")}}, lang.Options{Registry: registry()})
	for value, want := range map[string]string{
		"secret=[hunter2]":  `--var secret: the value of the sensitive variable "secret" is no expression`,
		"lst=x":             `--var: var.lst is not declared (did you mean var.list?)`,
		"list=[":            `--var list: the value of variable "list" is no expression`,
		"list={}":           `--var list: the value of variable "list" does not fit its type`,
		"list=[var.list]":   `--var list:1:2: --var list cannot refer to var`,
		"list=[file.x.y.z]": `--var list:1:2: --var list cannot refer to file`,
	} {
		name, text, _ := strings.Cut(value, "=")
		_, list := site.Evaluate(context.Background(), lang.Target{Vars: []lang.Var{{Name: name, Value: text}}})
		one(t, list, want)
	}
}

// TestParallel evaluates one site in several goroutines; the race detector
// watches.
func TestParallel(t *testing.T) {
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(manyBlocks(20))}}, lang.Options{Registry: registry()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	want, _ := site.Evaluate(context.Background(), lang.Target{Host: "h"})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			got, _ := site.Evaluate(context.Background(), lang.Target{Host: "h"})
			if !reflect.DeepEqual(got, want) {
				t.Error("the declarations differ")
			}
		})
	}
	group.Wait()
}

func TestWithoutFacts(t *testing.T) {
	site, _ := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte("file \"/a\" {\n  content = fact.os.id\n}\nfile \"~/b\" {}\n")}},
		lang.Options{Registry: registry()})
	_, list := site.Evaluate(context.Background(), lang.Target{})
	if len(list) != 2 {
		t.Fatal(list)
	}
	one(t, list[:1], "site.hcl:2:13: fact.os: facts are not known here")
	one(t, list[1:], "site.hcl:4:1: path: ~ stands for the fact home")
}
