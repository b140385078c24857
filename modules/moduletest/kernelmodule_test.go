package moduletest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/kernelmodule"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	kernelModuleProc = "/proc/modules"
	kernelModuleBoot = "/etc/modules-load.d/br_netfilter.conf"
	probed           = "/etc/modprobe.d/br_netfilter.conf"
	kernelModuleLine = "br_netfilter 32768 0 - Live 0x0000000000000000\n"
	kernelModuleUsed = "bridge 32768 1 stp, Live 0x0000000000000000\n"
)

// newKernelModuleHost has the modules br_netfilter and dummy, and a modprobe that knows them.
// What modprobe was told stands in /var/log/modprobe.
func newKernelModuleHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, kernelModuleProc, kernelModuleUsed, 0o444)
	fake.Put(t, h, "/lib/modules/6.1.0-simulated/modules.builtin", "kernel/net/ipv4/tcp-cubic.ko\n", 0o644)
	fake.Dir(t, h, "/etc/modprobe.d", 0o755)
	h.Handle("modprobe", func(ctx context.Context, c host.Command) (host.Result, error) {
		i := slices.Index(c.Argv, "--")
		name, text := c.Argv[i+1], fake.Text(h, kernelModuleProc)
		switch {
		case !slices.Contains([]string{"br_netfilter", "dummy", "tenet"}, name):
			return host.Result{ExitCode: 1, Stderr: []byte("modprobe: FATAL: Module " + name + " not found in directory /lib/modules/6.1.0-simulated\n")}, nil
		case c.Argv[1] == "--dry-run":
			return host.Result{}, nil
		case c.Argv[1] == "--remove":
			text = strings.Replace(text, kernelModuleLine, "", 1)
		default:
			text += name + kernelModuleLine[len("br_netfilter"):]
		}
		fake.Put(t, h, "/var/log/modprobe", strings.Join(c.Argv, " "), 0o644)
		return host.Result{}, h.WriteFile(ctx, kernelModuleProc, host.Text(text), host.Meta{})
	})
	return h
}

func kernelModulePart(other map[string]any) map[string]any {
	values := map[string]any{"name": "br_netfilter"}
	for name, v := range other {
		values[name] = v
	}
	return values
}

func TestKernelModule(t *testing.T) {
	t.Parallel()
	all := put(kernelModuleProc, kernelModuleLine, "/etc/modules", "# x\nbr-netfilter\n", "/etc/modprobe.d/x.conf", "options br-netfilter a=1\nalias x y\nblacklist br_netfilter\n")
	statestest.Run(t, statestest.Suite{Module: kernelmodule.Module, Host: newKernelModuleHost, Hostile: kernelModulePart(map[string]any{"options": "a=1"}), Cases: []statestest.Case{
		{Name: "create", Values: kernelModulePart(nil), Action: states.Create, Changes: []string{"loaded", "boot"}, Check: holds(kernelModuleProc, kernelModuleUsed+kernelModuleLine, kernelModuleBoot, "br_netfilter\n", "/var/log/modprobe", "modprobe -- br_netfilter")},
		{
			Name: "with options", Values: kernelModulePart(map[string]any{"options": "a=1 b=2,3 c"}), Action: states.Create, Changes: []string{"loaded", "boot", "options"},
			Check: holds("/var/log/modprobe", "modprobe -- br_netfilter a=1 b=2,3 c", probed, "options br_netfilter a=1 b=2,3 c\n"),
		}, {
			Name: "kept away", Values: kernelModulePart(map[string]any{"loaded": false, "boot": false, "blacklisted": true}), Action: states.Create, Changes: []string{"loaded", "boot", "blacklisted"},
			Check: holds(kernelModuleProc, kernelModuleUsed, probed, "blacklist br_netfilter\n", kernelModuleBoot, ""),
		},
		{Name: "unloaded by hand", Prepare: put(kernelModuleBoot, "br_netfilter\n"), Values: kernelModulePart(nil), Action: states.Update, Changes: []string{"loaded"}, Check: holds(kernelModuleProc, kernelModuleUsed+kernelModuleLine)},
		{Name: "loaded by hand", Prepare: put(kernelModuleProc, kernelModuleLine), Values: kernelModulePart(nil), Action: states.Update, Changes: []string{"boot"}, Check: holds(kernelModuleBoot, "br_netfilter\n")},
		{
			Name: "kept away, and no more is said", Values: kernelModulePart(map[string]any{"blacklisted": true}), Action: states.Create, Changes: []string{"blacklisted"},
			Check: holds(kernelModuleProc, kernelModuleUsed, probed, "blacklist br_netfilter\n", kernelModuleBoot, ""),
		},
		{Name: "nothing to do", Prepare: all, Values: kernelModulePart(map[string]any{"loaded": true, "boot": true, "options": "a=1", "blacklisted": true})},
		{Name: "unload", Prepare: all, Values: kernelModulePart(map[string]any{"loaded": false}), Action: states.Update, Changes: []string{"loaded"}, Check: holds(kernelModuleProc, "")},
		{Name: "not at boot", Prepare: all, Values: kernelModulePart(map[string]any{"boot": false}), Action: states.Update, Changes: []string{"boot"}, Check: holds("/etc/modules", "# x\n", kernelModuleProc, kernelModuleLine)},
		{
			Name: "other options", Prepare: all, Values: kernelModulePart(map[string]any{"options": "a=2"}), Action: states.Update, Changes: []string{"options"},
			Check: holds("/etc/modprobe.d/x.conf", "alias x y\nblacklist br_netfilter\n", probed, "options br_netfilter a=2\n"),
		},
		{Name: "no options", Prepare: all, Values: kernelModulePart(map[string]any{"options": ""}), Action: states.Update, Changes: []string{"options"}, Check: holds(probed, "")},
		{Name: "not kept away", Prepare: all, Values: kernelModulePart(map[string]any{"blacklisted": false}), Action: states.Update, Changes: []string{"blacklisted"}, Check: holds("/etc/modprobe.d/x.conf", "options br-netfilter a=1\nalias x y\n")},
		{
			Name: "absent", Ensure: states.Absent, Prepare: all, Values: kernelModulePart(nil), Action: states.Remove, Changes: []string{"loaded", "boot", "options", "blacklisted"},
			Check: holds(kernelModuleProc, "", "/etc/modules", "# x\n", "/etc/modprobe.d/x.conf", "alias x y\n"),
		},
		{Name: "built in", Values: map[string]any{"name": "tcp_cubic"}, Stays: "it is built in"},
		{Name: "built in, unloaded", Values: map[string]any{"name": "tcp_cubic", "loaded": false}, Fails: "built into the kernel"},
		{Name: "built in, absent", Ensure: states.Absent, Values: map[string]any{"name": "tcp_cubic"}, Fails: "built into the kernel"},
		{Name: "unknown", Values: map[string]any{"name": "none"}, Fails: "Module none not found"},
		{Name: "a kernel without modules", Values: kernelModulePart(nil), Fails: "loads no modules", Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove(kernelModuleProc); err != nil {
				t.Fatal(err)
			}
		}},
		{Name: "nothing", Values: kernelModulePart(map[string]any{"loaded": false, "boot": false}), Wrong: "nothing is left"},
		{Name: "dashes", Values: map[string]any{"name": "br-netfilter"}, Wrong: "with underscores"},
		{Name: "an option", Values: map[string]any{"name": "-r"}, Wrong: "looks like an option"},
		{Name: "a second line", Values: kernelModulePart(map[string]any{"options": "a=1\ninstall x /bin/sh"}), Wrong: "one space"},
		{Name: "an option of modprobe", Values: kernelModulePart(map[string]any{"options": "-r"}), Wrong: "looks like an option"},
	}})
}

// In use, it is not unloaded, and a plan says so.
func TestKernelModuleInUse(t *testing.T) {
	t.Parallel()
	h := newKernelModuleHost(t)
	want, err := kernelmodule.Module.Decode(map[string]any{"name": "bridge", "loaded": false}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have, err := kernelmodule.Module.Read(t.Context(), h, want)
	if err != nil || have == nil {
		t.Fatal(have, err)
	}
	err = kernelmodule.Module.Foresee(t.Context(), host.NewShadow(h), have, want)
	if err == nil || !strings.Contains(err.Error(), "bridge is in use (stp)") {
		t.Errorf("foreseen: %v", err)
	}
}
