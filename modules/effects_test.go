package modules_test

import (
	"slices"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

// effectsOf gives what an act of a part of the module may touch.
func effectsOf(t *testing.T, typ string, values map[string]any, absent bool) states.Effects {
	t.Helper()
	m := modules.Standard().Lookup(typ)
	want, err := m.Decode(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Effects(want, absent)
}

// A container touches its writable volumes and what the program keeps, unless it is given more; of one
// that ends nobody knows what it had.
func TestEffectsOfContainers(t *testing.T) {
	values := func(more map[string]any) map[string]any {
		out := map[string]any{"name": "web", "image": "web:1", "volumes": []any{"/srv/data:/data", "/etc/site:/etc/site:ro", "cache:/cache"}}
		for name, value := range more {
			out[name] = value
		}
		return out
	}
	e := effectsOf(t, "container", values(nil), false)
	if e.Anything || !slices.Contains(e.Paths, "/srv/data") || slices.Contains(e.Paths, "/etc/site") || slices.Contains(e.Paths, "cache") ||
		!slices.Contains(e.Paths, "/var/lib/containers") || len(e.Accounts)+len(e.Packages) > 0 {
		t.Errorf("a container touches %+v", e)
	}
	for _, more := range []map[string]any{
		{"options": []any{"--privileged"}}, {"devices": []any{"/dev/sda"}}, {"network": "host"}, {"volumes": []any{"/:/host"}},
	} {
		if e := effectsOf(t, "container", values(more), false); !e.Anything {
			t.Errorf("with %v a container touches %+v", more, e)
		}
	}
	if e := effectsOf(t, "container", values(nil), true); !e.Anything {
		t.Errorf("one that ends touches %+v", e)
	}
}

// A timer that starts its command as it starts itself may touch anything; others touch what systemd
// remembers of them.
func TestEffectsOfTimers(t *testing.T) {
	values := func(more map[string]any) map[string]any {
		out := map[string]any{"name": "job", "command": []any{"/bin/true"}, "on_calendar": []any{"daily"}}
		for name, value := range more {
			out[name] = value
		}
		return out
	}
	for _, c := range []struct {
		more             map[string]any
		absent, anything bool
	}{
		{nil, false, false},
		{map[string]any{"on_boot": "1m"}, false, true},
		{map[string]any{"on_boot": "1m", "enabled": false}, false, false},
		{map[string]any{"on_boot": "1m"}, true, false},
		{map[string]any{"user": "alice"}, false, true},
	} {
		e := effectsOf(t, "systemd_timer", values(c.more), c.absent)
		if e.Anything != c.anything || !c.anything && !slices.Equal(e.Paths, []string{"/var/lib/systemd/timers"}) {
			t.Errorf("with %v, absent: %v, a timer touches %+v", c.more, c.absent, e)
		}
	}
}
