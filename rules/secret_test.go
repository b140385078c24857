package rules

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// hideSome makes secrets of some of the values below keys and selected elements.
func hideSome(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			out[name] = e
			switch {
			case slices.Contains([]string{"p", "q"}, name) && rapid.Bool().Draw(t, "hidden"):
				out[name] = Secret{Value: e}
			case !slices.Contains([]string{"n", "i"}, name):
				out[name] = hideSome(t, e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = hideSome(t, e)
		}
		return out
	}
	return v
}

// A document whose secrets are remembered by digests is compared as one without secrets: what differs, and what is done about it, are the same.
func TestSecretsAreComparedLikeOthers(t *testing.T) {
	list := []Rule{{Name: "s", Selector: selector(t, "s[n]")}, {Name: "v", Selector: selector(t, "s[n].v[i]")}, {Name: "o", Selector: selector(t, "o[*]")}}
	rapid.Check(t, func(t *rapid.T) {
		before, after := documents().Draw(t, "before"), documents().Draw(t, "after")
		if rapid.IntRange(0, 3).Draw(t, "same") == 0 {
			after = before
		}
		want, err := Compare(list, before, after)
		if err != nil {
			t.Fatal(err)
		}
		key := []byte("key")
		hidden := Digested(hideSome(t, after), key)
		// What is secret now was in the run before, and only its digest is known.
		former := Remembered(Digested(like(before, hidden), key))
		text, err := json.Marshal(former)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var stored any
		if err := d.Decode(&stored); err != nil {
			t.Fatal(err)
		}
		got, err := Compare(list, Open(stored), hidden)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Changes) != len(want.Changes) {
			t.Fatalf("got %v, want %v", got.Changes, want.Changes)
		}
		for i := range got.Changes {
			if g, w := got.Changes[i], want.Changes[i]; g.Act != w.Act || g.Hit.Name != w.Hit.Name || g.Rule != w.Rule {
				t.Errorf("got %v, want %v", g, w)
			}
		}
		if HasSecret(former) && bytes.Contains(text, []byte(SecretName)) {
			t.Error("a secret itself is remembered")
		}
	})
}

// like makes secrets in a document where another one has them.
func like(v, other any) any {
	if _, ok := other.(Secret); ok {
		return Secret{Value: v}
	}
	switch v := v.(type) {
	case map[string]any:
		fields, _ := other.(map[string]any)
		out := map[string]any{}
		for name, e := range v {
			out[name] = like(e, fields[name])
		}
		return out
	case []any:
		list, _ := other.([]any)
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
			for _, o := range list {
				if sameKey(e, o) {
					out[i] = like(e, o)
				}
			}
		}
		return out
	}
	return v
}

func sameKey(a, b any) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	return x != nil && y != nil && (x["n"] != nil && x["n"] == y["n"] || x["i"] != nil && x["i"] == y["i"])
}

// Values that are the same have one digest, however they are written; others have others, and so have all by another key.
func TestDigests(t *testing.T) {
	digest := func(v any, key string) string {
		s, _ := Digested(Secret{Value: v}, []byte(key)).(Secret)
		return s.Digest
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents().Draw(t, "a"), documents().Draw(t, "b")
		if Same(a, b) != (digest(a, "key") == digest(b, "key")) {
			t.Errorf("%v and %v: %s, %s", a, b, digest(a, "key"), digest(b, "key"))
		}
	})
	for _, same := range [][2]any{{json.Number("1"), json.Number("1.0")}, {map[string]any{"a": nil, "b": "x"}, map[string]any{"b": "x"}}, {[]any{nil}, []any{[]any{}}}} {
		if digest(same[0], "key") != digest(same[1], "key") {
			t.Errorf("%v and %v have several digests", same[0], same[1])
		}
	}
	if digest("1", "key") == digest(json.Number("1"), "key") || digest("x", "key") == digest("x", "other") {
		t.Error("a digest is that of another value, or key")
	}
}

// What sensitive values would have to be shown for is an error at their place.
func TestSecretKeys(t *testing.T) {
	secret := Secret{Value: "x"}
	for text, document := range map[string]any{
		"a[k]":   map[string]any{"a": []any{map[string]any{"k": secret}}},
		"a[*]":   map[string]any{"a": []any{secret}},
		"b[*]":   map[string]any{"b": Secret{Value: map[string]any{"x": "y"}}},
		"a.b":    map[string]any{"a": Secret{Value: map[string]any{"b": "y"}}},
		"c[k].d": map[string]any{"c": []any{Secret{Value: map[string]any{"k": "x"}}}},
	} {
		if _, err := selector(t, text).Hits(document, false); err == nil {
			t.Errorf("%s selects in %v", text, document)
		}
	}
}

func selector(t interface{ Fatal(...any) }, text string) Selector {
	s, err := ParseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
