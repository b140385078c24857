//go:build lab

package labtest

import (
	"os"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// plain adds a user without rights, and returns how tenet is run as that user.
func (m *machine) plain() func(args ...string) result {
	m.Helper()
	m.shell("useradd -m -s /bin/bash plain")
	return func(args ...string) result {
		m.Helper()
		return m.run(append([]string{"runuser", "-u", "plain", "--", "env", "HOME=/home/plain", "USER=plain", "tenet"}, args...)...)
	}
}

// public puts a site where everyone may read it.
func (m *machine) public(text string) string {
	m.Helper()
	m.site(text)
	m.shell("rm -rf /srv/site && cp -r /root/site /srv/site && chmod -R a+rX /srv/site")
	return "/srv/site"
}

// Whoever is not root can apply what needs no root.
func TestPlainUser(t *testing.T) {
	t.Parallel()
	m := boot(t)
	tenet := m.plain()
	m.copy(os.DirFS("../../../examples/quickstart"), "/srv/quickstart")
	first := tenet("apply", "--yes", "--json", "/srv/quickstart")
	if first.status != 0 || len(first.changed()) == 0 {
		t.Fatalf("exit status %d\n%s%s", first.status, first.failures(), first.stderr)
	}
	if got := m.shell("wc -l < /home/plain/tenet-quickstart/starts.log; stat -c %U /home/plain/tenet-quickstart/page.txt"); got != "2\nplain" {
		t.Errorf("got %q: want two starts, and files of the user's own", got)
	}
	second := tenet("apply", "--yes", "--json", "/srv/quickstart")
	if got := second.changed(); second.status != 0 || len(got) != 0 {
		t.Errorf("the second apply: exit status %d, changed %q", second.status, got)
	}
}

// What needs more rights fails by itself, and says what and where.
func TestPlainUserWhereRootIsNeeded(t *testing.T) {
	t.Parallel()
	m := boot(t)
	tenet := m.plain()
	m.shell("mkdir -m 0700 /srv/closed && echo secret > /srv/closed/file")
	site := m.public(`
file "/etc/motd" {
  content = "x\n"
}

file "/srv/closed/file" {
  content = "x\n"
}

file "/home/plain/mine" {
  content = "x\n"
}
`)
	plan := tenet("plan", "--json", site)
	if plan.status != 0 {
		t.Errorf("plan: exit status %d\n%s", plan.status, plan.stderr)
	}
	for _, e := range plan.parts() {
		certain := e.Certain != nil && *e.Certain
		switch e.Address {
		case `file["/srv/closed/file"]`:
			if certain || !strings.Contains(e.Reason, "root") {
				t.Errorf("the plan of what cannot be read: certain %v, %q", certain, e.Reason)
			}
		case `file["/home/plain/mine"]`:
			if !certain {
				t.Errorf("the plan of what can be read: %q", e.Reason)
			}
		}
	}
	r := tenet("apply", "--yes", "--json", site)
	if r.status != 1 {
		t.Errorf("apply: exit status %d, want 1\n%s", r.status, r.stderr)
	}
	failed := 0
	for _, e := range r.parts() {
		if e.Outcome == states.Failed {
			failed++
			says(t, e, "permission denied", strings.Trim(strings.TrimPrefix(e.Address, "file"), `[]"`))
		}
	}
	if failed != 2 {
		t.Errorf("%d parts failed, want 2:\n%s", failed, r.failures())
	}
	if got := m.shell("cat /srv/closed/file /home/plain/mine; ls -A /srv/closed"); got != "secret\nx\nfile" {
		t.Errorf("afterwards: %q", got)
	}
}

// Below --root nothing leads out: no link of the tree, and no command.
func TestTreeBelowRoot(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(`mkdir -p /srv/tree/etc /srv/tree/bin /srv/tree/run /srv/tree/var /srv/tree/tmp
cp /usr/local/bin/tenet /srv/tree/bin/
ln -s /run /srv/tree/var/run
ln -s /etc/../../../etc /srv/tree/conf`)
	m.site(`
file "/var/run/one" {
  content = "one"
}

file "/conf/two" {
  content = "two"
}

command "three" {
  argv = ["/bin/tenet", "do", "--yes", "--state-dir", "/tmp/state", "file", "/three", "content=3"]
  dir  = "/tmp"
}
`)
	r := m.tenet("apply", "--yes", "--root", "/srv/tree")
	if r.status != 0 {
		t.Fatalf("exit status %d\n%s%s", r.status, r.failures(), r.stderr)
	}
	if got := m.shell("cat /srv/tree/run/one /srv/tree/etc/two /srv/tree/three"); got != "onetwo3" {
		t.Errorf("in the tree: %q", got)
	}
	m.shell("test -d /srv/tree/var/lib/tenet/runs && test ! -e /run/one && test ! -e /etc/two && test ! -e /three && test ! -e /var/lib/tenet")
}
