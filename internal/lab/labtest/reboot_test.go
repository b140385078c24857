//go:build lab

package labtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
)

const rebootSite = `
file "before" {
  path    = "/srv/before"
  content = "1"
  notify  = [reboot.kernel]
}

command "count" {
  shell   = "echo run >> /srv/count"
  require = [file.before]
}

reboot "kernel" {
  message = "it's \"time\""
  require = [command.count]
}

file "after" {
  path    = "/srv/after"
  content = "2"
  require = [reboot.kernel]
}
`

const bootID = "cat /proc/sys/kernel/random/boot_id"

// goneOn waits until the run has gone on after the reboot, and ended.
func (m *machine) goneOn() journal.Status {
	m.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var s journal.Status
		text := m.shell("tenet status --json")
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			m.Fatal(err, text)
		}
		if s.State != journal.Rebooting && s.State != journal.Running {
			return s
		}
		if time.Now().After(deadline) {
			m.Fatalf("the run does not go on: %s\n%s", text, m.shell("systemctl status tenet-resume; journalctl -b --no-pager | tail -50; true"))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// wholeRun looks at what a run with a reboot in its middle has left.
func (m *machine) wholeRun(before string) {
	m.Helper()
	if now := m.shell(bootID); now == before {
		m.Error("it has not rebooted")
	}
	s := m.goneOn()
	if s.State != journal.Done || s.Counts == nil || s.Counts.Changed != 4 {
		m.Errorf("the run: %+v\n%s", s, m.shell("tenet logs; journalctl -b -u tenet-resume --no-pager; true"))
	}
	if got := m.shell("cat /srv/before /srv/after /srv/count"); got != "12run" {
		m.Errorf("on the host: %q", got)
	}
	m.shell("test ! -e /etc/systemd/system/tenet-resume.service && test ! -e /etc/systemd/system/multi-user.target.wants/tenet-resume.service")
	if got := m.shell("tenet history | wc -l"); got != "1" {
		m.Errorf("%s runs", got)
	}
}

func TestRunGoesOnAfterReboot(t *testing.T) {
	t.Parallel()
	m := bootLasting(t)
	m.site(rebootSite)
	before := m.shell(bootID)
	m.shell("mkdir -p /srv; systemd-run --unit=first --collect tenet apply --yes /root/site")
	if err := m.host.AwaitReboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.wholeRun(before)
	// A unit of a run that was killed before the machine went down is obsolete once
	// the site is applied again.
	m.shell(`ln -s ../tenet-resume.service /etc/systemd/system/multi-user.target.wants/
id=$(tenet history | cut -c1-15)
printf '[Unit]\nDescription=tenet goes on with run %s\n' "$id" > /etc/systemd/system/tenet-resume.service`)
	// The next apply finds nothing to do but what it does each time.
	m.site(strings.Replace(rebootSite, "require = [reboot.kernel]", "", 1))
	now := m.shell(bootID)
	if got := m.shell("tenet apply --yes /root/site --exclude reboot.kernel; true"); strings.Contains(got, "/srv/before") {
		t.Errorf("the next apply: %s", got)
	}
	if m.shell(bootID) != now {
		t.Error("it has rebooted again")
	}
	m.shell("test ! -e /etc/systemd/system/tenet-resume.service && test ! -L /etc/systemd/system/multi-user.target.wants/tenet-resume.service")
}

// Tenet is killed while the machine goes down: the run goes on all the same.
func TestKilledBeforeReboot(t *testing.T) {
	t.Parallel()
	m := bootLasting(t)
	m.site(rebootSite)
	before := m.shell(bootID)
	// systemctl is in the way: it takes its time, and in that tenet is killed.
	m.shell(`mkdir -p /srv
cat > /usr/local/sbin/systemctl <<'END'
#!/bin/sh
if [ "$1" = reboot ]; then
	rm /usr/local/sbin/systemctl
	pkill -KILL -x tenet
	sleep 1
	exec /usr/bin/systemctl reboot
fi
exec /usr/bin/systemctl "$@"
END
chmod +x /usr/local/sbin/systemctl
systemd-run --unit=first --collect -p KillMode=process tenet apply --yes /root/site`)
	if err := m.host.AwaitReboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.wholeRun(before)
}
