package ui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever stands in JSON means the same afterwards, in whatever pieces it is written, and
// holds nothing that a terminal would act upon.
func TestSafeJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "漢", "😀", "\u0085", "\u009b", "\u202e", "\u2066", "\x7f", "\x1b", "\n", "\"", "\\", "\xff"})).Draw(t, "text"), "")
		data, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := SafeJSON(&out)
		for rest := append(data, '\n'); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if written, err := w.Write(rest[:n]); written != n || err != nil {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if strings.ContainsFunc(out.String(), unprintable) {
			t.Fatalf("%q", out.String())
		}
		var before, after any
		if err := json.Unmarshal(data, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &after); err != nil {
			t.Fatal(err)
		}
		again, _ := json.Marshal(after)
		if first, _ := json.Marshal(before); !bytes.Equal(first, again) {
			t.Fatalf("%s became %s", first, again)
		}
	})
}
