//go:build lab

package labtest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/lab"
)

// stocked boots a host whose apt knows the lab's parcels, without some packages,
// which the test then installs itself.
func stocked(t *testing.T, without ...string) *machine {
	t.Helper()
	m := boot(t)
	if len(without) > 0 {
		m.shell("SUDO_FORCE_REMOVE=yes apt-get purge -q -y " + strings.Join(without, " "))
	}
	m.shell("echo 'deb [trusted=yes] file:" + lab.Parcels + " ./' > /etc/apt/sources.list.d/parcels.list")
	return m
}

// settles applies a site of components, whose second apply must change nothing.
func (m *machine) settles(text string) {
	m.Helper()
	m.site(text)
	m.apply()
	if got := m.apply(); len(got) > 0 {
		m.Errorf("the second apply changed %q", got)
	}
}

// takesAway applies the same site with all components absent.
func (m *machine) takesAway(text string) {
	m.Helper()
	absent := regexp.MustCompile("(?m)^component .*$").ReplaceAllString(text, "$0\n  ensure = \"absent\"")
	if absent == text {
		m.Fatal("nothing is absent")
	}
	m.settles(absent)
}

// gives wants a script to print a text.
func (m *machine) gives(script, want string) {
	m.Helper()
	if got := m.shell(script); got != want {
		m.Errorf("%s\nprints %q, want %q", script, got, want)
	}
}

func TestStdlibMotdAndSysctl(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("sysctl -q -w net.ipv4.ip_forward=0 net.ipv4.ip_local_port_range='32768 60999'")
	const site = `
component "motd" {
  source = "std/motd"
  vars = {
    text = "Welcome."
  }
}

component "notice" {
  source = "std/motd"
  vars = {
    name = "notice"
    text = "Down on Sunday.\n"
  }
}

component "kernel" {
  source = "std/sysctl"
  vars = {
    settings = {
      "net.ipv4.ip_forward"          = 1
      "net.ipv4.ip_local_port_range" = "20000 50000"
    }
  }
}
`
	m.settles(site)
	m.gives("cat /etc/motd /etc/motd.d/notice", "Welcome.\nDown on Sunday.")
	m.gives("sysctl -n net.ipv4.ip_forward net.ipv4.ip_local_port_range | tr '\\t' ' '", "1\n20000 50000")
	m.shell("touch /etc/motd.d/of-others")
	m.takesAway(site)
	m.shell("test ! -e /etc/motd && test ! -e /etc/motd.d/notice && test -e /etc/motd.d/of-others && test ! -e /etc/sysctl.d/60-tenet.conf")

	m.settles(site)
	m.shell("sysctl -q -w net.ipv4.ip_forward=0")
	m.converges(`component.kernel.state.running["net.ipv4.ip_forward"].command.set`)
	m.site(strings.Replace(site, `"net.ipv4.ip_forward" `, `"net.ipv4.no_such_thing" `, 1))
	m.fails(`component.kernel.state.running["net.ipv4.no_such_thing"].command.now`)
}

func TestStdlibCron(t *testing.T) {
	t.Parallel()
	m := stocked(t, "cron")
	const site = `
component "jobs" {
  source = "std/cron"
  vars = {
    jobs = {
      mark = {
        schedule    = "@reboot"
        command     = "printf '%s %s\\n' \"$WHO\" 'a%b' \"$(id -un)\" > /tmp/mark"
        user        = "www-data"
        environment = { WHO = "cron 100%" }
      }
      other = {
        schedule = "*/5 8-18 * jan 1-5"
        command  = "true"
      }
    }
  }
}
`
	m.settles(site)
	m.gives("systemctl is-active cron; systemctl is-enabled cron", "active\nenabled")
	// cron runs such jobs when it starts, once after each boot.
	m.shell("rm -f /run/crond.reboot /var/run/crond.reboot; systemctl restart cron")
	m.gives("for i in $(seq 600); do test -s /tmp/mark && break; sleep 0.1; done; cat /tmp/mark", "cron 100% a%b\nwww-data")
	m.shell("! journalctl -u cron -o cat | grep -i -e 'bad ' -e error")
	m.takesAway(site)
	m.shell("test ! -e /etc/cron.d/mark && test ! -e /etc/cron.d/other && systemctl is-active cron")

	m.site(strings.Replace(site, `"www-data"`, `"nobody-here"`, 1))
	m.fails(`component.jobs.state.job["mark"].command.user`)
	m.shell("test ! -e /etc/cron.d/mark")
}

// What a mirror stands for is used, and what the distribution brings is passed
// over, until the mirror is taken away.
func TestStdlibAptMirror(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("echo 'deb http://127.0.0.1:9/debian bookworm main' > /etc/apt/sources.list\n" +
		"printf 'Types: deb\\nURIs: http://127.0.0.1:9/own\\nSuites: bookworm\\nComponents: main\\n' > /etc/apt/sources.list.d/debian.sources")
	const site = `
component "mirror" {
  source = "std/apt_mirror"
  vars = {
    url        = "file:` + lab.Parcels + `"
    suites     = ["./"]
    components = []
    signed_by  = "trusted"
  }
}
`
	m.settles(site)
	m.shell("apt-cache policy cron | grep -q 'Candidate: [1-9]' && ! apt-get indextargets | grep -q 127.0.0.1:9")
	m.gives("ls /etc/apt/sources.list.d /etc/apt/*.disabled", "/etc/apt/sources.list.disabled\n\n/etc/apt/sources.list.d:\ndebian.sources.disabled\nlab.list\nmirror.sources")

	// The way back.
	back := strings.Replace(site, "    url ", "    distribution = true\n    update = false\n    url ", 1)
	m.settles(back)
	m.takesAway(back)
	m.gives("apt-get --print-uris update | grep -o 'http:[^ ]*/InRelease'", "http://127.0.0.1:9/debian/dists/bookworm/InRelease\nhttp://127.0.0.1:9/own/dists/bookworm/InRelease")

	// A mirror that does not answer is told, and nothing is set aside for it.
	m.site(strings.Replace(strings.Replace(site, "file:"+lab.Parcels, "http://127.0.0.1:9/none", 1), `"trusted"`, `"/etc/hostname"`, 1))
	says(t, m.fails("component.mirror.state.fetch.command.update"), "127.0.0.1")
	m.shell("test -e /etc/apt/sources.list && test -e /etc/apt/sources.list.d/debian.sources")
}
