package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/restart"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states/statestest"
)

func newRestartHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Systemd(t, h)
	fake.Unit(t, h, "web.service", "[Service]\n")
	fake.Unit(t, h, "broken.service", "[Service]\nExecStart=/bin/false\n")
	return h
}

func TestRestart(t *testing.T) {
	t.Parallel()
	if !restart.Module.Handler {
		t.Error("it is no handler")
	}
	statestest.Run(t, statestest.Suite{Module: restart.Module, Host: newRestartHost, Hostile: map[string]any{"name": "web"}, Cases: []statestest.Case{
		{
			Name: "a stopped unit", Values: map[string]any{"name": "web"}, Acts: true, Repeats: true,
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if log := fake.Text(h, fake.SystemdLog); log != "restart web.service\n" {
					t.Errorf("systemctl did %q", log)
				}
			},
		},
		{Name: "broken", Values: map[string]any{"name": "broken"}, Fails: "Main process exited", Partial: true, OnlyOnHost: true},
		{Name: "unknown", Values: map[string]any{"name": "none"}, Fails: "no unit named none.service"},
		{Name: "an option", Values: map[string]any{"name": "-x"}, Wrong: "looks like an option"},
	}})
	statestest.Run(t, statestest.Suite{
		Module: restart.Module, Host: func(t *testing.T) host.Host { return fake.Host(t) },
		Cases: []statestest.Case{{Name: "no systemd", Values: map[string]any{"name": "web"}, Fails: "an init system: this host does not offer it"}},
	})
}
