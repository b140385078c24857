//go:build lab

package labtest

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// What an apply would be refused fails the plan already, in the same words.
func TestPlanFindsWhatIsRefused(t *testing.T) {
	t.Parallel()
	m := boot(t)
	for _, c := range []struct{ address, site, says string }{
		{`mount["/srv/x"]`, `mount "/srv/x" { source = "UUID=11111111-2222-3333-4444-555555555555" }`, "no device with UUID=11111111"},
		{`mount["/srv/x"]`, `mount "/srv/x" { source = "LABEL=none of these" }`, "no device with LABEL=none of these"},
		{`mount["/srv/n"]`, "mount \"/srv/n\" {\n  source = \"192.0.2.1:/x\"\n  fstype = \"nfs\"\n}\n", "no mount.nfs"},
		{`sysctl["net.ipv4.ip_forward"]`, `sysctl "net.ipv4.ip_forward" { value = "yes" }`, `"yes" is no number`},
		{`sysctl["net.ipv4.tcp_available_congestion_control"]`, `sysctl "net.ipv4.tcp_available_congestion_control" { value = "x" }`, "can only be read"},
		{`sysctl["kernel.panic"]`, `sysctl "kernel.panic" { value = "123" }`, "is mounted read-only"},
		{`user.ann`, `user "ann" { shell = "/bin/zsh" }`, "no program /bin/zsh"},
		{`systemd_unit["x.service"]`, "systemd_unit \"x.service\" {\n  drop_in = \"y\"\n  content = \"[Service]\\nRestartsec=1\\n\"\n}\n", "it is written RestartSec"},
	} {
		m.site(c.site)
		r := m.tenet("plan")
		found := false
		for _, e := range r.parts() {
			found = found || e.Address == c.address && e.Outcome == states.Failed && e.Error != nil && strings.Contains(e.Error.Message, c.says) && e.Error.Hint != ""
		}
		if !found || r.status != 1 {
			t.Errorf("%s: the plan ended with %d: %s%s", c.address, r.status, r.failures(), r.stderr)
		}
		says(t, m.fails(c.address), c.says)
	}
	m.shell("! grep -e /srv /etc/fstab && ! id ann && test ! -e /etc/sysctl.d/70-tenet.conf && test ! -e /etc/systemd/system/x.service.d")
}
