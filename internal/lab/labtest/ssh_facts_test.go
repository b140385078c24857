//go:build lab

package labtest

import (
	"strings"
	"testing"
)

// factSite has a server that is told the name of a database.
const factSite = `
site {
  name = "told"
}

host_group "web" {
  hosts = "factweb"
  roles = ["web"]
}

role "web" {
  file "/srv/db" {
    content = "${hosts("factdb"OPTIONS)[0].facts.hostname}\n"
  }
}
`

// Facts of another host over SSH: it is asked though -l leaves it out. Once it is down, what it told last is taken, and
// said to be old; where it has to be as it is now, and where it never told it, that is an error.
func TestSSHHostFacts(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "factdb", "factweb")
	db, web := f.hosts[0], f.hosts[1]
	f.on(web, "mkdir -p /srv")
	site := f.site("told", f.asRoot()+strings.Replace(factSite, "OPTIONS", "", 1))
	now := f.site("now", f.asRoot()+strings.Replace(factSite, "OPTIONS", `, { facts = "now" }`, 1))
	never := f.site("never", f.asRoot()+strings.Replace(strings.Replace(factSite, "OPTIONS", "", 1), `"told"`, `"never"`, 1))
	told := func() string { return f.on(web, "cat /srv/db") }

	f.applies(0, "-l", "factweb", site)
	if got, want := told(), f.on(db, "hostname"); got != want {
		t.Errorf("it is told %q, want %q", got, want)
	}
	f.on(db, "hostname other")
	if d := f.applies(0, "-l", "factweb", now); told() != "other" || strings.Contains(d.stdout, "does not answer") {
		t.Errorf("it is told %q\n%s", told(), tail(d.stdout))
	}

	f.on(db, "systemctl stop ssh.socket || true; systemctl stop ssh.service; hostname third")
	plan := f.tenet("plan", "-l", "factweb", site)
	if plan.status != 0 || !strings.Contains(plan.stderr, "factdb: the fact hostname is the one of ") || !strings.Contains(plan.stderr, "since it does not answer") {
		t.Errorf("a plan while it is down: %d\n%s%s", plan.status, plan.stdout, plan.stderr)
	}
	f.on(web, "rm /srv/db")
	if d := f.applies(0, "-l", "factweb", site); told() != "other" || !strings.Contains(d.stdout, "since it does not answer") {
		t.Errorf("it is told %q while it is down\n%s", told(), tail(d.stdout))
	}
	if d := f.tenet("inspect", "hosts", site); !strings.Contains(d.stdout, "facts.hostname") || !strings.Contains(d.stdout, `"other"`) {
		t.Errorf("what is recorded: %s%s", d.stdout, d.stderr)
	}
	f.on(web, "rm /srv/db")
	for folder, says := range map[string]string{now: `without { facts = "now" }, what it told last does`, never: "and it has never told it"} {
		d := f.tenet("apply", "--yes", "-l", "factweb", folder)
		if d.status == 0 || !strings.Contains(d.stdout+d.stderr, "the fact hostname of factdb: it does not answer") || !strings.Contains(d.stdout+d.stderr, says) {
			t.Errorf("%s while it is down: %d\n%s%s", folder, d.status, d.stdout, d.stderr)
		}
	}
	if got := f.on(web, "ls /srv"); got != "" {
		t.Errorf("an apply with an error has done something: %s", got)
	}

	f.on(db, "systemctl start ssh.socket || true; systemctl start ssh.service")
	if f.applies(0, "-l", "factweb", now); told() != "third" {
		t.Errorf("it is told %q once it answers again", told())
	}
}
