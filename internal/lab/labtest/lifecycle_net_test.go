//go:build lab

package labtest

import (
	"testing"
)

// Tunnels, CAN and the VLANs of bridges are not in every kernel: what tenet makes of
// them is tested against memory and the bytes of rtnetlink.
func TestLifecycleOfNetworkDevices(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(`ip link add port1 type veth peer name end1 && ip link add port2 type veth peer name end2`)
	lifecycle{
		Type: "bridge", Label: "br0",
		Steps: []step{
			{Set: ``, Verify: `ip -d link show br0 | grep -q "bridge forward_delay 1500 .*stp_state 0" && ip link show br0 | grep -q "[<,]UP[,>]"`},
			{Set: `stp = true`, Verify: `ip -d link show br0 | grep -q "stp_state 1"`},
			{Set: `forward_delay = "4s"`, Verify: `ip -d link show br0 | grep -q "forward_delay 400 "`},
			{Set: "stp = false\nforward_delay = \"0s\"", Verify: `ip -d link show br0 | grep -q "forward_delay 0 .*stp_state 0"`},
			{Set: `mac = "02:00:00:00:00:07"`, Verify: `ip link show br0 | grep -q 02:00:00:00:00:07`},
			{Set: `up = false`, Verify: `! ip link show br0 | grep -q "[<,]UP[,>]"`},
		},
		Untried: map[string]string{"vlan_filtering": "the kernel of the lab has no VLANs of bridges"},
		Gone:    "! ip link show br0",
	}.run(m)
	lifecycle{
		Type: "bridge_port", Label: "port1",
		Beside: "bridge \"br1\" {}\nbridge \"br2\" {}\ninterface \"port2\" {\n up = true\n}\n",
		Steps: []step{
			{Set: `bridge = "br1"`, Verify: `ip link show port1 | grep -q "master br1"`},
			{Set: `bridge = "br2"`, Verify: `ip link show port1 | grep -q "master br2"`},
		},
		Gone: `! ip link show port1 | grep -q master`,
	}.run(m)
	lifecycle{
		Type: "interface", Label: "br1", Prepare: `ip link set br1 up; ip addr add 198.51.100.9/24 valid_lft 3600 preferred_lft 3600 dev br1`,
		Steps: []step{
			{Set: `addresses = ["192.0.2.1/24", "2001:db8::1/64"]`, Verify: `ip -br addr show br1 | grep 192.0.2.1/24 | grep -q 2001:db8::1/64`},
			{Set: `addresses = ["192.0.2.2/24"]`, Verify: `a=$(ip -br addr show br1); ! echo "$a" | grep -q 192.0.2.1/24 && echo "$a" | grep 198.51.100.9/24 | grep -q fe80::`},
			{Set: `addresses = ["198.51.100.9/24"]`, Verify: `ip addr show br1 | grep -A1 198.51.100.9/24 | grep -q "valid_lft forever"`},
			{Set: `mtu = 1400`, Verify: `ip link show br1 | grep -q "mtu 1400"`},
			{Set: `up = false`, Verify: `! ip link show br1 | grep -q "[<,]UP[,>]"`},
			{Set: "up = true\naddresses = []", Verify: `! ip -br addr show br1 | grep 198.51.100.9`},
		},
		Found: true,
	}.run(m)
	// Somebody changes devices by hand: each is found, and put right. What makes a device
	// comes first, wherever it stands.
	m.site(`
bridge_port "port1" {
  bridge = "br0"
}
bridge "br0" {
  up  = true
  stp = true
}
interface "port1" {
  up = true
}
interface "br0" {
  addresses = ["192.0.2.1/24"]
}
`)
	m.apply()
	for _, broken := range []string{
		"ip link set br0 down", "ip link set dev port1 nomaster", "ip addr add 192.0.2.9/24 dev br0", "ip addr del 192.0.2.1/24 dev br0",
		"ip link set br0 type bridge stp_state 0", "ip link set port1 down", "ip link del br0",
	} {
		m.shell(broken)
		if changed := m.apply(); len(changed) == 0 {
			m.Errorf("after %q nothing was put right", broken)
		}
		if changed := m.apply(); len(changed) > 0 {
			m.Errorf("after %q a second apply changes %q", broken, changed)
		}
	}
}

// What the kernel refuses is said in words, and before anything else is changed.
func TestNetworkDevicesThatCannotBe(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site("gre \"g0\" {\n  local  = \"192.0.2.1\"\n  remote = \"192.0.2.2\"\n}\n")
	says(t, m.fails("gre.g0"), "this kernel has no gre (modprobe ip_gre")
	m.site("can \"can0\" {\n  bitrate = 500000\n}\n")
	says(t, m.fails("can.can0"), "this host has no CAN device can0")
	m.site("interface \"eth9\" {\n  up = true\n}\n")
	says(t, m.fails("interface.eth9"), "this host has no network device named eth9")
	m.site("bridge_port \"lo\" {\n  bridge = \"br0\"\n}\nbridge \"br0\" {}\n")
	m.fails("bridge_port.lo")
}
