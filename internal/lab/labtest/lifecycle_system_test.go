//go:build lab

package labtest

import "testing"

func TestLifecycleOfSystem(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "sysctl", Label: "net.ipv4.ip_local_port_range",
		Steps: []step{
			{Set: `value = "20000 50000"`, Verify: `[ "$(cat /proc/sys/net/ipv4/ip_local_port_range)" = "$(printf '20000\t50000')" ]`},
			{Set: `value = "20000 60000"`, Verify: `grep -qx 'net.ipv4.ip_local_port_range = 20000 60000' /etc/sysctl.d/70-tenet.conf`},
			{Set: "value = \"20000 60000\"\nfile = \"/etc/sysctl.d/80-ports.conf\"", Verify: `grep -qx 'net.ipv4.ip_local_port_range = 20000 60000' /etc/sysctl.d/80-ports.conf`},
		},
		Gone: "! grep -r ip_local_port_range /etc/sysctl.conf /etc/sysctl.d",
	}.run(m)
	lifecycle{
		Type: "limits", Label: "www-data", Prepare: "cp -a /etc/security /tmp/security",
		Steps: []step{
			{Set: limit + `value = "1234"`, Verify: `[ "$(su -s /bin/sh -c 'ulimit -Hn' www-data)" = 1234 ]`},
			{Set: limit + `value = "4321"`, Verify: `[ "$(su -s /bin/sh -c 'ulimit -Hn' www-data)" = 4321 ]`},
			{Set: limit + "value = \"4321\"\nfile = \"/etc/security/limits.d/80-web.conf\"", Verify: `[ "$(su -s /bin/sh -c 'ulimit -Hn' www-data)" = 4321 ]`},
		},
		Gone: "diff -r /tmp/security /etc/security",
	}.run(m)
	lifecycle{
		Type: "hosts_entry", Label: "192.0.2.1", Prepare: "echo '127.0.0.1 localhost # this' >> /etc/hosts; cp /etc/hosts /tmp/hosts",
		Steps: []step{
			{Set: `names = ["web.test", "web"]`, Verify: `[ "$(getent hosts web)" = "192.0.2.1       web.test web" ]`},
			{Set: `names = ["www.test"]`, Verify: `! getent hosts web && getent hosts www.test`},
		},
		Gone: "diff /tmp/hosts /etc/hosts",
	}.run(m)
	lifecycle{
		Type: "hostname", Label: "web1.test", Found: true,
		Steps: []step{
			// The lab's containers see the kernel's settings read-only.
			{Set: ``, Maybe: "/proc/sys/kernel/hostname is read-only", Verify: `[ "$(uname -n) $(cat /etc/hostname)" = "web1.test web1.test" ]`},
			{Set: `pretty = "Web \"1\" in Lübeck"`, Verify: `. /etc/machine-info && [ "$PRETTY_HOSTNAME" = 'Web "1" in Lübeck' ]`},
		},
	}.run(m)
	lifecycle{
		Type: "timezone", Label: "Europe/Berlin", Found: true,
		Steps: []step{{Verify: `[ "$(date -d '2024-07-01 12:00 UTC' +%H:%M) $(cat /etc/timezone)" = "14:00 Europe/Berlin" ]`}},
	}.run(m)
	lifecycle{
		Type: "locale", Label: "de_DE.UTF-8", Prepare: "cp /etc/locale.gen /tmp; cp /etc/default/locale /tmp/default-locale || : > /tmp/default-locale",
		Steps: []step{
			{Set: ``, Verify: `[ "$(LC_ALL=de_DE.UTF-8 date -d 2024-01-01 +%A)" = Montag ]`},
			{Set: `default = true`, Verify: `grep -qx LANG=de_DE.UTF-8 /etc/default/locale`},
		},
		Gone: "! locale -a | grep de_DE && ! grep -r LANG=de_DE /etc/default && diff /tmp/locale.gen /etc/locale.gen",
	}.run(m)
}

const limit = "type = \"-\"\nitem = \"nofile\"\n"

// A host of the lab is a container, in which nobody may load a module. What stands
// in files is managed there all the same.
func TestKernelModuleInContainer(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "kernel_module", Label: "tenet_lab",
		Steps: []step{
			{Set: "loaded = false\nboot = true", Verify: `grep -qx tenet_lab /etc/modules-load.d/tenet_lab.conf`},
			{Set: "loaded = false\nboot = true\noptions = \"a=1\"", Verify: `[ "$(modprobe -c | grep -x 'options tenet_lab .*')" = "options tenet_lab a=1" ]`},
			{Set: "loaded = false\nboot = false\nblacklisted = true", Verify: `modprobe -c | grep -x 'blacklist tenet_lab' && ! test -e /etc/modules-load.d/tenet_lab.conf`},
		},
		Untried: map[string]string{"loaded": "the kernel is that of the machine around the host"},
		Gone:    "! modprobe -c | grep tenet_lab && ! grep -r tenet_lab /etc/modules*",
	}.run(m)
	m.site("kernel_module \"dummy\" {}\n")
	says(t, m.fails("kernel_module.dummy"), "kernel")
	m.shell("! grep -r dummy /etc/modules /etc/modules-load.d")
}

// What was set is set again by what reads the files at boot, and a value that the
// kernel does not take is not written for it.
func TestSysctlAtBoot(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site("sysctl \"net.ipv4.ip_forward\" {\n  value = \"1\"\n}\n")
	m.converges(`sysctl["net.ipv4.ip_forward"]`)
	m.shell("echo 0 > /proc/sys/net/ipv4/ip_forward && sysctl -q -p /etc/sysctl.d/70-tenet.conf && [ $(cat /proc/sys/net/ipv4/ip_forward) = 1 ]")
	m.shell("echo 0 > /proc/sys/net/ipv4/ip_forward")
	m.converges(`sysctl["net.ipv4.ip_forward"]`)
	m.site("sysctl \"net.ipv4.ip_local_port_range\" {\n  value = \"many\"\n}\n")
	says(t, m.fails(`sysctl["net.ipv4.ip_local_port_range"]`), "\"many\" is no number")
	m.site("sysctl \"net.ipv4.ip_local_port_range\" {\n  value = \"50000 20000\"\n}\n")
	says(t, m.fails(`sysctl["net.ipv4.ip_local_port_range"]`), "the kernel does not take \"50000 20000\"")
	m.site("sysctl \"net.ipv4.ip_forwarding\" {\n  value = \"1\"\n}\n")
	says(t, m.fails(`sysctl["net.ipv4.ip_forwarding"]`), "no parameter of the kernel")
	m.shell("! grep -r -e many -e 50000 -e forwarding /etc/sysctl.d")
}
