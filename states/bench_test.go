package states_test

import (
	"testing"

	"github.com/tenetcm/tenet/states"
)

// What the schema costs for each part of a run: decode, check, fill, compare.
func BenchmarkPart(b *testing.B) {
	m := states.Define(allType())
	values := map[string]any{"name": "/etc/motd", "second": "s", "content": "hello\n", "mode": "0640"}
	for b.Loop() {
		want, err := m.Decode(values, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Check(want); err != nil {
			b.Fatal(err)
		}
		if changes := m.Diff(want, m.Fill(want, want)); len(changes) > 0 {
			b.Fatal(changes)
		}
	}
}
