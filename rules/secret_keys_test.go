package rules_test

import (
	"reflect"
	"testing"

	"github.com/tenetcm/tenet/rules"
)

func TestHideBesideKeys(t *testing.T) {
	var list []rules.Rule
	for _, text := range []string{"switches[name]", "switches[name].vlans[id,kind]", "tags[*]", "users[*]", "mail"} {
		s, err := rules.ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rules.Rule{Selector: s})
	}
	hidden := func(v any) any { return rules.Secret{Value: v} }
	document := map[string]any{
		"switches": []any{map[string]any{"name": "a", "model": "x", "vlans": []any{map[string]any{"id": 1, "kind": "k", "name": "n", "ports": []any{2, nil}}}}},
		"tags":     []any{"one", map[string]any{"id": "deep"}, []any{"list"}},
		"users":    map[string]any{"eve": map[string]any{"name": "Eve"}},
		"mail":     map[string]any{"relay": true},
		"name":     "rest",
	}
	want := map[string]any{
		"switches": []any{map[string]any{"name": "a", "model": hidden("x"), "vlans": []any{map[string]any{"id": 1, "kind": "k", "name": hidden("n"), "ports": []any{hidden(2), nil}}}}},
		"tags":     []any{"one", map[string]any{"id": hidden("deep")}, []any{hidden("list")}},
		"users":    map[string]any{"eve": map[string]any{"name": hidden("Eve")}},
		"mail":     map[string]any{"relay": hidden(true)},
		"name":     hidden("rest"),
	}
	if got := rules.HideBesideKeys(list, document); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
