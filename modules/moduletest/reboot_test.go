package moduletest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/reboot"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newRebootHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Systemd(t, h)
	return h
}

func TestReboot(t *testing.T) {
	t.Parallel()
	if !reboot.Module.Handler || !reboot.Module.Reboots {
		t.Error("it is no handler, or does not say that it reboots")
	}
	required := func(t *testing.T, h host.Host) { fake.Put(t, h, "/run/reboot-required", "", 0o644) }
	started := func(log string) func(*testing.T, host.Host, map[string]any) {
		return func(t *testing.T, h host.Host, _ map[string]any) {
			if got := fake.Text(h, fake.SystemdLog); got != log {
				t.Errorf("systemctl did %q, want %q", got, log)
			}
		}
	}
	statestest.Run(t, statestest.Suite{Module: reboot.Module, Host: newRebootHost, Hostile: map[string]any{"message": "a"}, Cases: []statestest.Case{
		{Name: "always", Values: map[string]any{}, Acts: true, Repeats: true, Check: started("reboot\n")},
		{Name: "with a message", Values: map[string]any{"message": "--force; it's \"new\""}, Acts: true, Repeats: true,
			Check: started("reboot (--force; it's \"new\")\n")},
		{Name: "required", Values: map[string]any{"when_required": true}, Prepare: required, Acts: true, Check: started("reboot\n")},
		{Name: "not required", Values: map[string]any{"when_required": true}, Check: started("")},
		{Name: "two lines", Values: map[string]any{"message": "a\nb"}, Wrong: "one line"},
		{Name: "NUL", Values: map[string]any{"message": "a\x00b"}, Wrong: "one line"},
	}})
	statestest.Run(t, statestest.Suite{
		Module: reboot.Module, Host: func(t *testing.T) host.Host { return fake.Host(t) },
		Cases: []statestest.Case{{Name: "no systemd", Values: map[string]any{}, Fails: "no systemd runs on this host"}},
	})
}

// On a machine that is only about to go down nobody claims that it has been
// started anew; afterwards the boot tells.
func TestRebootIsAwaited(t *testing.T) {
	t.Parallel()
	h := newRebootHost(t).(*host.Memory)
	h.Handle("systemctl", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	want, err := reboot.Module.Decode(map[string]any{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if changed, _, err := reboot.Module.Act(t.Context(), h, want); changed || !errors.Is(err, states.ErrRebooting) {
		t.Errorf("it says %v, %v", changed, err)
	}
	boot := func() string { return fake.Text(h, "/proc/sys/kernel/random/boot_id") }
	begun := states.Begun{Boot: boot()}
	begun.Boot = begun.Boot[:len(begun.Boot)-1] // without the line's end
	for _, c := range []struct {
		prepare func()
		want    states.Outcome
	}{
		{func() {}, states.Unknown},
		{func() { fake.Put(t, h, "/proc/sys/kernel/random/boot_id", "another\n", 0o444) }, states.Changed},
		{func() { begun.Boot = "" }, states.Unknown},
	} {
		c.prepare()
		if got, err := reboot.Module.Recover(t.Context(), h, want, begun); got != c.want || err != nil {
			t.Errorf("it says %q, %v, want %q", got, err, c.want)
		}
	}
	if err := h.Remove("/proc/sys/kernel/random/boot_id"); err != nil {
		t.Fatal(err)
	}
	if _, err := reboot.Module.Recover(t.Context(), h, want, begun); err == nil {
		t.Error("no error without a boot id")
	}
}
