package states_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/states"
)

func TestRetentionAsJSON(t *testing.T) {
	for text, want := range map[string]states.Retention{"true": states.RetainAll, "3": 3, "null": 0} {
		var got states.Retention
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is read as %d: %v", text, got, err)
		}
		if out, err := json.Marshal(want); err != nil || string(out) != text {
			t.Errorf("%d is written as %s: %v", want, out, err)
		}
	}
	for _, text := range []string{"0", "-1", "false", `"3"`, "1.5", "{}", "1e99"} {
		var got states.Retention
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is read as %d", text, got)
		}
	}
}

// TestBaseAddress: whatever names and keys an address is made of, only the key of the last
// declaration is cut off.
func TestBaseAddress(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		label := rapid.OneOf(rapid.SampledFrom([]string{"a", "release", "a-b"}), rapid.StringN(1, 6, -1), rapid.SampledFrom([]string{`a"]["b`, "a.b", "[x]", `\`, "#1"}))
		base := ""
		for _, root := range rapid.SampledFrom([][]string{{"file"}, {"state", "file"}, {"component", "run", "archive"}}).Draw(rt, "roots") {
			if base != "" {
				if rapid.Bool().Draw(rt, "instance of what is around it") {
					base = states.InstanceAddress(base, label.Draw(rt, "key"))
				}
				base += "."
			}
			base += states.LabelAddress(root, label.Draw(rt, "label"))
		}
		for _, address := range []string{base, states.InstanceAddress(base, label.Draw(rt, "key"))} {
			if got := states.BaseAddress(address); got != base {
				rt.Errorf("of %s it is %s, want %s", address, got, base)
			}
		}
	})
}
