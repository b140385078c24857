//go:build lab

package labtest

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

const accountPassword = "geheim 7b"

// becomes is a host with accounts: deploy, which may become root or alice by what a test
// puts in place, and alice.
func becomes(t *testing.T) *machine {
	t.Helper()
	m := boot(t)
	m.shell("useradd -m deploy && useradd -m alice && echo 'deploy:" + accountPassword + "' | chpasswd && chmod 1777 /srv && mkdir -p /home/deploy/site && chown deploy /home/deploy/site")
	return m
}

// by applies a site as an account, which has a login like that of ssh; with the password,
// if there is one.
func (m *machine) by(user, site, password string, args ...string) result {
	m.Helper()
	m.shell("cat > /home/" + user + "/site/site.hcl <<'EOF'\n" + site + "EOF\nchown -R " + user + " /home/" + user + "/site")
	argv := append([]string{"tenet", "apply", "--yes", "--json"}, args...)
	script := "cd && " + strings.Join(append(argv, "site"), " ")
	if password != "" {
		m.shell("umask 077; printf '%s\\n' '" + password + "' > /home/" + user + "/.given; chown " + user + " /home/" + user + "/.given")
		script = "exec 3< ~/.given; rm ~/.given; TENET_BECOME_PASSWORD_FILE=/dev/fd/3; export TENET_BECOME_PASSWORD_FILE; " + script + " --ask-become-pass"
	}
	return m.run("runuser", "-u", user, "--", "sh", "-c", "HOME=/home/"+user+"; export HOME; "+script)
}

// rootAndAlice has parts, a state and a block that act as others.
const rootAndAlice = `
file "/srv/deploy" {
  content = "x\n"
}
file "/srv/root" {
  content = "x\n"
  become  = true
}
state "hers" {
  become = "alice"
  file "/home/alice/hers" { content = "x\n" }
}
block "b" {
  become = "root"
  command "who" {
    shell = "id -un > /srv/who; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; tr '\\0' ' ' < $p/environ; done > /root/seen 2>/dev/null; sleep 1"
    only_if { command = ["test", "-w", "/root"] }
  }
}
`

// became wants that all of that was done as the accounts, once, and that nothing knows
// the password.
func (m *machine) became(r result, password string) {
	m.Helper()
	if r.status != 0 || len(r.changed()) != 4 {
		m.Fatalf("exit status %d, changed %q\n%s%s", r.status, r.changed(), r.failures(), r.stderr)
	}
	if got := m.shell("stat -c '%U %n' /srv/deploy /srv/root /home/alice/hers; cat /srv/who"); got != "deploy /srv/deploy\nroot /srv/root\nalice /home/alice/hers\nroot" {
		m.Errorf("made:\n%s", got)
	}
	if got := m.shell("pgrep -f '[r]unner become' || true; ls -d /tmp/.tenet-* 2>/dev/null || true"); got != "" {
		m.Errorf("left: %s", got)
	}
	if password == "" {
		return
	}
	if got := m.shell("grep -rl '" + password + "' /root/seen /var /home /run /tmp /etc/tenet 2>/dev/null; journalctl 2>/dev/null | grep -F '" + password + "'; true"); got != "" {
		m.Errorf("the password is in %s", got)
	}
	for _, e := range r.events {
		if strings.Contains(e.Output+e.Reason, password) {
			m.Errorf("an event tells the password: %+v", e)
		}
	}
}

// Root becomes others by its own rights.
func TestBecomeByRoot(t *testing.T) {
	t.Parallel()
	m := becomes(t)
	m.site(strings.ReplaceAll(rootAndAlice, "file \"/srv/deploy\" {", "file \"/srv/deploy\" {\n  become = \"deploy\"\n"))
	m.became(m.tenet("apply", "--yes"), "")
	m.shell("chmod 700 /usr/local/bin/tenet; rm /home/alice/hers")
	r := m.tenet("apply", "--yes")
	if r.status != 0 || m.shell("stat -c %U /home/alice/hers") != "alice" {
		t.Errorf("by a program of root's alone: %d\n%s%s", r.status, r.failures(), r.stderr)
	}
}

// An account becomes root and another one by sudo: with and without a password.
func TestBecomeBySudo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rule, password string }{
		"without a password": {"deploy ALL=(ALL) NOPASSWD: ALL", ""},
		"with a password":    {"deploy ALL=(ALL) ALL", accountPassword},
		"on a terminal":      {"Defaults requiretty\ndeploy ALL=(ALL) ALL", accountPassword},
	} {
		t.Run(name, func(t *testing.T) {
			m := becomes(t)
			m.shell("printf '%b\\n' '" + c.rule + "' > /etc/sudoers.d/lab && chmod 440 /etc/sudoers.d/lab")
			m.became(m.by("deploy", rootAndAlice, c.password), c.password)
			again := m.by("deploy", rootAndAlice, c.password)
			if again.status != 0 || len(again.changed()) != 1 {
				t.Errorf("the second time: %d, %q\n%s", again.status, again.changed(), again.failures())
			}
		})
	}
}

// Who may not is told what is missing, and the other parts are done.
func TestBecomeRefused(t *testing.T) {
	t.Parallel()
	m := becomes(t)
	site := "file \"/srv/a\" { content = \"x\\n\" }\nfile \"/srv/b\" {\n  content = \"x\\n\"\n  become = true\n}\n"
	refused := func(r result, texts ...string) {
		t.Helper()
		if r.status != 1 {
			t.Errorf("exit status %d, want 1\n%s", r.status, r.stderr)
		}
		for _, e := range r.parts() {
			if e.Outcome == states.Failed {
				says(t, e, texts...)
				return
			}
		}
		t.Errorf("nothing failed:\n%s", r.stderr)
	}
	refused(m.by("deploy", site, ""), "sudo", "deploy ALL=(root) NOPASSWD: ALL in /etc/sudoers.d/tenet")
	m.shell("test -e /srv/a && test ! -e /srv/b")
	refused(m.by("deploy", site, accountPassword), "deploy")
	m.shell("echo 'deploy ALL=(ALL) ALL' > /etc/sudoers.d/lab && chmod 440 /etc/sudoers.d/lab")
	refused(m.by("deploy", site, ""), "wants a password", "--ask-become-pass")
	refused(m.by("deploy", site, "wrong"), "the password of deploy is not the right one for sudo")
	m.shell("chage -d 0 deploy")
	refused(m.by("deploy", site, accountPassword), "the account deploy or its password has expired", "chage -l deploy")
	m.shell("dpkg -i /opt/parcels/opendoas_*.deb && echo 'permit deploy' > /etc/doas.conf && chmod 600 /etc/doas.conf")
	refused(m.by("deploy", site, accountPassword, "--become-method", "doas"), "the account deploy or its password has expired", "chage -l deploy")
}

// With doas, which takes a password from a terminal only.
func TestBecomeByDoas(t *testing.T) {
	t.Parallel()
	m := becomes(t)
	m.shell("dpkg -i /opt/parcels/opendoas_*.deb && echo 'permit deploy' > /etc/doas.conf && chmod 600 /etc/doas.conf")
	m.became(m.by("deploy", rootAndAlice, accountPassword, "--become-method", "doas"), accountPassword)
	m.shell("echo 'permit nopass deploy' > /etc/doas.conf; rm /srv/root")
	r := m.by("deploy", rootAndAlice, "", "--become-method", "doas")
	if r.status != 0 || m.shell("stat -c %U /srv/root") != "root" {
		t.Errorf("without a password: %d\n%s%s", r.status, r.failures(), r.stderr)
	}
	m.shell("echo 'deny deploy' > /etc/doas.conf; rm /srv/root")
	if r := m.by("deploy", rootAndAlice, "", "--become-method", "doas"); r.status != 1 || !strings.Contains(r.failures(), "doas") {
		t.Errorf("refused: %d\n%s", r.status, r.failures())
	}
}
