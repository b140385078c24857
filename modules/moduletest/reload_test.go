package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/reload"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states/statestest"
)

func newReloadHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Systemd(t, h)
	fake.Unit(t, h, "web.service", "[Service]\nExecReload=/bin/kill -HUP $MAINPID\n")
	fake.Unit(t, h, "stopped.service", "[Service]\nExecReload=/bin/kill -HUP $MAINPID\n")
	fake.Unit(t, h, "plain.service", "[Service]\n")
	fake.Unit(t, h, "wrong.service", "[Service]\nExecReload=/bin/false\n")
	for _, name := range []string{"web", "plain", "wrong"} {
		fake.Start(t, h, name+".service")
	}
	return h
}

func TestReload(t *testing.T) {
	t.Parallel()
	if !reload.Module.Handler {
		t.Error("it is no handler")
	}
	statestest.Run(t, statestest.Suite{Module: reload.Module, Host: newReloadHost, Hostile: map[string]any{"name": "web"}, Cases: []statestest.Case{
		{
			Name: "a running unit", Values: map[string]any{"name": "web"}, Acts: true, Repeats: true,
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if log := fake.Text(h, fake.SystemdLog); log != "reload web.service\n" {
					t.Errorf("systemctl did %q", log)
				}
			},
		},
		{Name: "a stopped unit", Values: map[string]any{"name": "stopped"}},
		{Name: "a unit that cannot", Values: map[string]any{"name": "plain"}, Fails: `plain.service cannot reload its configuration (restart "plain" {} restarts it)`},
		{Name: "wrong configuration", Values: map[string]any{"name": "wrong"}, Fails: "Job for wrong.service failed", Partial: true, OnlyOnHost: true},
		{Name: "unknown", Values: map[string]any{"name": "none"}, Fails: "no unit named none.service"},
		{Name: "an option", Values: map[string]any{"name": "-x"}, Wrong: "looks like an option"},
	}})
}
