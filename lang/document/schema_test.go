package document_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang/document"
)

const networkSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["switches"],
  "additionalProperties": false,
  "properties": {"switches": {"type": "array", "items": {"$ref": "parts/switch.yml"}}}
}`

const switchSchema = `type: object
required: [name]
properties:
  name: {type: string, minLength: 1}
  address: {type: string, format: ipv4}
  mode: {oneOf: [{const: access}, {const: trunk}]}
  speed: {type: integer, default: 1000}
`

func schemas() fstest.MapFS {
	return fstest.MapFS{"net/network.schema.json": {Data: []byte(networkSchema)}, "net/parts/switch.yml": {Data: []byte(switchSchema)},
		"other.json": {Data: []byte("{}")}, "net/seven.json": {Data: []byte(`{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}`)}}
}

func reader(files fs.FS) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) { return fs.ReadFile(files, name) }
}

func TestSchema(t *testing.T) {
	s, list := document.ReadSchema("net/network.schema.json", reader(schemas()))
	if list.HasErrors() {
		t.Fatal(list)
	}
	for _, one := range []struct {
		text string
		want []string
	}{
		{"switches:\n- {name: a, address: 10.0.0.1, mode: trunk}\n- name: b\n", nil},
		{"switch: []\n", []string{"n.yml:1:1: missing property 'switches'", `n.yml:1:1: there is no field "switch" here`}},
		{"switches:\n  - name: a\n    address: 10.0.0.256\n    speed: fast\n", []string{"n.yml:3:14: switches.0.address: ", "n.yml:4:12: switches.0.speed: got string, want integer"}},
		{"switches:\n  - name: ''\n  - mode: both\n    name: b\n", []string{"n.yml:2:11: switches.0.name: ", "n.yml:3:11: switches.1.mode: none of the alternatives fits: value must be 'access'; or value must be 'trunk'"}},
		{"switches: 3\n", []string{"n.yml:1:11: switches: got number, want array"}},
	} {
		n, list := document.Read("n.yml", []byte(one.text))
		if list.HasErrors() {
			t.Fatal(list)
		}
		before := n.Plain()
		got := s.Check(n)
		if len(got) != len(one.want) {
			t.Errorf("%q: %v, not %q", one.text, got, one.want)
			continue
		}
		for i, want := range one.want {
			if !strings.Contains(got[i].Error(), want) {
				t.Errorf("%q: %q lacks %q", one.text, got[i].Error(), want)
			}
		}
		if one.want == nil {
			if m := before.(map[string]any)["switches"].([]any)[0].(map[string]any); m["speed"] != nil {
				t.Error("a default was filled in")
			}
		}
	}
	if _, list := document.ReadSchema("net/seven.json", reader(schemas())); list.HasErrors() {
		t.Error(list)
	}
}

func TestSchemaMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "objekt"}`:                                                "net/s.json:1:10: this is no JSON Schema",
		`{"type": }`:                                                        "net/s.json:1:10: this is no JSON",
		`{"$ref": "../other.json"}`:                                         "stays in the schema's folder, and other.json is not there",
		`{"$ref": "https://example.com/s.json"}`:                            "stays in the schema's folder, and https://example.com/s.json is not there",
		`{"$ref": "/etc/passwd"}`:                                           "stays in the schema's folder",
		`{"$ref": "missing.json"}`:                                          "net/missing.json",
		`{"$ref": "#/$defs/missing"}`:                                       "missing",
		`{"$schema": "http://json-schema.org/draft-04/schema#"}`:            "drafts 2020-12 and 7",
		`{"$schema": "https://json-schema.org/draft/2019-09/schema"}`:       "drafts 2020-12 and 7",
		`{"pattern": "("}`:                                                  "net/s.json:1:13: this is no JSON Schema",
		`{"$id": "https://example.com/s.json", "$ref": "parts/switch.yml"}`: "stays in the schema's folder, and https://example.com/parts/switch.yml is not there",
	} {
		files := schemas()
		files["net/s.json"] = &fstest.MapFile{Data: []byte(text)}
		_, list := document.ReadSchema("net/s.json", reader(files))
		if len(list) == 0 || !strings.Contains(list[0].Error(), want) {
			t.Errorf("%s: %v lacks %q", text, list, want)
		}
	}
}
