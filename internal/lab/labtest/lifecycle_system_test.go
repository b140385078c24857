//go:build lab

package labtest

import "testing"

func TestLifecycleOfSystem(t *testing.T) {
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
}

// What was set is set again by what reads the files at boot, and a value that the
// kernel does not take is not written for it.
func TestSysctlAtBoot(t *testing.T) {
	m := boot(t)
	m.site("sysctl \"net.ipv4.ip_forward\" {\n  value = \"1\"\n}\n")
	m.converges(`sysctl["net.ipv4.ip_forward"]`)
	m.shell("echo 0 > /proc/sys/net/ipv4/ip_forward && sysctl -q -p /etc/sysctl.d/70-tenet.conf && [ $(cat /proc/sys/net/ipv4/ip_forward) = 1 ]")
	m.shell("echo 0 > /proc/sys/net/ipv4/ip_forward")
	m.converges(`sysctl["net.ipv4.ip_forward"]`)
	m.site("sysctl \"net.ipv4.ip_local_port_range\" {\n  value = \"many\"\n}\n")
	says(t, m.fails(`sysctl["net.ipv4.ip_local_port_range"]`), "the kernel does not take \"many\"")
	m.site("sysctl \"net.ipv4.ip_forwarding\" {\n  value = \"1\"\n}\n")
	says(t, m.fails(`sysctl["net.ipv4.ip_forwarding"]`), "no parameter of the kernel")
	m.shell("! grep -r -e many -e forwarding /etc/sysctl.d")
}
