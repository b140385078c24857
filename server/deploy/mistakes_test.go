package deploy

import "testing"

// TestMistakes checks that what is wrong for many hosts is told once.
func TestMistakes(t *testing.T) {
	var m mistakes
	for _, host := range []string{"a", "b", "c", "d", "e"} {
		m.add(host, "site.hcl:1:2: no such element")
	}
	m.add("f", "site.hcl:3:4: no such fact")
	if text, wanted := m.String(), "a, b, c, 2 more: site.hcl:1:2: no such element; f: site.hcl:3:4: no such fact"; text != wanted {
		t.Errorf("%q, wanted %q", text, wanted)
	}
}
