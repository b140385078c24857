package simulated_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

// The simulated systemd, the files of one that does not run, and plans on both are
// what a real one is; see also package inside of the lab.
func TestInit(t *testing.T) {
	for name, user := range map[string]string{"machine": "", "account": "alice"} {
		machine := func(t *testing.T, runs bool) host.Host {
			t.Helper()
			h, err := simulated.New(t.Context(), simulated.Machine{Users: map[string]simulated.User{"alice": {}}})
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{"/home/alice/.config/systemd/user", "/home/alice/.local/share/systemd/user"} {
				if err := simulated.MakeDirectory(h, dir, nil); err != nil {
					t.Fatal(err)
				}
			}
			if !runs {
				if err := h.Remove("/run/systemd/system"); err != nil {
					t.Fatal(err)
				}
			}
			return h
		}
		for name, open := range map[string]func(*testing.T) host.Host{
			name:                    func(t *testing.T) host.Host { return machine(t, true) },
			name + ", plan":         func(t *testing.T) host.Host { return host.NewShadow(machine(t, true)) },
			name + ", offline":      func(t *testing.T) host.Host { return machine(t, false) },
			name + ", offline plan": func(t *testing.T) host.Host { return host.NewShadow(machine(t, false)) },
			name + ", plan of plan": func(t *testing.T) host.Host { return host.NewShadow(machine(t, true)).Fork() },
		} {
			t.Run(name, func(t *testing.T) {
				hosttest.Init(t, func(t *testing.T) (host.Host, string) { return open(t), user })
			})
		}
	}
}
