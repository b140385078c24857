//go:build lab

package labtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

const accounts = `
group "staff-lab" {
  gid = 4242
}

user "deploy" {
  uid    = 4711
  groups = ["staff-lab"]
  shell  = "/bin/bash"
}

directory "/srv/app" {
  owner = "deploy"
  group = "staff-lab"
  mode  = "2775"
}

file "/srv/app/config" {
  content = "x = 1\n"
  owner   = "deploy"
  group   = "staff-lab"
  mode    = "0640"
}

symlink "/srv/current" {
  target = "app"
}

line "/etc/profile" {
  line = "export APP=/srv/app"
}
`

// What a plan calls certain is what the apply then does, though the owner of
// the files is yet to be created.
func TestPlanForetellsApply(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site(accounts)
	plan := m.tenet("plan")
	if plan.status != 0 {
		t.Fatalf("plan: exit status %d\n%s", plan.status, plan.stderr)
	}
	would := addresses(plan.parts(), func(e states.Event) bool { return e.Action != "" && e.Action != states.NoChange })
	certain := addresses(plan.parts(), func(e states.Event) bool {
		return e.Action != "" && e.Action != states.NoChange && e.Certain != nil && *e.Certain
	})
	if len(certain) != 6 {
		t.Errorf("certain: %q, want all 6 parts; foreseen are %q", certain, would)
	}
	m.shell("! getent passwd deploy && test ! -e /srv/app") // a plan changes nothing
	if changed := m.apply(); !slices.Equal(changed, certain) {
		t.Errorf("the plan was certain of %q, and apply changed %q", certain, changed)
	}
	if got := m.shell("stat -c '%U:%G %a' /srv/app /srv/app/config; id -Gn deploy"); got != "deploy:staff-lab 2775\ndeploy:staff-lab 640\ndeploy staff-lab" {
		t.Errorf("made:\n%s", got)
	}
	again := m.tenet("plan")
	for _, e := range again.parts() {
		if e.Action != states.NoChange {
			t.Errorf("the second plan would %s %s: %s", e.Action, e.Address, e.Reason)
		}
	}
	if got := m.apply(); len(got) > 0 {
		t.Errorf("the second apply changed %q", got)
	}
}

func TestAccountsChangeAndGo(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site(accounts)
	m.apply()
	m.site(`
user "deploy" {
  shell   = "/usr/sbin/nologin"
  groups  = []
  comment = "Deployment"
  locked  = true
  expires = "2030-12-31"
}
`)
	m.apply()
	if got := m.shell("getent passwd deploy | cut -d: -f5,7; id -Gn deploy; passwd -S deploy | cut -d' ' -f2"); got != "Deployment:/usr/sbin/nologin\ndeploy\nL" {
		t.Errorf("changed:\n%s", got)
	}
	if got := m.apply(); len(got) > 0 {
		t.Errorf("the second apply changed %q", got)
	}
	m.site("user \"deploy\" {\n  ensure = \"absent\"\n}\n\ngroup \"staff-lab\" {\n  ensure = \"absent\"\n}\n")
	m.converges("user.deploy", "group.staff-lab")
	m.shell("! getent passwd deploy && ! getent group staff-lab")
}

// A name that a program could take for an option never gets there.
func TestNamesLikeOptionsAreRefused(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site("user \"-x\" {}\n\ngroup \"-r\" {}\n")
	before := m.shell("cat /etc/passwd /etc/group | sha256sum")
	r, err := m.host.Exec(t.Context(), "tenet", "apply", "--yes", "/root/site")
	if err != nil {
		t.Fatal(err)
	}
	if r.ExitCode != 3 {
		t.Errorf("exit status %d, want 3 (the site is wrong)", r.ExitCode)
	}
	for _, place := range []string{"site.hcl:1", "site.hcl:3"} {
		if !strings.Contains(string(r.Stderr), place) {
			t.Errorf("no error at %s:\n%s", place, r.Stderr)
		}
	}
	if after := m.shell("cat /etc/passwd /etc/group | sha256sum"); after != before {
		t.Error("accounts were changed")
	}
}

// A missing owner is an error before anything is written.
func TestMissingOwner(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site("file \"/root/x\" {\n  content = \"x\"\n  owner = \"nobody-here\"\n}\n")
	says(t, m.fails(`file["/root/x"]`), "nobody-here")
	m.shell("test ! -e /root/x && test $(ls -A /root | grep -c tenet) = 0")
}
