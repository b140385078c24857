package moduletest_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/sysctl"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	sysctlFile = "/etc/sysctl.d/70-tenet.conf"
	forward    = "/proc/sys/net/ipv4/ip_forward"
	ports      = "/proc/sys/net/ipv4/ip_local_port_range"
)

func newSysctlHost(t *testing.T) host.Host {
	h := fake.Host(t)
	for name, value := range map[string]string{
		forward: "0\n", ports: "32768\t60999\n",
		"/proc/sys/net/ipv4/conf/eth0.1/forwarding": "0\n",
	} {
		fake.Put(t, h, name, value, 0o644)
	}
	return h
}

// sysctlAfter holds that files end as they should; "-": there is none.
func sysctlAfter(want map[string]string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		for name, text := range want {
			if fake.Exists(h, name) == (text == "-") || text != "-" && fake.Text(h, name) != text {
				t.Errorf("%s holds %q, want %q", name, fake.Text(h, name), text)
			}
		}
	}
}

func TestSysctl(t *testing.T) {
	t.Parallel()
	const key, other = "net.ipv4.ip_forward", "net.ipv4.ip_local_port_range"
	cases := []statestest.Case{
		{
			Name: "create", Values: map[string]any{"key": key, "value": "1"}, Action: states.Create, Changes: []string{"value", "file"},
			Check: sysctlAfter(map[string]string{forward: "1\n", sysctlFile: key + " = 1\n"}),
		}, {
			Name: "several numbers", Values: map[string]any{"key": other, "value": "20000 \t 50000"}, Action: states.Create, Changes: []string{"value", "file"},
			Check: sysctlAfter(map[string]string{ports: "20000 \t 50000\n", sysctlFile: other + " = 20000 \t 50000\n"}),
		}, {
			Name: "the kernel has it", Values: map[string]any{"key": other, "value": "32768 60999"}, Action: states.Create, Changes: []string{"value", "file"},
			Check: sysctlAfter(map[string]string{ports: "32768\t60999\n"}),
		}, {
			Name: "a word with a dot", Values: map[string]any{"key": "net.ipv4.conf.eth0/1.forwarding", "value": "1"}, Action: states.Create, Changes: []string{"value", "file"},
			Check: sysctlAfter(map[string]string{"/proc/sys/net/ipv4/conf/eth0.1/forwarding": "1\n", sysctlFile: "net.ipv4.conf.eth0/1.forwarding = 1\n"}),
		}, {
			Name: "nothing to do", Prepare: put(sysctlFile, "# ours\n"+key+"=0\n"), Values: map[string]any{"key": key, "value": "0"},
		}, {
			Name: "written with slashes", Prepare: put(sysctlFile, "net/ipv4/ip_forward=0\n"), Values: map[string]any{"key": key, "value": "0"},
		}, {
			Name: "the file differs", Prepare: put(sysctlFile, "# ours\n-"+key+"=1\n"+other+" = 1 2\n"), Values: map[string]any{"key": key, "value": "0"},
			Action: states.Update, Changes: []string{"value"}, Check: sysctlAfter(map[string]string{forward: "0\n", sysctlFile: "# ours\n" + key + " = 0\n" + other + " = 1 2\n"}),
		}, {
			Name: "the kernel differs", Prepare: put(sysctlFile, key+" = 1\n"), Values: map[string]any{"key": key, "value": "1"},
			Action: states.Update, Changes: []string{"value"}, Check: sysctlAfter(map[string]string{forward: "1\n", sysctlFile: key + " = 1\n"}),
		}, {
			Name: "at boot only", Prepare: put("/etc/sysctl.d/99-x.conf", key+" = 1\n"), Values: map[string]any{"key": key, "value": "0", "now": false},
			Action: states.Update, Changes: []string{"value"}, Check: sysctlAfter(map[string]string{forward: "0\n", "/etc/sysctl.d/99-x.conf": key + " = 0\n", sysctlFile: "-"}),
		}, {
			Name: "another file", Values: map[string]any{"key": key, "value": "1", "file": "/etc/sysctl.conf"}, Prepare: put("/etc/sysctl.conf", "# of Debian\n"),
			Action: states.Create, Changes: []string{"value", "file"}, Check: sysctlAfter(map[string]string{"/etc/sysctl.conf": "# of Debian\n" + key + " = 1\n", sysctlFile: "-"}),
		}, {
			Name: "into another file", Prepare: put("/etc/sysctl.d/10-x.conf", key+"=1\n"), Values: map[string]any{"key": key, "value": "0", "file": sysctlFile},
			Action: states.Update, Changes: []string{"value", "file"}, Check: sysctlAfter(map[string]string{"/etc/sysctl.d/10-x.conf": key + "=1\n", sysctlFile: key + " = 0\n"}),
		}, {
			Name: "a later file sets the same", Prepare: put("/etc/sysctl.d/99-x.conf", key+"=1\n"), Values: map[string]any{"key": key, "value": "1", "file": sysctlFile},
			Action: states.Update, Changes: []string{"value", "file"},
		}, {
			Name: "absent", Ensure: states.Absent, Prepare: put(sysctlFile, key+" = 1\n"), Values: map[string]any{"key": key, "value": "1"},
			Action: states.Remove, Changes: []string{"value", "file"}, Check: sysctlAfter(map[string]string{forward: "0\n", sysctlFile: "-"}),
		}, {
			Name: "absent, with others", Ensure: states.Absent, Prepare: put(sysctlFile, key+" = 1\n# x\n"), Values: map[string]any{"key": key},
			Action: states.Remove, Changes: []string{"value", "file"}, Check: sysctlAfter(map[string]string{sysctlFile: "# x\n"}),
		},
		{Name: "a later file", Prepare: put("/etc/sysctl.d/99-x.conf", key+"=0\n"), Values: map[string]any{"key": key, "value": "1", "file": sysctlFile}, Fails: `/etc/sysctl.d/99-x.conf sets net.ipv4.ip_forward to "0" at boot`},
		{Name: "the last file", Prepare: put("/etc/sysctl.conf", key+"=0\n"), Values: map[string]any{"key": key, "value": "1", "file": sysctlFile}, Fails: `/etc/sysctl.conf sets`},
		{Name: "unknown", Values: map[string]any{"key": "net.ipv4.nothing", "value": "1"}, Fails: "no parameter of the kernel named net.ipv4.nothing"},
		{Name: "no number", Values: map[string]any{"key": other, "value": "many"}, Fails: `"many" is no number, and the kernel has the number 32768 60999`, Check: sysctlAfter(map[string]string{sysctlFile: "-"})},
		{Name: "a text that looks like a number", Prepare: put("/proc/sys/kernel/core_pattern", "1\n"), Values: map[string]any{"key": "kernel.core_pattern", "value": "core.%p"},
			Action: states.Create, Changes: []string{"value", "file"}},
		{Name: "a mask", Prepare: put("/proc/sys/kernel/watchdog_cpumask", "0\n"), Values: map[string]any{"key": "kernel.watchdog_cpumask", "value": "0-3,7"},
			Action: states.Create, Changes: []string{"value", "file"}},
		{Name: "only to be read", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, forward, "0\n", 0o444) }, Values: map[string]any{"key": key, "value": "1"}, Fails: "can only be read"},
		{Name: "in a container", Prepare: put("/proc/self/mountinfo", "1 0 0:1 / / rw - ext4 x rw\n2 1 0:4 / /proc/sys ro - proc proc rw\n"), Values: map[string]any{"key": key, "value": "1"},
			Fails: "/proc/sys/net/ipv4 is mounted read-only"},
		{Name: "in a container with a network of its own", Prepare: put("/proc/self/mountinfo", "2 1 0:4 / /proc/sys ro - proc proc rw\n3 2 0:4 / /proc/sys/net rw - proc proc rw\n"),
			Values: map[string]any{"key": key, "value": "1"}, Action: states.Create, Changes: []string{"value", "file"}},
		{Name: "no value", Values: map[string]any{"key": key, "value": " "}, Wrong: "a value is required"},
		{Name: "two lines", Values: map[string]any{"key": key, "value": "1\nkernel.panic = 1"}, Wrong: "cannot contain"},
		{Name: "a long value", Values: map[string]any{"key": key, "value": strings.Repeat("1", 5000)}, Wrong: "5000 bytes"},
		{Name: "slashes", Values: map[string]any{"key": "net/ipv4/conf/eth0.1/forwarding", "value": "1"}, Wrong: "slashes between its words"},
		{Name: "a path", Values: map[string]any{"key": "net.ipv4././/etc/passwd", "value": "1"}, Wrong: "a slash stands for a dot"},
		{Name: "up", Values: map[string]any{"key": "net..ipv4", "value": "1"}, Wrong: "a name is required"},
		{Name: "one word", Values: map[string]any{"key": "panic", "value": "1"}, Wrong: "no name of a parameter"},
		{Name: "a file that is not read", Values: map[string]any{"key": key, "value": "1", "file": "/etc/sysctl.d/x"}, Wrong: "no file that is read at boot"},
		{Name: "a file elsewhere", Values: map[string]any{"key": key, "value": "1", "file": "/etc/sysctl.d/../x.conf"}, Wrong: "no file that is read at boot"},
	}
	statestest.Run(t, statestest.Suite{
		Module: sysctl.Module, Host: newSysctlHost, Cases: cases,
		Hostile: map[string]any{"key": key, "value": "1"},
	})
}

// Below a root there is no kernel, and the file is enough.
func TestSysctlBelowRoot(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: sysctl.Module,
		Host: func(t *testing.T) host.Host {
			h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			fake.Dir(t, h, "/etc/sysctl.d", 0o755)
			return h
		},
		Cases: []statestest.Case{{
			Name: "create", Values: map[string]any{"key": "no.such", "value": "1"}, Action: states.Create, Changes: []string{"value", "file"},
			Check: sysctlAfter(map[string]string{sysctlFile: "no.such = 1\n"}),
		}},
	})
}
