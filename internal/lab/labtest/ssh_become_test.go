//go:build lab

package labtest

import (
	"strings"
	"testing"
	"time"
)

const whoActs = `
command "who" {
  shell = "id -un > /srv/who-${host.name}; sleep 1"
}
`

// By a password that is typed once, for all hosts; it shows up nowhere. sudo reads it
// from the connection, or from a terminal where it wants one, as doas always does.
func TestSSHBecomeByPassword(t *testing.T) {
	f := twoHosts(t)
	f.byPassword(t)
	for _, h := range f.hosts {
		f.on(h, "echo 'Defaults requiretty' > /etc/sudoers.d/tty && chmod 440 /etc/sudoers.d/tty")
	}
	f.byPassword(t)
	for _, h := range f.hosts {
		f.on(h, "dpkg -i /opt/parcels/opendoas_*.deb && echo 'permit asked' > /etc/doas.conf && chmod 600 /etc/doas.conf")
	}
	f.byPassword(t, "--become-method", "doas")
}

// byPassword applies with a right password and with a wrong one.
func (f *fleet) byPassword(t *testing.T, args ...string) {
	t.Helper()
	for _, h := range f.hosts {
		f.on(h, "rm -f /srv/who-* /tmp/seen")
	}
	site := f.site("asked", f.hostBlocks("  user   = \"asked\"\n  become = \"root\"")+
		strings.Replace(whoActs, "sleep 1", "until test -e /tmp/seen; do sleep 0.1; done", 1))
	type answered struct {
		password string
		status   int
	}
	for name, a := range map[string]answered{"right": {password, 0}, "wrong": {"wrong", 1}} {
		p, err := f.c.StartOnTerminal(t.Context(), append([]string{tenetPath(), "apply", "--yes", "--ask-become-pass", site}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		asks := func(stdout, _ string) bool { return strings.Contains(strings.ToLower(stdout), "password") }
		if err := p.Await(f.within(2*time.Minute), asks); err != nil {
			t.Fatal(err)
		}
		if err := p.Type(a.password + "\n"); err != nil {
			t.Fatal(err)
		}
		if a.status == 0 {
			for _, h := range f.hosts {
				f.eventually(h, time.Minute, "pgrep -f 'tmp/see[n]'")
				if got := f.on(h, `for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; tr '\0' '\n' < $p/environ; done 2>/dev/null | grep 'geheim [7]' || true`); got != "" {
					t.Errorf("%s: %s", h.Name, got)
				}
				f.on(h, "touch /tmp/seen")
			}
		}
		r, err := p.Wait(f.within(2 * time.Minute))
		if err != nil || r.ExitCode != a.status {
			t.Errorf("%s: exit status %d, want %d, %v\n%s", name, r.ExitCode, a.status, err, r.Stdout)
		}
		if strings.Contains(string(r.Stdout), a.password) && a.status == 0 {
			t.Errorf("%s: the terminal shows it:\n%s", name, r.Stdout)
		}
		for _, h := range f.hosts {
			if a.status != 0 && !strings.Contains(string(r.Stdout), h.Name) {
				t.Errorf("%s: nothing of %s:\n%s", name, h.Name, r.Stdout)
			}
		}
	}
	for _, h := range f.hosts {
		if got := f.on(h, "cat /srv/who-*; grep -rl 'geheim [7]' /var /home /root /run /tmp 2>/dev/null || true"); got != "root" {
			t.Errorf("%s: %s", h.Name, got)
		}
	}
	if r, err := f.c.Exec(t.Context(), "sh", "-c", "grep -rl 'geheim [7]' ~ /var/lib /var/cache || true"); err != nil || len(r.Stdout) > 0 {
		t.Errorf("on the controller: %s %v", r.Stdout, err)
	}
}

// By doas, and as an account that is not root.
func TestSSHBecomeByDoas(t *testing.T) {
	f := twoHosts(t)
	for _, h := range f.hosts {
		f.on(h, "dpkg -i /opt/parcels/opendoas_*.deb && echo 'permit nopass deploy as asked' > /etc/doas.conf && chmod 600 /etc/doas.conf && rm -f /srv/who-* && chmod 1777 /srv")
	}
	site := f.site("doas", f.hostBlocks("  user   = \"deploy\"\n  become = \"asked\"")+whoActs)
	f.applies(0, "--become-method", "doas", site)
	for _, h := range f.hosts {
		if got := f.on(h, "cat /srv/who-*"); got != "asked" {
			t.Errorf("%s: %s", h.Name, got)
		}
	}
	site = f.site("doas", f.hostBlocks("  user   = \"nosudo\"\n  become = \"asked\"")+whoActs)
	d := f.tenet("apply", "--yes", "--become-method", "doas", site)
	if d.status != 1 || lineOf(d, "doas") == "" {
		t.Errorf("who may not: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
}

// Some parts act as others than the runner does.
func TestSSHPartsBecome(t *testing.T) {
	f := twoHosts(t)
	site := f.site("parts", f.hostBlocks("  user   = \"deploy\"")+`
directory "/home/deploy/mine" {}

file "/srv/of-root" {
  content = "root\n"
  become  = true
}

state "others" {
  become = "asked"

  file "/home/asked/theirs" {
    content = "asked\n"
  }
  command "who" {
    argv    = ["touch", "/home/asked/made"]
    creates = "/home/asked/made"
  }
}
`)
	f.everywhere(f.applies(0, site), 4)
	f.everywhere(f.applies(0, site), 0)
	for _, h := range f.hosts {
		got := f.on(h, "stat -c '%U %n' /home/deploy/mine /srv/of-root /home/asked/theirs /home/asked/made")
		if got != "deploy /home/deploy/mine\nroot /srv/of-root\nasked /home/asked/theirs\nasked /home/asked/made" {
			t.Errorf("%s: %s", h.Name, got)
		}
	}
}

// std/ssh_server does not shut out who carries it out.
func TestSSHServerLetsTenetIn(t *testing.T) {
	f := twoHosts(t)
	as := func(account, vars string) string {
		return f.site("way-in", f.hostBlocks("  user   = \""+account+"\"\n  become = true")+`
component "ssh" {
  source = "std/ssh_server"
  vars   = { `+vars+` }
}
`)
	}
	d := f.tenet("apply", "--yes", as("deploy", `allow_groups = ["root"]`))
	if d.status != 1 || !strings.Contains(string(d.stdout), "logged in as deploy, could not log in any more: it is in none of allow_groups") {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.applies(0, as("deploy", `allow_groups = ["root"], login = "root"`))
	f.everywhere(f.applies(0, as("root", `allow_groups = ["root"]`)), 0)
	if d := f.tenet("ping", "-i", as("deploy", "")); d.status != 5 {
		t.Errorf("deploy is let in: exit status %d\n%s", d.status, d.stdout)
	}
	d = f.tenet("apply", "--yes", as("root", `permit_root_login = "no", allow_users = ["deploy"]`))
	if d.status != 1 || !strings.Contains(string(d.stdout), `logged in as root, could not log in any more: permit_root_login is "no"`) {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.applies(0, as("root", `permit_root_login = "no", allow_users = ["deploy"], login = "deploy"`))
	f.everywhere(f.applies(0, as("deploy", `permit_root_login = "no", allow_users = ["deploy"]`)), 0)
}
