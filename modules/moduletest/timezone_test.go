package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/timezone"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func prepare(t *testing.T, h host.Host) host.Host {
	for _, zone := range []string{"Europe/Berlin", "Etc/UTC"} {
		fake.Put(t, h, "/usr/share/zoneinfo/"+zone, "TZif2 "+zone, 0o644)
	}
	fake.Put(t, h, "/usr/share/zoneinfo/zone.tab", "# zones\n", 0o644)
	fake.Link(t, h, "../usr/share/zoneinfo/Etc/UTC", "/etc/localtime")
	fake.Put(t, h, "/etc/timezone", "Etc/UTC\n", 0o644)
	return h
}

func newTimezoneHost(t *testing.T) host.Host { return prepare(t, fake.Host(t)) }

func timezoneZone(name string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, "/etc/localtime"); is != "TZif2 "+name {
			t.Errorf("the local time is %q", is)
		}
		if is := fake.Text(h, "/etc/timezone"); is != name+"\n" && is != "" {
			t.Errorf("/etc/timezone holds %q", is)
		}
	}
}

func remove(t *testing.T, h host.Host, name string) {
	t.Helper()
	if err := h.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func timezoneCases() []statestest.Case {
	berlin, changes := map[string]any{"name": "Europe/Berlin"}, []string{"name"}
	return []statestest.Case{
		{Name: "another", Values: berlin, Action: states.Update, Changes: changes, Check: timezoneZone("Europe/Berlin")},
		{Name: "nothing to do", Values: map[string]any{"name": "Etc/UTC"}, Check: timezoneZone("Etc/UTC")},
		{
			Name: "only the file", Values: map[string]any{"name": "Etc/UTC"}, Action: states.Update, Changes: changes, Check: timezoneZone("Etc/UTC"),
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/timezone", "Europe/Berlin\n", 0o644) },
		}, {
			Name: "a copy", Values: berlin, Action: states.Update, Changes: changes, Check: timezoneZone("Europe/Berlin"),
			Prepare: func(t *testing.T, h host.Host) {
				remove(t, h, "/etc/localtime")
				fake.Put(t, h, "/etc/localtime", "TZif2 x", 0o644)
			},
		}, {
			Name: "none, and no file", Values: berlin, Action: states.Update, Changes: changes, Check: timezoneZone("Europe/Berlin"),
			Prepare: func(t *testing.T, h host.Host) {
				remove(t, h, "/etc/localtime")
				remove(t, h, "/etc/timezone")
			},
		},
		{Name: "no such zone", Values: map[string]any{"name": "Europe/Lübeck"}, Wrong: "cannot contain"},
		{Name: "unknown", Values: map[string]any{"name": "Europe/Luebeck"}, Fails: "no time zone named Europe/Luebeck"},
		{Name: "a directory", Values: map[string]any{"name": "Europe"}, Fails: "no time zone named Europe"},
		{Name: "up", Values: map[string]any{"name": "../../../etc/passwd"}, Wrong: "is a directory, and no name"},
		{Name: "absolute", Values: map[string]any{"name": "/etc/passwd"}, Wrong: "a name is required"},
	}
}

func TestTimezone(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: timezone.Module, Host: newTimezoneHost, Cases: timezoneCases(), Hostile: map[string]any{"name": "Europe/Berlin"}})
}

func TestTimezoneBelowRoot(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: timezone.Module, Cases: timezoneCases(), Host: func(t *testing.T) host.Host {
		h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return prepare(t, h)
	}})
}
