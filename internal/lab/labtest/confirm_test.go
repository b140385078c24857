//go:build lab

package labtest

import (
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/states"
)

// wayIn is a site that lets USERS in, by keys. It stays as long as alice can: who asks at once after a reload may be let in by the sshd of before.
const wayIn = `
package "openssh-server" {}

user "alice" {
  shell = "/bin/bash"
}

block "ssh" {
  require = [package.openssh-server, user.alice]
  confirm {
    timeout = "8s"
    command = ["sh", "-c", "sleep 2; ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i /root/key alice@127.0.0.1 true"]
  }
  file "/etc/ssh/sshd_config.d/10-way-in.conf" {
    content = "SETTINGS\n"
    notify  = [reload.ssh]
  }
}

reload "ssh" {}
`

// A real sshd is given settings that lock alice out. They are put back, and she
// can log in again.
func TestConfirmLetsYouInAgain(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	m.shell("apt-get update -q && apt-get install -q -y --no-install-recommends openssh-client && ssh-keygen -q -t ed25519 -N '' -f /root/key && " +
		"useradd -m -s /bin/bash alice && install -d -o alice -m 0700 /home/alice/.ssh && install -o alice -m 0600 /root/key.pub /home/alice/.ssh/authorized_keys")
	with := func(settings string) { m.site(strings.Replace(wayIn, "SETTINGS", settings, 1)) }

	with("AllowUsers alice")
	if changed := m.apply(); len(changed) == 0 {
		t.Fatal("nothing has changed")
	}
	m.shell(ssh + "alice@127.0.0.1 true")
	for name, settings := range map[string]string{"another user": "AllowUsers nobody", "another port": `AllowUsers alice\nPort 2022`} {
		with(settings)
		m.shell("rm -f /tmp/denied; touch /tmp/watch; (while test -e /tmp/watch; do " + ssh + "alice@127.0.0.1 true || echo no >> /tmp/denied; sleep 0.2; done > /dev/null 2>&1 &)")
		start := time.Now()
		r := m.tenet("apply", "--yes")
		took := time.Since(start)
		m.shell("rm /tmp/watch")
		if r.status != 1 || took < 8*time.Second || took > 3*time.Minute {
			t.Errorf("%s: exit status %d after %s\n%s", name, r.status, took, r.stderr)
		}
		var last states.Event
		for _, e := range r.events {
			if e.Type == states.EventConfirm {
				last = e
			}
		}
		if last.Outcome != states.Failed || last.Error == nil || last.Error.Code != "not_confirmed" {
			t.Errorf("%s: %+v %+v", name, last, last.Error)
		}
		m.shell("test -s /tmp/denied")
		m.shell("for i in $(seq 600); do " + ssh + "alice@127.0.0.1 true && exit 0; sleep 0.1; done; exit 1") // sshd starts anew to reload
		m.gives("cat /etc/ssh/sshd_config.d/10-way-in.conf", "AllowUsers alice")
	}
}
