package packages_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/packages"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Apt(t, h)
	fake.Offer(t, h, true, "web", "1.0", "2.0")
	fake.Offer(t, h, false, "fresh", "3.0")
	fake.Offer(t, h, true, "broken", "1.0")
	fake.Provide(t, h, "mail-agent", "exim", "postfix")
	return h
}

func has(name, version, want string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Installed(t, h, name, version, want) }
}

func did(want ...string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if log := strings.TrimSpace(fake.Text(h, fake.AptLog)); log != strings.Join(want, "\n") {
			t.Errorf("apt-get did %q, want %q", log, want)
		}
	}
}

func TestPackage(t *testing.T) {
	statestest.Run(t, statestest.Suite{Module: packages.Module, Host: newHost, Hostile: map[string]any{"name": "web", "version": "1.0"}, Cases: []statestest.Case{
		{Name: "install", Values: map[string]any{"name": "web"}, Action: states.Create, Changes: []string{"version"}, Check: did("install web=2.0")},
		{Name: "installed", Prepare: has("web", "1.0", "install"), Values: map[string]any{"name": "web"}, Check: did()},
		{Name: "a version", Values: map[string]any{"name": "web", "version": "1.0"}, Action: states.Create, Changes: []string{"version"}, Check: did("install web=1.0")},
		{Name: "downgrade", Prepare: has("web", "2.0", "install"), Values: map[string]any{"name": "web", "version": "1.0"}, Action: states.Update, Changes: []string{"version"}, Check: did("install web=1.0")},
		{Name: "latest", Prepare: has("web", "1.0", "install"), Values: map[string]any{"name": "web", "version": "latest"}, Action: states.Update, Changes: []string{"version"}, Check: did("install web=2.0")},
		{Name: "latest already", Prepare: has("web", "2.0", "install"), Values: map[string]any{"name": "web", "version": "latest"}, Check: did()},
		{Name: "stale lists", Values: map[string]any{"name": "fresh"}, Action: states.Create, Check: did("update", "install fresh")},
		{Name: "a source is newer than the lists", Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, "/var/lib/apt/periodic/update-success-stamp", "", 0o644)
			fake.Put(t, h, "/etc/apt/sources.list.d/new.sources", "Types: deb\n", 0o644)
		}, Values: map[string]any{"name": "web"}, Action: states.Create, Check: did("update", "install web")},
		{Name: "the lists are newer than their sources", Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, "/etc/apt/sources.list.d/new.sources", "Types: deb\n", 0o644)
			fake.Put(t, h, "/var/lib/apt/periodic/update-success-stamp", "", 0o644)
		}, Values: map[string]any{"name": "web"}, Action: states.Create, Changes: []string{"version"}, Check: did("install web=2.0")},
		{Name: "latest with stale lists", Values: map[string]any{"name": "fresh", "version": "latest"}, Action: states.Create, Changes: []string{"version"}, Check: did("update", "install fresh")},
		{Name: "install and hold", Values: map[string]any{"name": "web", "hold": true}, Action: states.Create, Changes: []string{"version", "hold"}},
		{Name: "hold", Prepare: has("web", "1.0", "install"), Values: map[string]any{"name": "web", "hold": true}, Action: states.Update, Changes: []string{"hold"}, Check: did()},
		{Name: "unhold", Prepare: has("web", "1.0", "hold"), Values: map[string]any{"name": "web", "hold": false}, Action: states.Update, Changes: []string{"hold"}, Check: did()},
		{Name: "held at another version", Prepare: has("web", "1.0", "hold"), Values: map[string]any{"name": "web", "version": "2.0", "hold": true}, Action: states.Update, Changes: []string{"version"}},
		{Name: "absent", Ensure: states.Absent, Prepare: has("web", "1.0", "install"), Values: map[string]any{"name": "web"}, Action: states.Remove, Changes: []string{"version"}, Check: did("remove web")},
		{Name: "purge", Ensure: states.Absent, Prepare: has("web", "1.0", "install"), Values: map[string]any{"name": "web", "purge": true}, Action: states.Remove, Changes: []string{"version"}, Check: did("purge web")},
		{Name: "purge what is left", Ensure: states.Absent, Prepare: leftover, Values: map[string]any{"name": "web", "purge": true}, Action: states.Remove, Check: did("purge web")},
		{Name: "install over what is left", Prepare: leftover, Values: map[string]any{"name": "web", "purge": true}, Action: states.Update, Changes: []string{"version", "name"}, Check: did("install web=2.0")},
		{Name: "finish what was interrupted", Prepare: stopped("web", ""), Values: map[string]any{"name": "web"}, Action: states.Update, Changes: []string{"name"}, Check: did("install web=1.0")},
		{Name: "remove what was interrupted", Ensure: states.Absent, Prepare: stopped("web", ""), Values: map[string]any{"name": "web"}, Action: states.Remove, Changes: []string{"version"}, Check: did("remove web")},

		{Name: "unknown", Values: map[string]any{"name": "none"}, Fails: "the package lists offer no package named none", Partial: true},
		{Name: "unknown version", Values: map[string]any{"name": "web", "version": "9"}, Fails: "offer no web 9, but 2.0, 1.0", Partial: true},
		{Name: "virtual", Values: map[string]any{"name": "mail-agent"}, Fails: "mail-agent is a virtual package, which others provide: exim, postfix", Partial: true},
		{Name: "another was interrupted", Prepare: stopped("db", ""), Values: map[string]any{"name": "web"}, Fails: "dpkg has not ended its work with db (half-configured)"},
		{Name: "dpkg was interrupted", Prepare: stopped("web", "/var/lib/dpkg/updates/0007"), Values: map[string]any{"name": "web"}, Fails: "dpkg was interrupted"},
		{Name: "broken", Values: map[string]any{"name": "broken"}, Fails: "you have held broken packages", Partial: true},
		{Name: "lock", Prepare: locked, Values: map[string]any{"name": "web", "lock_timeout": "0s"}, Fails: "the package manager's lock /var/lib/dpkg/lock-frontend is held by process 4242 (unattended-upgr)"},
		{Name: "held by the administrator", Prepare: has("web", "1.0", "hold"), Values: map[string]any{"name": "web", "version": "2.0"}, Fails: "only a part that gives hold changes such a package", Check: did()},
		{Name: "absent though held", Ensure: states.Absent, Prepare: has("web", "1.0", "hold"), Values: map[string]any{"name": "web", "hold": false}, Action: states.Remove, Changes: []string{"version", "hold"}},
		{Name: "absent and held by itself", Ensure: states.Absent, Prepare: has("web", "1.0", "hold"), Values: packages.Module.Remembered(map[string]any{"name": "web", "version": "1.0", "hold": true}), Action: states.Remove, Changes: []string{"version", "hold"}},
		{Name: "absent and held", Ensure: states.Absent, Prepare: has("web", "1.0", "hold"), Values: map[string]any{"name": "web"}, Fails: "web is on hold: only a part that gives hold", Check: did()},
		{Name: "an option", Values: map[string]any{"name": "-x"}, Wrong: "is no name of a package"},
		{Name: "a removal", Values: map[string]any{"name": "web-"}, Wrong: "is no name of a package"},
		{Name: "a pattern", Values: map[string]any{"name": "web*"}, Wrong: "is no name of a package"},
		{Name: "no time", Values: map[string]any{"name": "web", "lock_timeout": "-1s"}, Wrong: "is no duration"},
	}})
	statestest.Run(t, statestest.Suite{
		Module: packages.Module, Host: func(t *testing.T) host.Host { return fake.Host(t) },
		Cases: []statestest.Case{{Name: "no apt", Values: map[string]any{"name": "web"}, Fails: "no package manager that tenet can use"}},
	})
}

func leftover(t *testing.T, h host.Host) {
	fake.Put(t, h, "/var/lib/dpkg/status", "Package: web\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1.0\n\n", 0o644)
}

// stopped leaves an installation unfinished, with or without dpkg's journal.
func stopped(name, journal string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		fake.Put(t, h, "/var/lib/dpkg/status", "Package: "+name+"\nStatus: install ok half-configured\nArchitecture: amd64\nVersion: 1.0\n\n", 0o644)
		if journal != "" {
			fake.Put(t, h, journal, "", 0o644)
		}
	}
}

func locked(t *testing.T, h host.Host) { fake.Put(t, h, fake.AptLock, "", 0o644) }

// items makes the items of a batch, as the runtime does.
func items(t *testing.T, h host.Host, parts ...map[string]any) []states.Item {
	t.Helper()
	m := packages.Module
	var out []states.Item
	for _, values := range parts {
		absent := values["absent"] != nil
		delete(values, "absent")
		want, err := m.Decode(values, nil)
		if err == nil {
			want, err = m.Complete(t.Context(), h, want)
		}
		if err != nil {
			t.Fatal(err)
		}
		have, err := m.Read(t.Context(), h, want)
		if err != nil {
			t.Fatal(err)
		}
		if absent {
			out = append(out, states.Item{Have: have})
			continue
		}
		out = append(out, states.Item{Have: have, Want: m.Fill(have, want)})
	}
	return out
}

// listening notes what is run.
type listening struct {
	*host.Memory
	ran []string
}

func (l *listening) Run(ctx context.Context, c host.Command) (host.Result, error) {
	l.ran = append(l.ran, strings.Join(c.Argv, " "))
	return l.Memory.Run(ctx, c)
}

// Only where a package that changes is on hold may others on hold move with it.
func TestOthersOnHoldStay(t *testing.T) {
	for _, held := range []bool{false, true} {
		h := &listening{Memory: newHost(t).(*host.Memory)}
		fake.Offer(t, h, true, "db", "5")
		if held {
			fake.Installed(t, h.Memory, "web", "2.0", "hold")
		}
		errs := packages.Module.Batch(t.Context(), h, items(t, h, map[string]any{"name": "web", "version": "1.0", "hold": true}, map[string]any{"name": "db"}))
		if errs[0] != nil || errs[1] != nil {
			t.Fatal(errs)
		}
		if got := strings.Contains(strings.Join(h.ran, "\n"), "--allow-change-held-packages"); got != held {
			t.Errorf("web is on hold: %v; others may change: %v", held, got)
		}
	}
}

func TestBatchIsOneTransaction(t *testing.T) {
	h := newHost(t)
	fake.Offer(t, h, true, "db", "5")
	fake.Installed(t, h, "old", "1", "install")
	errs := packages.Module.Batch(t.Context(), h, items(t, h,
		map[string]any{"name": "web", "version": "1.0", "hold": true},
		map[string]any{"name": "old", "absent": true},
		map[string]any{"name": "db"},
	))
	for i, err := range errs {
		if err != nil {
			t.Errorf("item %d: %v", i, err)
		}
	}
	did("install web=1.0 db=5 old-")(t, h, nil)
	if status := fake.Text(h, "/var/lib/dpkg/status"); !strings.Contains(status, "Package: web\nStatus: hold ok installed") {
		t.Errorf("web is not held: %s", status)
	}
}

// One package that cannot be installed keeps none of the others back.
func TestBatchBlamesTheRightPackage(t *testing.T) {
	h := newHost(t)
	errs := packages.Module.Batch(t.Context(), h, items(t, h,
		map[string]any{"name": "web"}, map[string]any{"name": "broken"}, map[string]any{"name": "none"},
	))
	if errs[0] != nil {
		t.Errorf("web: %v", errs[0])
	}
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "held broken packages") {
		t.Errorf("broken: %v", errs[1])
	}
	if errs[2] == nil || !strings.Contains(errs[2].Error(), "no package named none") {
		t.Errorf("none: %v", errs[2])
	}
	did("update", "install web=2.0 broken=1.0", "install web=2.0", "install broken=1.0")(t, h, nil)
}

// While the lock is held nothing is tried one by one.
func TestBatchWithLock(t *testing.T) {
	h := newHost(t)
	locked(t, h)
	for _, err := range packages.Module.Batch(t.Context(), h, items(t, h, map[string]any{"name": "web", "lock_timeout": "0s"}, map[string]any{"name": "broken", "lock_timeout": "0s"})) {
		if err == nil || !strings.Contains(err.Error(), "is held by process 4242") {
			t.Error(err)
		}
	}
	did()(t, h, nil)
}
