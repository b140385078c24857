package fleet_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/runtime/fleet"
)

func TestMemberships(t *testing.T) {
	dir := t.TempDir() + "/memberships"
	m := &fleet.Memberships{Dir: dir}
	learn := func(now map[string]string) map[string]map[string]fleet.RecordedMembership {
		t.Helper()
		if err := m.Learn("lab", now); err != nil {
			t.Fatal(err)
		}
		known, err := m.Read("lab")
		if err != nil {
			t.Fatal(err)
		}
		return known
	}
	if known := learn(map[string]string{"edge1": ""}); len(known) > 0 {
		t.Errorf("nobody is a member: %v", known)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it has written what is no news")
	}
	first := learn(map[string]string{"edge1": "bench", "edge2": "bench"})
	if len(first) != 2 || first["edge1"]["bench"].Time.IsZero() {
		t.Errorf("two are members: %v", first)
	}
	if again := learn(map[string]string{"edge1": "bench"}); !again["edge1"]["bench"].Time.Equal(first["edge1"]["bench"].Time) || len(again) != 2 {
		t.Errorf("the same, again: %v", again)
	}
	known := learn(map[string]string{"edge1": "table", "edge2": ""})
	if len(known) != 1 || !slices.Equal(slices.Collect(maps.Keys(known["edge1"])), []string{"table"}) {
		t.Errorf("one has left, and one is another's: %v", known)
	}
	if other, err := m.Read("other"); err != nil || len(other) > 0 {
		t.Errorf("another site: %v, %v", other, err)
	}
}
