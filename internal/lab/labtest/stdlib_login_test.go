//go:build lab

package labtest

import (
	"strings"
	"testing"
)

// people is a site with accounts and a server to log in to; KEY is the key of
// the test.
const people = `
component "people" {
  source = "std/users"
  vars = {
    groups = {
      operators = {}
    }
    users = {
      alice = {
        groups = ["operators"]
        keys   = ["KEY"]
        sudo   = "NOPASSWD"
      }
      bob = {
        uid  = 2222
        keys = ["from=\"127.0.0.1\" KEY"]
      }
      carol = { absent = true }
    }
  }
}

component "ssh" {
  source = "std/ssh_server"
  require = [component.people]
  vars = {
    permit_root_login = "no"
    allow_groups      = ["operators"]
  }
}
`

// ssh logs in to the host itself by the key of the test.
const ssh = "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i /root/key "

func TestStdlibUsersAndSSHServer(t *testing.T) {
	t.Parallel()
	m := stocked(t, "openssh-server", "sudo")
	m.shell("useradd -m carol && mkdir /home/carol/.ssh && touch /home/carol/.ssh/authorized_keys /etc/sudoers.d/carol; mkdir -p /etc/sudoers.d")
	m.shell("ssh-keygen -q -t ed25519 -N '' -f /root/key")
	site := strings.ReplaceAll(people, "KEY", m.shell("cat /root/key.pub"))
	m.settles(site)

	m.gives(ssh+"alice@127.0.0.1 'sudo -n id -un; id -Gn'", "root\nalice operators")
	m.shell("! " + ssh + "bob@127.0.0.1 true")  // in no group that is let in
	m.shell("! " + ssh + "root@127.0.0.1 true") // has no key, and is not let in
	m.gives("ssh -v -o BatchMode=yes -o StrictHostKeyChecking=no -o PubkeyAuthentication=no alice@127.0.0.1 true 2>&1 | grep 'can continue' | head -1",
		"debug1: Authentications that can continue: publickey")
	m.gives("stat -c '%a %U:%G %n' /home/alice/.ssh /home/alice/.ssh/authorized_keys /etc/sudoers.d/alice; ls -A /etc/sudoers.d",
		"700 alice:alice /home/alice/.ssh\n600 alice:alice /home/alice/.ssh/authorized_keys\n440 root:root /etc/sudoers.d/alice\nREADME\nalice")
	m.shell("! getent passwd carol && test -d /home/carol && test ! -e /home/carol/.ssh/authorized_keys && test ! -e /etc/sudoers.d/carol")

	// A session goes on while settings change.
	m.shell("touch /tmp/go; chmod 666 /tmp/go; (" + ssh + "alice@127.0.0.1 'while test -e /tmp/go; do sleep 0.1; done; echo still here' > /root/session 2>&1 &)")
	m.shell("for i in $(seq 600); do pgrep -u alice -f /tmp/go > /dev/null && exit 0; sleep 0.1; done; exit 1")
	m.settles(strings.Replace(site, `["operators"]
  }
}
`, `["operators"]
    ports             = [22, 2222]
    settings          = { MaxAuthTries = "3" }
  }
}
`, 1))
	m.gives(ssh+"-p 2222 alice@127.0.0.1 id -un; rm /tmp/go; for i in $(seq 600); do test -s /root/session && break; sleep 0.1; done; cat /root/session", "alice\nstill here")

	// Who is logged in is not removed, and systemd goes on for a while after that.
	m.shell("touch /home/alice/.ssh/known_hosts; loginctl terminate-user alice; for i in $(seq 600); do pgrep -u alice > /dev/null || exit 0; sleep 0.1; done; exit 1")
	m.takesAway(site)
	// sshd starts itself anew as it reloads, and refuses for a moment.
	m.gives("for i in $(seq 600); do ssh -v -o BatchMode=yes -o StrictHostKeyChecking=no -o PubkeyAuthentication=no root@127.0.0.1 true 2>&1 | grep 'can continue' | head -1 | grep . && break; sleep 0.1; done",
		"debug1: Authentications that can continue: publickey,password")
	m.shell("! getent passwd alice && ! getent passwd bob && test ! -e /home/alice/.ssh/authorized_keys && test -e /home/alice/.ssh/known_hosts")
	m.shell("test ! -e /etc/sudoers.d/alice && test ! -e /etc/ssh/sshd_config.d/00-tenet.conf && systemctl is-active ssh && ! getent group operators")
}

// Nothing that could lock somebody out stays, or is done at all.
func TestStdlibSSHServerLetsYouIn(t *testing.T) {
	t.Parallel()
	m := stocked(t, "openssh-server")
	const site = `
component "ssh" {
  source = "std/ssh_server"
  vars = {
    VARS
  }
}
`
	with := func(vars string) { m.site(strings.Replace(site, "VARS", vars, 1)) }
	const file = "component.ssh.state.settings.file.settings"
	untouched := func() {
		t.Helper()
		m.shell("test ! -e /etc/ssh/sshd_config.d/00-tenet.conf && ! ls -A /etc/ssh/sshd_config.d | grep tenet && sshd -T | grep -qx 'passwordauthentication yes'")
	}

	with("")
	says(t, m.fails("component.ssh.state.way_in.command.key"), "nobody could log in", "allow_lockout")
	untouched()

	m.shell("ssh-keygen -q -t ed25519 -N '' -f /root/key && useradd -m -s /bin/bash alice && install -d -o alice -m 0700 /home/alice/.ssh && " +
		"install -o alice -m 0600 /root/key.pub /home/alice/.ssh/authorized_keys")
	for name, spoil := range map[string][2]string{
		"writable by others": {"chmod 0777 /home/alice/.ssh", "chmod 0700 /home/alice/.ssh"},
		"of somebody else":   {"chown www-data /home/alice/.ssh/authorized_keys", "chown alice /home/alice/.ssh/authorized_keys"},
		"expired":            {"chage -E 2020-01-01 alice", "chage -E -1 alice"},
		"no shell":           {"usermod -s /usr/sbin/nologin alice", "usermod -s /bin/bash alice"},
		"commented out":      {"sed -i 's/^/# /' /home/alice/.ssh/authorized_keys", "sed -i 's/^# //' /home/alice/.ssh/authorized_keys"},
	} {
		m.shell(spoil[0])
		if r := m.tenet("apply", "--yes"); r.status != 1 {
			t.Errorf("%s: exit status %d", name, r.status)
		}
		untouched()
		m.shell(spoil[1])
	}
	with(`allow_users = ["bob"]`)
	m.fails("component.ssh.state.way_in.command.key")
	with(`allow_groups = ["operators"]`)
	m.fails("component.ssh.state.way_in.command.key")
	untouched()

	// sshd refuses it.
	with(`settings = { NoSuchKeyword = "yes" }`)
	says(t, m.fails(file), "NoSuchKeyword")
	untouched()
	// Another file decides.
	m.shell("echo 'PasswordAuthentication yes' > /etc/ssh/sshd_config.d/00-first.conf")
	with("")
	says(t, m.fails(file), "passwordauthentication yes")
	m.shell("rm /etc/ssh/sshd_config.d/00-first.conf")
	untouched()

	// It ends the server: nobody here has this address. What worked is put back.
	m.settles(strings.Replace(site, "VARS", `settings = { MaxAuthTries = "2" }`, 1))
	const works = ssh + "alice@127.0.0.1 id -un"
	m.gives(works, "alice")
	before := m.shell("sha256sum /etc/ssh/sshd_config.d/*")
	with(`listen = ["192.0.2.99"]`)
	r := m.tenet("apply", "--yes")
	if r.status != 1 {
		t.Errorf("exit status %d\n%s", r.status, r.failures())
	}
	m.gives("sha256sum /etc/ssh/sshd_config.d/*; ls -A /etc/ssh/sshd_config.d", before+"\n00-tenet.conf")
	m.gives(works, "alice")

	with("allow_lockout = true")
	m.shell("rm -r /home/alice/.ssh")
	m.apply()
}
