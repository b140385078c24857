//go:build lab

package labtest

import (
	"strings"
	"testing"
)

func TestLifecycleOfMounts(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "mount", Label: "/srv/a b",
		Prepare: "printf '# mine\\n/dev/none\\t/none  ext4 noauto 0 0' > /etc/fstab",
		Steps: []step{
			{Set: "source = \"tmpfs\"\nfstype = \"tmpfs\"\noptions = [\"size=1m\"]", Verify: `findmnt -no OPTIONS "/srv/a b" | grep -q size=1024k && findmnt --verify --tab-file /etc/fstab | grep -q . ; grep -q '^tmpfs	/srv/a\\040b	tmpfs	size=1m	0	0$' /etc/fstab`},
			{Set: "source = \"tmpfs\"\nfstype = \"tmpfs\"\noptions = [\"size=2m\", \"nodev\", \"noexec\"]", Verify: `findmnt -no OPTIONS "/srv/a b" | grep nodev | grep noexec | grep -q size=2048k`},
			{Set: "source = \"tmpfs\"\nfstype = \"tmpfs\"\noptions = [\"size=2m\", \"ro\"]", Verify: `o=$(findmnt -no OPTIONS "/srv/a b"); echo "$o" | grep -q "^ro" && ! echo "$o" | grep nodev`},
			{Set: "source = \"other\"\nfstype = \"tmpfs\"\noptions = [\"size=2m\", \"ro\"]", Verify: `[ "$(findmnt -no SOURCE "/srv/a b")" = other ]`},
			{Set: "source = \"other\"\nfstype = \"ramfs\"\noptions = []", Verify: `[ "$(findmnt -no FSTYPE "/srv/a b")" = ramfs ]`},
			{Set: "source = \"other\"\nfstype = \"ramfs\"\ndump = 1\npass = 2", Verify: `grep -q 'ramfs	defaults	1	2$' /etc/fstab`},
			{Set: "source = \"other\"\nfstype = \"ramfs\"\nmounted = false", Verify: `! findmnt "/srv/a b"`},
			{Set: "source = \"other\"\nfstype = \"ramfs\"\nmounted = true\nboot = false", Verify: `findmnt "/srv/a b" && ! grep ramfs /etc/fstab`},
		},
		Gone: `! findmnt "/srv/a b" && [ "$(cat /etc/fstab)" = "$(printf '# mine\n/dev/none\t/none  ext4 noauto 0 0')" ]`,
	}.run(m)
	lifecycle{
		Type: "mount", Label: "/srv/bound", Prepare: "mkdir -p /srv/one/deep /srv/two; echo one > /srv/one/deep/f",
		Steps: []step{
			{Set: "source = \"/srv/one\"\noptions = [\"bind\"]", Verify: "grep -qx one /srv/bound/deep/f && test -e /run/systemd/generator/srv-bound.mount"},
			{Set: "source = \"/srv/one/deep\"", Verify: "grep -qx one /srv/bound/f && grep -q bind /etc/fstab"},
			{Set: "source = \"/srv/one/deep\"\noptions = [\"bind\", \"ro\"]", Verify: "! touch /srv/bound/x"},
		},
		Untried: map[string]string{"fstype": "a bind mount has none", "mounted": "see above", "boot": "see above", "dump": "see above", "pass": "see above"},
		Gone:    "! findmnt /srv/bound",
	}.run(m)
}

// A file system in use stays; who uses it is said.
func TestMountInUse(t *testing.T) {
	t.Parallel()
	m := boot(t)
	const site = "mount \"/srv/busy\" {\n  source = \"tmpfs\"\n  fstype = \"tmpfs\"\n"
	m.site(site + "}\n")
	m.apply()
	m.shell("cd /srv/busy && (setsid sleep 1000 >/dev/null 2>&1 &)")
	m.until("pgrep -x sleep")
	m.site(site + "  ensure = \"absent\"\n}\n")
	says(t, m.fails("mount[\"/srv/busy\"]"), "in use by", "(sleep)", "target is busy")
	m.shell("findmnt /srv/busy && grep -q /srv/busy /etc/fstab && pkill -x sleep && while pgrep -x sleep > /dev/null; do sleep 0.1; done")
	m.apply()
	m.shell("! findmnt /srv/busy && ! grep /srv/busy /etc/fstab")
}

// What a plan cannot know below a mount it calls maybe; then it is done.
func TestFilesBelowMount(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site("mount \"/srv/t\" {\n  source = \"tmpfs\"\n  fstype = \"tmpfs\"\n}\ndirectory \"/srv/t/d\" {}\nfile \"/srv/t/d/f\" {\n  content = \"x\\n\"\n}\n")
	plan := m.tenet("plan")
	for _, e := range plan.parts() {
		certain := e.Certain != nil && *e.Certain
		if below := strings.Contains(e.Address, "/srv/t/"); below == certain {
			t.Errorf("%s is certain: %v, %s", e.Address, certain, e.Reason)
		}
	}
	if len(plan.parts()) != 3 {
		t.Errorf("%d rows: %s", len(plan.parts()), plan.stderr)
	}
	m.apply()
	m.shell("grep -qx x /srv/t/d/f && findmnt /srv/t")
	if changed := m.apply(); len(changed) > 0 {
		t.Errorf("a second apply changed %q", changed)
	}
}

// A swap area that is in use is the whole kernel's, and a host of the lab shares its
// kernel: so it is made, and not taken into use.
func TestLifecycleOfSwap(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "swap", Label: "/var/swapfile",
		Steps: []step{
			{Set: "size = \"4M\"\nactive = false", Verify: "[ \"$(stat -c '%a %U %s' /var/swapfile)\" = '600 root 4194304' ] && [ \"$(blkid -p -s TYPE -o value /var/swapfile)\" = swap ] && grep -q '^/var/swapfile	none	swap	sw	0	0$' /etc/fstab"},
			{Set: "size = \"6M\"\nactive = false", Verify: "[ \"$(stat -c '%s' /var/swapfile)\" = 6291456 ] && [ $(stat -c %b /var/swapfile) -ge 12288 ] && blkid -p /var/swapfile"},
			{Set: "priority = 3\nactive = false", Verify: "grep -q 'sw,pri=3	0	0$' /etc/fstab"},
		},
		Untried: map[string]string{"active": "the kernel is not the host's own", "boot": "without a line it would have to be in use"},
		Gone:    "test ! -e /var/swapfile && ! grep swap /etc/fstab",
	}.run(m)
	m.shell("echo precious > /var/data")
	m.site("swap \"/var/data\" {\n  size   = \"4M\"\n  active = false\n}\n")
	says(t, m.fails("swap[\"/var/data\"]"), "holds something else than swap")
	m.shell("grep -qx precious /var/data")
	m.site("swap \"/none/x\" {\n  size   = \"4M\"\n  active = false\n}\n")
	says(t, m.fails("swap[\"/none/x\"]"), "the directory /none is not there")
}
