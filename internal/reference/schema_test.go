package reference_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// compiled compiles a schema as an editor would, from its text.
func compiled(t *testing.T, s reference.Schema) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://example.test/schema.json", doc); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("https://example.test/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func fits(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Validate(v)
}

// right are sites in JSON.
var right = []string{
	`{"//": "a comment", "file": {"/etc/motd": {"content": "hello", "mode": "0644"}}}`,
	`{"variable": {"domain": {"type": "string", "default": "x", "validation": {"condition": "${var.domain != \"\"}", "error_message": "no"}}}}`,
	`{"variable": [{"a": {"default": 1}}, {"b": {"default": [1, 2]}}], "locals": {"x": {"y": "${var.a}"}}}`,
	`{"state": {"web": {"parts": [{"package": {"nginx": {}}}, {"service": {"nginx": {"running": true}}, "//": "why"}],
	   "param": {"p": {"default": 1}}, "lazy": true, "only_if": {"exists": "/a"}}}}`,
	`{"state": {"a": {"parallel": true, "package": {"git": {}, "curl": {}}}}, "run": {"b": {"state": "state.a", "require": ["state.a"]}}}`,
	`{"block": {"b": {"parts": [{"file": {"/a": {}}}, {"run": {"x": {"state": "state.s"}}}], "rescue": {"parts": [{"file": {"/b": {}}}]}}}, "state": {"s": {}}}`,
	`{"block": {"b": {"members": ["state.s"], "always": ["state.t"], "ordered": "${true}"}}, "state": {"s": {}, "t": {}}}`,
	`{"file": {"/a": {"retry": {"attempts": 2}, "unless": [{"exists": "/a"}, {"missing": "/b"}], "tags": ["x"], "for_each": null, "content": null}}}`,
	`{"role": {"web": {"package": {"nginx": {}}, "vars": {"x": 1}}}, "variable": {"x": {"default": 0}}, "host": {"web1": {"roles": ["web"]}}, "host_group": {"g": {"hosts": ["web*"]}}}`,
	`{"host": {"web1": {"become_method": "doas", "ssh_options": ["ProxyJump=gate"]}, "db1": {}},
	   "rollout": {"batch": [1, "50%"], "max_failures": 0, "pause": "30s", "order": "shuffle", "stage": [{"db": {"hosts": "db*"}}, {"apps": {"hosts": ["web*"]}}]}, "print": {"a": {"message": "x"}}}`,
	`{"host": {"web1": {}, "lb1": {}}, "state": {"drain": {"lazy": true}, "undrain": {"param": {"failed": {}}}},
	   "rollout": {"before_each": {"hosts": "lb1", "state": "state.drain"}, "stage": {"web": {"hosts": "web1", "after_each": [{"hosts": ["lb1"], "state": "state.undrain"}]}}}, "print": {"a": {"message": "x"}}}`,
	`{"component": {"m": {"source": "std/motd", "vars": {"text": "x\n"}}}}`,
	`{"command": {"a": {"argv": ["true"], "timeout": "5s", "notify": "${[reload.nginx]}"}}, "reload": {"nginx": {}}}`,
}

func TestSiteSchemaFitsSites(t *testing.T) {
	schema := compiled(t, reference.SiteSchema(modules.Standard()))
	for _, source := range right {
		site, list := lang.Load(fstest.MapFS{"site.hcl.json": {Data: []byte(source)}}, lang.Options{Registry: modules.Standard()})
		if _, list2 := site.Evaluate(t.Context(), lang.Target{Host: "web1"}); len(list)+len(list2) > 0 {
			t.Errorf("%s: %s", source, list2.Error())
		}
		if err := fits(t, schema, source); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
	for _, wrong := range []string{
		`[]`, `{"fiel": {"/a": {}}}`, `{"file": {"/a": {"contnet": "x"}}}`, `{"file": {"/a": {"mode": 644}}}`, `{"file": "/a"}`,
		`{"file": {"/a": {"ensure": "gone"}}}`, `{"state": {"a": {"parts": [{"file": {"/a": {}}, "package": {"b": {}}, "user": {"c": {}}}]}}}`,
		`{"state": {"a": {"state": {"b": {}}}}}`, `{"file": {"/a": {"lazy": "yes"}}}`, `{"variable": {"a": {"defualt": 1}}}`,
		`{"service": {"a": {"running": "yes"}}}`, `{"command": {"a": {"argv": "true"}}}`, `{"run": {"a": {"state": 3}}}`,
		`{"state": {"a": {"file": {"/a": {"lazy": true}}}}}`,
	} {
		if fits(t, schema, wrong) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
		site, list := lang.Load(fstest.MapFS{"site.hcl.json": {Data: []byte(wrong)}}, lang.Options{Registry: modules.Standard()})
		if _, list2 := site.Evaluate(t.Context(), lang.Target{Host: "h"}); !list.HasErrors() && !list2.HasErrors() {
			t.Errorf("the language takes %s", wrong)
		}
	}
}

func TestModuleSchemas(t *testing.T) {
	registry := modules.Standard()
	for _, name := range registry.Names() {
		compiled(t, reference.ModuleSchema(&registry.Lookup(name).Schema))
	}
	file := compiled(t, reference.ModuleSchema(&registry.Lookup("file").Schema))
	if err := fits(t, file, `{"content": "x", "mode": "0644"}`); err != nil {
		t.Error(err)
	}
	if fits(t, file, `{"mode": 420}`) == nil || fits(t, file, `{"contents": "x"}`) == nil {
		t.Error("the schema of file takes what file does not")
	}
}

func TestInputSchemas(t *testing.T) {
	for _, c := range components(t) {
		s := compiled(t, reference.InputSchema(c.Source, c.Variables))
		switch c.Source {
		case "std/motd":
			if err := fits(t, s, `{"text": "hello"}`); err != nil {
				t.Error(err)
			}
			if fits(t, s, `{}`) == nil || fits(t, s, `{"text": "x", "colour": "red"}`) == nil || fits(t, s, `{"text": ["x"]}`) == nil {
				t.Error("the schema of std/motd takes what it does not")
			}
		case "std/nginx":
			if err := fits(t, s, `{"sites": {"example.test": {"root": "/srv", "renew_days": 20}}}`); err != nil {
				t.Error(err)
			}
			if fits(t, s, `{"sites": {"example.test": {"renew_days": "soon"}}}`) == nil {
				t.Error("the schema of std/nginx takes what it does not")
			}
		}
	}
}
