package moduletest_test

import (
	"errors"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/service"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

// newServiceHost has a unit "web" that can be enabled, "static" that cannot, and two
// that do not start.
func newServiceHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Systemd(t, h)
	fake.Unit(t, h, "web.service", "[Service]\nExecStart=/usr/bin/web\n[Install]\nWantedBy=multi-user.target\n")
	fake.Unit(t, h, "tick.timer", "[Timer]\n[Install]\nWantedBy=timers.target\n")
	fake.Unit(t, h, "static.service", "[Service]\nExecStart=/usr/bin/static\n")
	fake.Unit(t, h, "broken.service", "[Service]\nExecStart=/bin/false\n")
	fake.Unit(t, h, "short.service", "[Service]\nType=simple\nExecStart=/bin/false\n")
	return h
}

// serviceOffline is a tree without a running systemd.
func serviceOffline(t *testing.T) host.Host {
	h := newServiceHost(t)
	if err := h.Remove("/run/systemd/system"); err != nil {
		t.Fatal(err)
	}
	return h
}

func running(t *testing.T, h host.Host) { fake.Start(t, h, "web.service") }

func isMasked(t *testing.T, h host.Host) {
	fake.Link(t, h, "/dev/null", "/etc/systemd/system/web.service")
}

func serviceSaid(want string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if log := fake.Text(h, fake.SystemdLog); log != want {
			t.Errorf("systemctl did %q, want %q", log, want)
		}
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: service.Module, Host: newServiceHost, Hostile: map[string]any{"name": "web", "running": true, "enabled": true}, Cases: []statestest.Case{
		{
			Name: "start and enable", Values: map[string]any{"name": "web", "running": true, "enabled": true},
			Action: states.Update, Changes: []string{"running", "enabled"}, Check: serviceSaid("start web.service\n"),
		}, {
			Name: "start only", Values: map[string]any{"name": "web", "running": true},
			Action: states.Update, Changes: []string{"running"},
		}, {
			Name: "enabled until the next boot", Prepare: func(t *testing.T, h host.Host) {
				fake.Link(t, h, "/usr/lib/systemd/system/web.service", "/run/systemd/system/multi-user.target.wants/web.service")
			}, Values: map[string]any{"name": "web", "enabled": true}, Action: states.Update, Changes: []string{"enabled"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if !fake.Exists(h, "/etc/systemd/system/multi-user.target.wants/web.service") {
					t.Error("the next boot does not start it")
				}
			},
		}, {
			Name: "masked until the next boot", Prepare: func(t *testing.T, h host.Host) {
				fake.Link(t, h, "/dev/null", "/run/systemd/system/web.service")
			}, Values: map[string]any{"name": "web", "masked": true}, Action: states.Update, Changes: []string{"masked"},
		}, {
			Name: "no more masked until the next boot", Prepare: func(t *testing.T, h host.Host) {
				fake.Link(t, h, "/dev/null", "/run/systemd/system/web.service")
			}, Values: map[string]any{"name": "web", "masked": false}, Action: states.Update, Changes: []string{"masked"},
		}, {
			Name: "nothing to do", Prepare: running, Values: map[string]any{"name": "web", "running": true, "enabled": false, "masked": false},
		}, {
			Name: "stop and mask", Prepare: running, Values: map[string]any{"name": "web", "running": false, "masked": true},
			Action: states.Update, Changes: []string{"running", "masked"}, Check: serviceSaid("stop web.service\n"),
		}, {
			Name: "unmask and start", Prepare: isMasked, Values: map[string]any{"name": "web", "running": true, "enabled": true, "masked": false},
			Action: states.Update, Changes: []string{"running", "enabled", "masked"},
		}, {
			Name: "another kind of unit", Values: map[string]any{"name": "tick.timer", "enabled": true}, Action: states.Update, Changes: []string{"enabled"},
		}, {
			Name: "mask what is not there yet", Values: map[string]any{"name": "later", "masked": true}, Action: states.Update, Changes: []string{"masked"},
		},
		{Name: "unknown", Values: map[string]any{"name": "none", "running": true}, Fails: "this host has no unit named none.service"},
		{Name: "unknown, enable", Values: map[string]any{"name": "none", "enabled": true}, Fails: "this host has no unit named none.service"},
		{Name: "static", Values: map[string]any{"name": "static", "enabled": true, "running": true}, Fails: "has no [Install] section"},
		{Name: "masked", Prepare: isMasked, Values: map[string]any{"name": "web", "running": true}, Fails: "web.service is masked"},
		{
			Name: "does not start", Values: map[string]any{"name": "broken", "running": true}, Partial: true, OnlyOnHost: true,
			Fails: "Job for broken.service failed because the control process exited with error code.\n× broken.service\nMain process exited",
		}, {
			Name: "ends at once", Values: map[string]any{"name": "short", "running": true}, Partial: true, OnlyOnHost: true,
			Fails: "short.service: it does not run (inactive, dead; result: exit-code)",
		},
		{Name: "nothing wanted", Values: map[string]any{"name": "web"}, Wrong: "none of running, enabled and masked"},
		{Name: "contradiction", Values: map[string]any{"name": "web", "running": true, "masked": true}, Wrong: "can neither run nor be enabled"},
		{Name: "two spellings", Values: map[string]any{"name": "web.service", "running": true}, Wrong: `"web.service" is named without .service`},
		{Name: "an option", Values: map[string]any{"name": "--help", "running": true}, Wrong: "looks like an option"},
		{Name: "no name", Values: map[string]any{"name": "a b", "running": true}, Wrong: "cannot contain"},
	}})
}

func TestServiceOffline(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: service.Module, Host: serviceOffline, Cases: []statestest.Case{
		{Name: "enable", Values: map[string]any{"name": "web", "enabled": true}, Action: states.Update, Changes: []string{"enabled"}},
		{Name: "mask", Values: map[string]any{"name": "web", "masked": true}, Action: states.Update, Changes: []string{"masked"}},
		{Name: "start", Values: map[string]any{"name": "web", "running": true}, Fails: "no systemd runs on this host"},
	}})
}

func TestServiceWithoutInit(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: service.Module, Host: func(t *testing.T) host.Host { return fake.Host(t) },
		Cases: []statestest.Case{
			{Name: "enable", Values: map[string]any{"name": "web", "enabled": true}, Fails: "an init system: this host does not offer it"},
		},
	})
}

// A service of an account's own is another one than the machine's of that name.
func TestServiceOfAnAccount(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: service.Module, Host: func(t *testing.T) host.Host {
		h := newServiceHost(t)
		fake.Put(t, h, "/home/alice/.config/systemd/user/web.service", "[Service]\nExecStart=/usr/bin/web\n[Install]\nWantedBy=default.target\n", 0o644)
		return h
	}, Cases: []statestest.Case{
		{
			Name: "start and enable", Values: map[string]any{"name": "web", "user": "alice", "running": true, "enabled": true},
			Action: states.Update, Changes: []string{"running", "enabled"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				serviceSaid("start web.service of alice\n")(t, h, nil)
				const link = "/home/alice/.config/systemd/user/default.target.wants/web.service"
				if info, err := h.Lstat(link); err != nil || info.UID != 1000 {
					t.Errorf("%s: %+v, %v", link, info, err)
				}
			},
		},
		{Name: "nobody", Values: map[string]any{"name": "web", "user": "bob", "running": true}, Fails: `there is no user "bob"`},
		{Name: "not there", Values: map[string]any{"name": "short", "user": "alice", "running": true}, Fails: "no unit named short.service"},
		{Name: "no account", Values: map[string]any{"name": "web", "user": "-x", "running": true}, Wrong: "looks like an option"},
	}})
}

// A unit file that an earlier step of a plan writes is known to a later one: it can be
// started and enabled, and what was started runs for those that come then.
func TestServiceInPlan(t *testing.T) {
	t.Parallel()
	shadow := host.NewShadow(newServiceHost(t))
	fake.Put(t, shadow, "/etc/systemd/system/new.service", "[Service]\nExecStart=/usr/bin/new\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	want, err := service.Module.Decode(map[string]any{"name": "new", "running": true, "enabled": true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have, err := service.Module.Read(t.Context(), shadow, want)
	if err != nil {
		t.Fatal(err)
	}
	if changes := service.Module.Diff(have, service.Module.Fill(have, want)); len(changes) != 2 {
		t.Errorf("it is %+v", changes)
	}
	if err := service.Module.Write(t.Context(), shadow, have, want); !errors.Is(err, host.ErrUnforeseeable) {
		t.Errorf("what a service does as it starts is foreseen: %v", err)
	}
	have, err = service.Module.Read(t.Context(), host.NewShadow(shadow), want)
	if err != nil || len(service.Module.Diff(have, service.Module.Fill(have, want))) != 0 {
		t.Errorf("then it is %+v, %v", have, err)
	}
}
