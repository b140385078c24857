package lang_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
)

func fileMap(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return out
}

// contentForTarget evaluates a site, and gives the content of its file /x.
func contentForTarget(t *testing.T, site *lang.Site, target lang.Target) string {
	t.Helper()
	declared, list := site.Evaluate(t.Context(), target)
	if list.HasErrors() {
		t.Fatal(list)
	}
	for _, d := range declared.List {
		if d.Address == `file["/x"]` {
			text, _ := d.Parts[0].Values["content"].(string)
			return text
		}
	}
	t.Fatal("the site has no file /x")
	return ""
}

// wrongWith gives what is wrong with a site for a target.
func wrongWith(t *testing.T, files map[string]string, target lang.Target) diag.List {
	t.Helper()
	site, _ := lang.Load(fileMap(files), lang.Options{Registry: registry()})
	target.Host, target.Facts = "web1", facts
	_, list := site.Evaluate(t.Context(), target)
	return list
}

func replace(name, file, text string) lang.Target {
	return lang.Target{Host: "web1", Facts: facts, Data: []lang.DataFile{{Name: name, File: file, Data: []byte(text)}}}
}

// A document from outside stands in the place of the site's own, and has to fit the same schema.
func TestDataReplaced(t *testing.T) {
	files := map[string]string{
		"site.hcl": `
variable "dir" { default = "net" }
data "network" {
  file   = "${var.dir}/network.yml"
  schema = "net/schema.json"
}
data "itself" { file = "net/itself.yml" }
data "value" { value = "own" }
component "c" { source = "./c" }
role "none" {
  data "of_role" { file = "net/network.yml" }
}
file "/x" { content = "${data.network.a} ${data.itself.a} ${jsonencode(data.value)} ${component.c.a}" }
`,
		"net/network.yml": "a: 1", "net/itself.yml": "a: 2", "net/schema.json": `{"properties": {"a": {"type": "integer"}}, "additionalProperties": false}`,
		"c/main.hcl": `
data "network" { value = "of the component" }
output "a" { value = data.network }
`}
	site, list := lang.Load(fileMap(files), lang.Options{Registry: registry()})
	if list.HasErrors() {
		t.Fatal(list)
	}
	for _, one := range []struct {
		target lang.Target
		want   string
	}{
		{lang.Target{Host: "web1", Facts: facts}, `1 2 "own" of the component`},
		{replace("network", "/tmp/new.json", `{"a": 3}`), `3 2 "own" of the component`},
		{replace("itself", "new.yml", "$schema: schema.json\na: 4"), `1 4 "own" of the component`},
		{replace("value", "new.toml", "b = [5]"), `1 2 {"b":[5]} of the component`},
		{replace("of_role", "new.yml", "a: 6"), `1 2 "own" of the component`},
	} {
		if got := contentForTarget(t, site, one.target); got != one.want {
			t.Errorf("%+v gives %q, not %q", one.target.Data, got, one.want)
		}
	}
	two := replace("network", "first.yml", "a: 7")
	two.Data = append(two.Data, lang.DataFile{Name: "network", File: "second.yml", Data: []byte("a: 8")})
	if got := contentForTarget(t, site, two); !strings.HasPrefix(got, "8 ") {
		t.Errorf("of two documents for one name the later one does not count: %s", got)
	}
	for _, one := range []struct{ name, file, text, want string }{
		{"network", "new.yml", "a: x", "new.yml:1:4: a: got string, want integer"},
		{"network", "new.yml", "$schema: other.json\nb: x", `new.yml:2:1: there is no field "b" here`},
		{"itself", "new.yml", "$schema: schema.json\nb: x", `new.yml:2:1: there is no field "b" here`},
		{"network", "new.yml", "a: 1\na: 2", `new.yml:2:1: "a" is there twice`},
		{"network", "new", "a: 1", "new: a document's name ends in"},
		{"netwrok", "new.yml", "a: 1", `--data: data.netwrok is not declared (the site declares "itself", "network", "of_role", "value")`},
	} {
		list := wrongWith(t, files, replace(one.name, one.file, one.text))
		if len(list) != 1 || !strings.Contains(list[0].Error(), one.want) {
			t.Errorf("%s=%s: %v lacks %q", one.name, one.file, list, one.want)
		}
	}
}

// What a document is like that comes by a sensitive path, or a value that is sensitive, is not told.
func TestSensitiveData(t *testing.T) {
	files := map[string]string{
		"site.hcl": `
variable "path" {
  sensitive = true
  default   = "network.yml"
}
data "network" {
  file   = var.path
  schema = "schema.json"
}
data "value" {
  value  = { pin = sensitive("0815") }
  schema = "schema.json"
}
data "broken" { file = sensitive("broken.yml") }
data "open" {
  value  = { pin = secret("pin"), name = "x" }
  schema = "schema.json"
}
`,
		"network.yml": "pin: hunter2\n", "broken.yml": "hunter2: [\nhunter2", "schema.json": `{"properties": {"pin": {"enum": [1, 2]}}}`}
	list := wrongWith(t, files, lang.Target{SecretsHidden: true, Secrets: secrets("pin=1234")})
	if len(list) != 3 {
		t.Fatalf("%d mistakes: %v", len(list), list)
	}
	for _, d := range list {
		if text := d.Error(); !d.Private || strings.Contains(text, "hunter2") || strings.Contains(text, "0815") || d.Range.Start.Line == 0 {
			t.Errorf("it is told, or has no place: %s", text)
		}
	}
	files["network.yml"], files["broken.yml"] = "pin: 1\n", ""
	files["schema.json"] = `{"properties": {"pin": {"type": ["string", "number"]}}}`
	files["site.hcl"] += `file "/x" { content = "${data.network.pin} ${data.value.pin}" }`
	site, _ := lang.Load(fileMap(files), lang.Options{Registry: registry()})
	declared, list := site.Evaluate(t.Context(), lang.Target{Host: "web1", Facts: facts, Secrets: secrets("pin=1234")})
	if list.HasErrors() || len(declared.List[0].Parts[0].Sensitive) == 0 {
		t.Errorf("what comes of sensitive data is not sensitive: %v", list)
	}
}

// A document that all hosts have is read by each, and what is kept of it is no older than the files.
func TestDataChanges(t *testing.T) {
	files := fileMap(map[string]string{
		"site.hcl": `
data "network" {
  file   = "network.yml"
  schema = "schema.json"
}
file "/x" { content = data.network.a }
`,
		"network.yml": "a: one", "schema.json": `{"$ref": "part.json"}`, "part.json": "{}"})
	site, _ := lang.Load(files, lang.Options{Registry: registry()})
	target := lang.Target{Host: "web1", Facts: facts}
	for _, want := range []string{"one", "two", "two", "one"} {
		files["network.yml"] = &fstest.MapFile{Data: []byte("a: " + want), Mode: 0o644}
		if got := contentForTarget(t, site, target); got != want {
			t.Errorf("the document gives %q, not %q", got, want)
		}
	}
	files["part.json"] = &fstest.MapFile{Data: []byte(`{"required": ["b"]}`), Mode: 0o644}
	if _, list := site.Evaluate(t.Context(), target); len(list) != 1 || !strings.Contains(list[0].Error(), "missing property 'b'") {
		t.Errorf("a schema that has changed does not count: %v", list)
	}
}

// A document larger than any is not read.
func TestLargeData(t *testing.T) {
	list := wrongWith(t, map[string]string{"site.hcl": "data \"x\" { file = \"x.json\" }\n", "x.json": strings.Repeat(" ", document.MaxSize+1)}, lang.Target{})
	if want := fmt.Sprintf(`site.hcl:1:19: "x.json" has more than %d bytes`, document.MaxSize); len(list) != 1 || !strings.HasPrefix(list[0].Error(), want) {
		t.Errorf("%v, not %q", list, want)
	}
}

// Data of a role is that of its hosts, and read for no other.
func TestDataOfRoles(t *testing.T) {
	files := map[string]string{"site.hcl": `
host "web1" { roles = ["a"] }
host "web2" { roles = ["b"] }
role "a" {
  data "own" { file = "a.yml" }
  file "/x" { content = data.own.text }
}
role "b" {
  data "own" { file = "missing.yml" }
}
`, "a.yml": "text: of a"}
	site, _ := lang.Load(fileMap(files), lang.Options{Registry: registry()})
	if got := contentForTarget(t, site, lang.Target{Host: "web1", Facts: facts}); got != "of a" {
		t.Error(got)
	}
	_, list := site.Evaluate(t.Context(), lang.Target{Host: "web2", Facts: facts})
	if text, err := json.Marshal(list); err != nil || len(list) != 1 || !strings.Contains(string(text), "missing.yml") {
		t.Errorf("%s %v", text, err)
	}
}
