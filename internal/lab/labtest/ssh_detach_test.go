//go:build lab

package labtest

import (
	"strings"
	"testing"
	"time"
)

// A run has a place of its own in systemd: the end of all that a login is made of, by
// force, does not end it.
func TestSSHRunOutlivesItsLogin(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "detach1")
	h := f.hosts[0]
	site := f.site("detach", f.asRoot()+steps(100, "/srv/detach"))
	f.allow(30, "/srv/detach")
	p := f.start("apply", "--yes", "--json", site)
	f.await(p, 5)
	where := f.on(h, `for p in $(pgrep -f 'runner serve'); do cat /proc/$p/cgroup; done`)
	if !strings.Contains(where, "tenet-") || !strings.Contains(where, ".scope") {
		t.Errorf("its place is %s", where)
	}
	f.on(h, "systemctl kill -s KILL ssh.service; systemctl start ssh.service")
	f.allow(100, "/srv/detach")
	f.whole(p)
	if got, want := f.on(h, "cat /srv/detach"), strings.Join(numbers(100), "\n"); got != want {
		t.Errorf("the steps: %q", got)
	}
	f.eventually(h, time.Minute, "test -z \"$(systemctl list-units --all --plain --no-legend 'tenet-*')\"")
}
