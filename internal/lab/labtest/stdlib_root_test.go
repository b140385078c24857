//go:build lab

package labtest

import (
	"strings"
	"testing"
)

// A tree in which nothing runs gets the same files and accounts.
func TestStdlibBelowRoot(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	m.shell("systemctl disable ssh cron nginx")
	m.shell("mkdir -p /srv/image && cd / && tar -c --one-file-system --exclude=./srv --exclude=./opt --exclude=./usr/share/doc --exclude=./usr/share/locale " +
		"--exclude=./proc --exclude=./sys --exclude=./dev --exclude=./run --exclude=./tmp --exclude=./var/lib/tenet . | tar -x -C /srv/image && " +
		"mkdir /srv/image/proc /srv/image/dev /srv/image/run /srv/image/tmp /srv/image/srv && mknod -m 666 /srv/image/dev/null c 1 3")
	const site = `
component "motd" {
  source = "std/motd"
  vars = {
    text = "An image."
  }
}

component "kernel" {
  source = "std/sysctl"
  vars = {
    settings = { "vm.swappiness" = 10 }
    apply    = false
  }
}

component "people" {
  source = "std/users"
  vars = {
    users = {
      alice = {
        keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHexgb9aiHLxvHbJdmpHE5kGHJyQfEx0KqkLxLzzNkyu a@b"]
        sudo = "NOPASSWD"
      }
    }
  }
}

component "ssh" {
  source  = "std/ssh_server"
  require = [component.people]
  vars = {
    start = false
  }
}

component "jobs" {
  source = "std/cron"
  vars = {
    start = false
    jobs = {
      mark = {
        schedule = "@daily"
        command  = "true"
        user     = "alice"
      }
    }
  }
  require = [component.people]
}

component "web" {
  source = "std/nginx"
  vars = {
    start = false
    ipv6  = false
    sites = {
      "image.test" = {
        root = "/srv"
        tls  = "self-signed"
      }
    }
  }
}
`
	m.site(site)
	args := []string{"tenet", "apply", "--yes", "--json", "--root", "/srv/image", "/root/site"}
	if r := m.run(args...); r.status != 0 {
		t.Fatalf("exit status %d\n%s%s", r.status, r.failures(), r.stderr)
	}
	if r := m.run(args...); r.status != 0 || len(r.changed()) > 0 {
		t.Errorf("the second apply: exit status %d, changed %q\n%s", r.status, r.changed(), r.failures())
	}
	m.gives("cd /srv/image && cat etc/motd etc/sysctl.d/60-tenet.conf && ls home/alice/.ssh/authorized_keys etc/sudoers.d/alice etc/ssh/sshd_config.d/00-tenet.conf etc/cron.d/mark etc/nginx/conf.d/image.test.conf",
		strings.Join([]string{"An image.", "# Kept by tenet.", "vm.swappiness = 10", "etc/cron.d/mark", "etc/nginx/conf.d/image.test.conf",
			"etc/ssh/sshd_config.d/00-tenet.conf", "etc/sudoers.d/alice", "home/alice/.ssh/authorized_keys"}, "\n"))
	m.gives("chroot /srv/image systemctl is-enabled ssh cron nginx", "enabled\nenabled\nenabled")
	// Nothing of it got out.
	m.shell("! getent passwd alice && test ! -e /etc/cron.d/mark && test ! -e /etc/ssh/sshd_config.d/00-tenet.conf && test ! -e /etc/nginx/conf.d/image.test.conf")
}
