//go:build lab

package labtest

import (
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/states"
)

// awkward adds packages to the repository: one whose installation fails while
// /root/bad is there, one that takes long while /root/slow is, one that does not fit
// where /usr/share/lab is small, and two that take each other's place in what a third
// one needs.
const awkward = repository + `
add() { # NAME FIELDS POSTINST [MiB]
	mkdir -p b/DEBIAN b/usr/share/lab
	printf 'Package: %s\nVersion: 1.0\nArchitecture: all\nMaintainer: Lab <lab@example.test>\n%bDescription: lab\n' "$1" "$2" > b/DEBIAN/control
	printf '#!/bin/sh\n%s\n' "$3" > b/DEBIAN/postinst
	chmod 755 b/DEBIAN/postinst
	head -c "${4:-0}M" /dev/urandom > "b/usr/share/lab/$1"
	dpkg-deb -Zgzip --root-owner-group -b b "$1_1.0.deb" > /dev/null
	rm -r b
}
add lab-bad "" 'test ! -e /root/bad || { echo it is bad >&2; exit 1; }'
add lab-slow "" 'while test -e /root/slow; do sleep 0.05; done'
add lab-large "" "" 8
add lab-first 'Provides: lab-thing\nConflicts: lab-thing\n' ""
add lab-second 'Provides: lab-thing\nConflicts: lab-thing\n' ""
add lab-needs 'Depends: lab-thing\n' ""
for d in *.deb; do
	dpkg-deb -f "$d"
	printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$d" "$(stat -c %s "$d")" "$(sha256sum < "$d" | cut -d' ' -f1)"
done > Packages
apt-get -q update
`

func status(m *machine, name string) string {
	m.Helper()
	return m.shell(`dpkg-query -W -f '${Status} ${Version}' ` + name + ` 2> /dev/null || echo none`)
}

// What goes wrong is told with what repairs it, and concerns nothing else.
func TestPackageFailures(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(awkward)

	// A virtual package, which others provide: the plan says so.
	m.site(`package "lab-thing" {}`)
	if r := m.tenet("plan"); r.status != 1 || !strings.Contains(r.failures(), "lab-first, lab-second") {
		t.Errorf("plan: %d %s", r.status, r.failures())
	}

	// An installation that fails blames the right one, and is found unfinished.
	m.shell("touch /root/bad")
	m.site("package \"lab-bad\" {}\npackage \"lab-two\" {}\n")
	says(t, m.fails("package.lab-bad"), "post-installation script")
	if got := status(m, "lab-two"); got != "install ok installed 1.0" {
		t.Errorf("lab-two: %s", got)
	}
	m.site("package \"lab-one\" {}\n")
	says(t, m.fails("package.lab-one"), "lab-bad (half-configured)", "dpkg --configure -a")
	if r := m.tenet("plan"); r.status != 1 || !strings.Contains(r.failures(), "lab-bad (half-configured)") {
		t.Errorf("plan: %d %s", r.status, r.failures())
	}
	// Its own part ends what was begun, once the cause is gone.
	m.shell("rm /root/bad")
	m.site("package \"lab-bad\" {}\n")
	m.converges("package.lab-bad")

	// apt-get is killed in the middle, and dpkg with it.
	m.shell("touch /root/slow; systemd-run -q --unit=slow apt-get -q -y install lab-slow; until pgrep -f 'lab-slow[.]postinst' > /dev/null; do sleep 0.05; done; systemctl kill -s KILL slow; while pgrep -x 'apt-get|dpkg|lab-slow.postin' > /dev/null; do sleep 0.05; done; rm /root/slow")
	m.site("package \"lab-one\" {}\n")
	says(t, m.fails("package.lab-one"), "dpkg", "dpkg --configure -a")
	m.shell("dpkg --configure -a")
	m.converges("package.lab-one")

	// No room: nothing of it stays.
	m.shell("mount -t tmpfs -o size=2m tmpfs /usr/share/lab")
	m.site("package \"lab-large\" {}\n")
	says(t, m.fails("package.lab-large"), "No space left on device", "make room")
	m.shell("umount /usr/share/lab")
	m.converges("package.lab-large")

	// One takes the place of another: what needs either stays.
	m.shell("apt-get -q -y install lab-first lab-needs")
	m.site("package \"lab-second\" {}\npackage \"lab-first\" {\n  ensure = \"absent\"\n  purge = true\n}\n")
	m.converges("package.lab-first", "package.lab-second")
	if got := status(m, "lab-needs"); got != "install ok installed 1.0" {
		t.Errorf("lab-needs: %s", got)
	}

	// What others hold stays, whether it is to be changed or removed.
	m.shell("apt-get -q -y --allow-downgrades install lab-one=1.0; apt-mark hold lab-one")
	m.site("package \"lab-one\" {\n  version = \"2.0\"\n}\n")
	says(t, m.fails("package.lab-one"), "on hold")
	m.site("package \"lab-one\" {\n  ensure = \"absent\"\n}\n")
	says(t, m.fails("package.lab-one"), "on hold")

	// A configuration file that was edited stays, and nobody is asked.
	m.shell("apt-mark unhold lab-one; echo mine > /etc/lab-one.conf")
	m.site("package \"lab-one:all\" {\n  version = \"latest\"\n}\n")
	m.converges(`package["lab-one:all"]`)
	m.shell("grep -qx mine /etc/lab-one.conf")

	// Dependencies that are not met, which nothing but apt knows.
	m.shell("dpkg --force-depends --purge lab-second")
	m.site("package \"lab-one\" {\n  version = \"1.0\"\n}\n")
	says(t, m.fails("package.lab-one"), "lab-needs", "apt-get -f install")
}

// Whoever is at work with the packages is waited for, and named meanwhile.
func TestPackageWaitsForOthers(t *testing.T) {
	t.Parallel()
	m := bootAs(t, "waiting")
	m.shell(awkward)
	m.shell("touch /root/slow; systemd-run -q --unit=slow apt-get -q -y install lab-slow; until pgrep -f 'lab-slow[.]postinst' > /dev/null; do sleep 0.05; done")
	m.site("package \"lab-two\" {}\n")
	for _, e := range m.tenet("plan").parts() { // which does not wait
		if e.Certain == nil || *e.Certain || !strings.Contains(e.Reason, "is held by process") {
			t.Errorf("the plan says %s, certain %v: %q", e.Action, e.Certain, e.Reason)
		}
	}
	// It has to wait: they go on when it has said so.
	m.shell("(until grep -q 'is held by process' /root/said; do sleep 0.1; done; rm /root/slow) > /dev/null 2>&1 &")
	began := time.Now()
	r := m.run("sh", "-c", "tenet apply --yes --json /root/site > /root/said; status=$?; cat /root/said; exit $status")
	said := ""
	for _, e := range r.events {
		if e.Type == states.EventSaid {
			said += e.Reason + "\n"
		}
	}
	if r.status != 0 || !strings.Contains(said, "is held by process") || !strings.Contains(said, "(apt-get)") && !strings.Contains(said, "(dpkg)") {
		t.Errorf("exit status %d after %s, said %q: %s%s", r.status, time.Since(began), said, r.failures(), r.stderr)
	}
	if got := status(m, "lab-slow") + status(m, "lab-two"); got != "install ok installed 1.0install ok installed 1.0" {
		t.Error(got)
	}
}
