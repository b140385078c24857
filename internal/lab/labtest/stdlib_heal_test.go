//go:build lab

package labtest

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// heals breaks what a component keeps in several ways, by hand and with its service
// stopped, and wants one apply to put it right, the next to change nothing, and the service
// to be well by a script.
func (m *machine) heals(well string, broken ...string) {
	m.Helper()
	for _, script := range broken {
		m.shell(script)
		m.apply()
		m.shell(well)
		if got := m.apply(); len(got) > 0 {
			m.Errorf("after %s a second apply changes %q", script, got)
		}
	}
}

// refuses applies a site with a wrong value: it must fail with the program's words, and the
// service must go on as if nothing had been.
func (m *machine) refuses(text, address, says, same string) {
	m.Helper()
	before := m.shell(same)
	m.site(text)
	e := m.fails(address)
	if !strings.Contains(e.Error.Message, says) {
		m.Errorf("%s fails with %q, want %q in it", address, e.Error.Message, says)
	}
	if after := m.shell(same); after != before {
		m.Errorf("%s\nprinted %q, and %q after a wrong value", same, before, after)
	}
}

func TestStdlibNginxHeals(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	m.shell("mkdir -p /srv/one; echo one > /srv/one/index.html")
	const site = `
component "web" {
  source = "std/nginx"
  vars = {
    ipv6 = false
    sites = {
      "one.test" = {
        root     = "/srv/one"
        settings = "server_tokens off;"
      }
      "two.test" = {
        root = "/srv/one"
        tls  = "self-signed"
      }
    }
  }
}

component "other" {
  source = "std/nginx"
  vars = {
    ipv6 = false
    sites = {
      "a.test" = { root = "/srv/one" }
    }
  }
}
`
	m.settles(site)
	// A reload of nginx only asks it to take over its files: it does so a moment later.
	const well = "for i in $(seq 100); do ( nginx -t -q && systemctl is-active -q nginx && [ \"$(curl -fsS --resolve one.test:80:127.0.0.1 http://one.test/)\" = one ] && " +
		"[ \"$(curl -fsS --cacert /etc/ssl/sites/two.test.self-signed.pem --resolve two.test:443:127.0.0.1 https://two.test/)\" = one ] && " +
		"[ -z \"$(find /etc/nginx -name '*check*')\" ] ) && exit; sleep 0.1; done; exit 1"
	m.shell(well)
	m.heals(well,
		"systemctl stop nginx",
		"echo broken > /etc/nginx/conf.d/one.test.conf; systemctl stop nginx",
		"for f in one.test two.test a.test; do echo '}' >> /etc/nginx/conf.d/$f.conf; done; systemctl stop nginx",
		"for f in one.test two.test a.test; do echo '}' >> /etc/nginx/conf.d/$f.conf; done", // while it runs
		"rm /etc/ssl/sites/two.test.self-signed.key; systemctl stop nginx",
		"echo x > /etc/ssl/sites/two.test.self-signed.pem; systemctl stop nginx",
		"openssl genrsa -out /etc/ssl/sites/two.test.self-signed.key 2048; systemctl stop nginx",
	)
	const same = "cat /etc/nginx/conf.d/*.conf | md5sum; systemctl show -p MainPID nginx; " + well
	m.refuses(strings.Replace(site, "server_tokens off;", "server_tokens maybe;", 1), `component.web.run.plain["one.test"].file.site`, "invalid value", same)
	m.refuses(strings.Replace(site, "server_tokens off;", "listen 80 default_server; }\\nserver { listen 80 default_server;", 1),
		`component.web.run.plain["one.test"].file.site`, "duplicate listen", same)

	// What is broken elsewhere is told by nginx's own words, and ends nothing that runs.
	m.shell("echo 'nonsense;' > /etc/nginx/conf.d/zz-other.conf; echo broken > /etc/nginx/conf.d/one.test.conf")
	m.site(site)
	r := m.tenet("apply", "--yes")
	if r.status != 1 || !strings.Contains(r.failures(), "zz-other.conf") {
		t.Errorf("exit status %d\n%s", r.status, r.failures())
	}
	m.shell("systemctl is-active -q nginx; rm /etc/nginx/conf.d/zz-other.conf")
	m.apply()
	m.shell(well)
}

func TestStdlibSSHServerHeals(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	m.shell("ssh-keygen -q -t ed25519 -N '' -f /root/key; install -d -m 0700 /root/.ssh; cat /root/key.pub >> /root/.ssh/authorized_keys")
	const site = `
component "ssh" {
  source = "std/ssh_server"
  vars = {
    settings = {
      MaxAuthTries = "3"
    }
  }
}
`
	m.settles(site)
	const file = "/etc/ssh/sshd_config.d/00-tenet.conf"
	const well = "systemctl is-active -q ssh && [ \"$(" + ssh + "root@127.0.0.1 echo in)\" = in ] && sshd -T | grep -qx 'maxauthtries 3' && ! ls /etc/ssh/sshd_config.d/*~"
	m.shell(well)
	m.heals(well,
		"systemctl stop ssh",
		"echo broken >> "+file+"; systemctl stop ssh",
		"echo broken >> "+file,
		"rm "+file+"; systemctl stop ssh",
	)
	const same = "md5sum " + file + "; systemctl show -p MainPID ssh; " + well
	m.refuses(strings.Replace(site, `"3"`, `"many"`, 1), "component.ssh.state.settings.file.settings", "MaxAuthTries", same)
	// What sshd takes, and cannot do: the former settings are put back. A daemon that has ended by then cannot be started either.
	activates := []string{"component.ssh.state.activate.command.answers", "component.ssh.state.activate.service.ssh"}
	m.site(strings.Replace(site, "settings =", "listen = [\"192.0.2.77\"]\n    settings =", 1))
	m.fails(activates...)
	m.shell("for i in $(seq 100); do ( " + well + " ) && exit; sleep 0.1; done; ls -la /etc/ssh/sshd_config.d; systemctl status ssh; sshd -T | grep -i maxauth; exit 1")
	// Also where those were broken by hand before.
	m.shell("echo broken >> " + file)
	m.fails(activates...)
	m.shell("sshd -t && systemctl is-active -q ssh")
	m.site(site)
	m.apply()
	m.shell(well)
}

func TestStdlibCronHeals(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	const site = `
component "jobs" {
  source = "std/cron"
  vars = {
    jobs = {
      mark = {
        schedule = "@reboot"
        command  = "touch /tmp/mark"
      }
    }
  }
}
`
	m.settles(site)
	m.heals("systemctl is-active -q cron && grep -qx '@reboot root touch /tmp/mark' /etc/cron.d/mark",
		"systemctl stop cron", "echo '@never root nothing' > /etc/cron.d/mark; systemctl stop cron", "rm /etc/cron.d/mark; systemctl disable --now cron")
	m.site(strings.Replace(site, "@reboot", "61 * * * *", 1))
	if r := m.tenet("apply", "--yes"); r.status != 3 {
		t.Errorf("a wrong schedule ends with %d", r.status)
	}
	m.shell("systemctl is-active -q cron && grep -q @reboot /etc/cron.d/mark")
}

func TestStdlibPostgreSQLHeals(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	const site = `
component "database" {
  source = "std/postgresql"
  vars = {
    settings = {
      work_mem       = "8MB"
      shared_buffers = "64MB"
    }
    access = [
      { type = "local", method = "peer" },
      { address = "127.0.0.1/32" },
    ]
    roles = {
      app = {}
    }
  }
}
`
	m.settles(site)
	const dir = "/etc/postgresql/15/main"
	psql := func(query string) string { return "runuser -u postgres -- psql -qAtX -c \"" + query + "\"" }
	well := "[ \"$(" + psql("SELECT current_setting('work_mem'), current_setting('shared_buffers'), (SELECT count(*) FROM pg_hba_file_rules WHERE error IS NOT NULL)") +
		")\" = '8MB|64MB|0' ] && [ -z \"$(find " + dir + " /tmp -name '*~' -o -name 'tmp.*')\" ]"
	m.shell(well)
	const stop = "pg_ctlcluster 15 main stop; "
	m.heals(well,
		stop,
		stop+"echo 'work_mem = much' >> "+dir+"/conf.d/50-tenet.conf",
		"echo \"shared_buffers = '900GB'\" >> "+dir+"/conf.d/51-tenet-restart.conf; systemctl restart postgresql@15-main || true",
		stop+"for f in 50-tenet 51-tenet-restart; do echo '= broken' > "+dir+"/conf.d/$f.conf; done",
		"for f in 50-tenet 51-tenet-restart; do echo '= broken' > "+dir+"/conf.d/$f.conf; done", // while it runs
		stop+"echo 'host nobody' >> "+dir+"/pg_hba.conf",
		stop+"rm "+dir+"/conf.d/5*.conf",
	)
	same := "cat " + dir + "/conf.d/* " + dir + "/pg_hba.conf | md5sum; " + psql("SELECT pg_postmaster_start_time()") + "; " + well
	const settings = "component.database.state.settings.file."
	m.refuses(strings.Replace(site, `"64MB"`, `"900GB"`, 1), settings+"restart", "memory", same)
	m.refuses(strings.Replace(site, `"8MB"`, `"much"`, 1), settings+"reload", "work_mem", same)
	m.refuses(strings.Replace(site, `"peer" }`, `"no-such-method" }`, 1), settings+"access", "no-such-method", same)
	m.site(site)
	m.shell(stop)
	m.site(strings.Replace(site, `"peer" }`, `"no-such-method" }`, 1))
	says(t, m.fails(settings+"access"), "no-such-method") // asked of an empty server
	m.site(site)
	m.apply()
	m.shell(well)

	// What the program takes, and the server cannot do: the former settings are put back.
	m.site(strings.Replace(site, "shared_buffers", "shared_preload_libraries = \"no_such_library\"\n      shared_buffers", 1))
	m.fails("component.database.state.restart.restart.server")
	m.shell(well)
	m.settles(site)
	m.shell(well)
}

// An account that was removed and made anew has its home, and its owner gets in.
func TestStdlibUsersHeal(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	m.shell("ssh-keygen -q -t ed25519 -N '' -f /root/key")
	site := strings.ReplaceAll(`
component "people" {
  source = "std/users"
  vars = {
    users = {
      alice = {
        keys = ["KEY"]
        sudo = "NOPASSWD"
      }
      zoe = {
        keys = ["KEY"]
      }
    }
  }
}
`, "KEY", m.shell("cat /root/key.pub"))
	m.settles(site)
	well := "[ \"$(" + ssh + "alice@127.0.0.1 'touch mine && sudo -n id -un')\" = root ] && [ \"$(stat -c %U /home/alice/mine)\" = alice ]"
	m.shell(well)
	gone := "loginctl terminate-user alice; for i in $(seq 600); do pgrep -u alice > /dev/null || break; sleep 0.1; done; "
	m.heals(well,
		gone+"userdel alice",
		gone+"userdel alice; userdel zoe", // which could take each other's numbers
		"echo 'alice ALL=(ALL' > /etc/sudoers.d/alice",
		"chmod 0777 /home/alice/.ssh; : > /home/alice/.ssh/authorized_keys",
	)
	m.shell(gone + "userdel alice; useradd --uid 4321 --no-create-home --shell /bin/bash alice")
	var notes []string
	for _, e := range m.tenet("plan").events {
		if e.Type == states.EventSaid && e.Address == `component.people.state.account["alice"].user.account` {
			notes = append(notes, e.Reason)
		}
	}
	_, cure, found := strings.Cut(strings.Join(notes, "\n"), ", which is nobody's: alice cannot use it, nor log in by a key in it; give it to the user with all that is the former owner's: ")
	if !found {
		t.Fatalf("the plan notes %q", notes)
	}
	m.shell(cure)
	m.apply()
	m.shell(well)
}
