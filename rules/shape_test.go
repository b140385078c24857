package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/rules"
)

// What is no document is an error. What is missing, null or empty is a document in which there is nothing.
func TestCheckAnswer(t *testing.T) {
	for _, test := range []struct{ selector, document, says string }{
		{"a[id].b[*]", `"busy"`, `the document is the text "busy"`},
		{"a[id].b[*]", `[]`, ""}, {"a[id].b[*]", `null`, ""}, {"a[id].b[*]", `{}`, ""}, {"a[id].b[*]", `{"a": null}`, ""}, {"a[id].b[*]", `{"a": []}`, ""},
		{"a[id].b[*]", `[1]`, "the document is a list"},
		{"a[id].b[*]", `{"a": "busy"}`, `a is the text "busy", and not a list or a map`},
		{"a[id].b[*]", `{"a": [{"id": 1, "b": 7}]}`, "a.0.b is the number 7"},
		{"a[id].b[*]", `{"a": [{"id": 1, "b": {"x": 7}}, {"id": 2}]}`, ""},
		{"a[*].b[id]", `{"a": {"x": "another type", "y": {"b": []}}}`, ""},
		{"a.b[id]", `{"a": "busy"}`, "a is the text"}, {"a", `{"a": "any"}`, ""},
	} {
		s, err := rules.ParseSelector(test.selector)
		if err != nil {
			t.Fatal(err)
		}
		var document any
		d := json.NewDecoder(strings.NewReader(test.document))
		d.UseNumber()
		if err := d.Decode(&document); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckAnswer(document); (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s of %s: %v", test.selector, test.document, err)
		}
	}
}
