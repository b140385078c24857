//go:build lab

package labtest

import (
	"testing"
)

// repository makes an apt repository on the host: lab-one in versions 1.0 and
// 2.0, with a configuration file, and lab-two in version 1.0.
const repository = `set -e
mkdir -p /srv/repo && cd /srv/repo
make() { # NAME VERSION
	mkdir -p "b/DEBIAN" b/usr/share/lab b/etc
	printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: Lab <lab@example.test>\nDescription: lab\n' "$1" "$2" > b/DEBIAN/control
	echo "$2" > "b/usr/share/lab/$1"
	echo "setting = 1" > "b/etc/$1.conf"
	echo "/etc/$1.conf" > b/DEBIAN/conffiles
	dpkg-deb --root-owner-group -b b "$1_$2.deb" > /dev/null
	rm -r b
}
make lab-one 1.0; make lab-one 2.0; make lab-two 1.0
for d in *.deb; do
	dpkg-deb -f "$d"
	printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$d" "$(stat -c %s "$d")" "$(sha256sum < "$d" | cut -d' ' -f1)"
done > Packages
echo 'deb [trusted=yes] file:/srv/repo ./' > /etc/apt/sources.list.d/lab.list
`

func TestPackages(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(repository)
	version := func() string {
		return m.shell(`dpkg-query -W -f '${db:Status-Want} ${db:Status-Status} ${Version}' lab-one || true`)
	}

	// Nobody has run apt-get update: the module does. Both go in one transaction.
	m.site(`
package "lab-one" {
  version = "1.0"
}

package "lab-two" {}
`)
	m.converges("package.lab-one", "package.lab-two")
	if got := version(); got != "install installed 1.0" {
		t.Errorf("pinned: %s", got)
	}
	if got := m.shell("grep -c ^Install: /var/log/apt/history.log"); got != "1" {
		t.Errorf("%s transactions, want 1", got)
	}

	m.site("package \"lab-one\" {\n  version = \"latest\"\n}\n")
	m.shell("tenet plan --no-color /root/site | grep -F 'version 1.0 → 2.0'")
	m.converges("package.lab-one")
	if got := version(); got != "install installed 2.0" {
		t.Errorf("latest: %s", got)
	}

	m.site("package \"lab-one\" {\n  version = \"1.0\"\n  hold = true\n}\n")
	m.converges("package.lab-one")
	if got := version(); got != "hold installed 1.0" {
		t.Errorf("downgraded and held: %s", got)
	}

	m.site("package \"lab-one\" {\n  hold = false\n}\n")
	m.converges("package.lab-one")
	if got := version(); got != "install installed 1.0" {
		t.Errorf("let go: %s", got)
	}

	m.site("package \"lab-one\" {\n  ensure = \"absent\"\n}\n")
	m.converges("package.lab-one")
	m.shell("test -e /etc/lab-one.conf && test ! -e /usr/share/lab/lab-one")

	m.site("package \"lab-one\" {\n  ensure = \"absent\"\n  purge = true\n}\n")
	m.converges("package.lab-one")
	m.shell("test ! -e /etc/lab-one.conf")
}

func TestPackageThatNobodyOffers(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(repository)
	m.site(`
package "no-such-package" {
  retry = { attempts = 1 }
}

package "lab-one" {
  version = "7.0"
  retry   = { attempts = 1 }
}

package "lab-two" {}
`)
	says(t, m.fails("package.no-such-package"), "no-such-package")
	says(t, m.fails("package.lab-one"), "7.0")
	m.shell("dpkg-query -W lab-two") // its neighbours' failures are not its own
}

func TestPackageWhileAnotherHoldsTheLock(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(repository)
	m.shell(`cat > /root/hold.pl <<'END'
use Fcntl;
open(my $f, ">>", $ARGV[0]) or die $!;
my $lock = pack("s s x4 l! l! i x4", F_WRLCK, 0, 0, 0, 0); # struct flock
fcntl($f, F_SETLK, $lock) or die $!;
open(my $mark, ">", "/root/held") or die $!;
sleep 600;
END
systemd-run -q --unit=holder perl /root/hold.pl /var/lib/dpkg/lock-frontend
for i in $(seq 600); do test -e /root/held && exit 0; sleep 0.1; done; exit 1`)
	m.site(`
package "lab-two" {
  lock_timeout = "1s"
}
`)
	holder := m.shell("systemctl show -P MainPID holder")
	says(t, m.fails("package.lab-two"), "lock", "perl", holder, "waited for 1s")
	m.shell("systemctl stop holder")

	// So it is with the package lists, which nobody has fetched yet.
	m.shell("rm -rf /var/lib/apt/lists/* /root/held; systemd-run -q --unit=lists perl /root/hold.pl /var/lib/apt/lists/lock; until test -e /root/held; do sleep 0.05; done")
	holder = m.shell("systemctl show -P MainPID lists")
	says(t, m.fails("package.lab-two"), "/var/lib/apt/lists/lock", "perl", holder)
	m.shell("systemctl stop lists")
	m.converges("package.lab-two")
}
