//go:build lab

package labtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/states"
)

// many starts sshds on one machine, from port 3001 on: each in a mount namespace of its
// own, with a state folder and a /srv of its own. They share the cached runner, for the
// memory's sake. The last line tells how many sessions were open at a time.
const many = `set -e
mkdir -p /run/sshd /var/lib/tenet /srv
cat > /etc/ssh/many <<END
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
MaxStartups 100
END
for i in $(seq $COUNT); do
	unshare --mount sh -c "mount -t tmpfs tmpfs /var/lib/tenet && mount -t tmpfs tmpfs /srv && exec /usr/sbin/sshd -f /etc/ssh/many -p $((3000 + i)) -o PidFile=none"
done`

// Two hundred hosts in one apply, and a rollout over them.
func TestSSHTwoHundredHosts(t *testing.T) {
	t.Parallel()
	const count, forks = 200, 12
	f := ownHosts(t, "hive")
	h := f.hosts[0]
	f.on(h, fmt.Sprintf("COUNT=%d; ", count)+many)
	var site, config strings.Builder
	fmt.Fprintf(&config, "Host n*\n  HostName hive\n  HostKeyAlias hive\n  User root\n")
	for i := range count {
		fmt.Fprintf(&site, "host \"n%d\" {\n  port = %d\n}\n", i+1, 3001+i)
	}
	f.write(".ssh/config", config.String())
	const parts = `
variable "marked" {
  default = "1"
}

file "/srv/mark" {
  content = "${var.marked} ${host.name}\n"
}

command "fails" {
  shell = "test ! -e /srv/fails"
}
`
	name := f.site("many", site.String()+parts)

	// How many sshds have a session open, asked again and again.
	f.on(h, `rm -f /run/most; (most=0; while [ -d /run/sshd ]; do n=$(pgrep -fc '^sshd: root@notty'); [ $n -le $most ] || { most=$n; echo $most > /run/most; }; sleep 0.05; done) > /dev/null 2>&1 &`)
	began := time.Now()
	p := f.start("apply", "--yes", "--json", "--forks", fmt.Sprint(forks), name)
	r, err := p.Wait(f.within(5 * time.Minute))
	took := time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	d := f.read([]string{"--json"}, r)
	if d.status != 0 {
		t.Fatalf("exit status %d\n%s%s", d.status, d.failures(), tail(d.stderr))
	}
	if n := d.changes(); len(n) != count || n["n1"] != 2 || n["n200"] != 2 {
		t.Errorf("changed on %d hosts, want %d: %v", len(n), count, n)
	}
	most := f.on(h, "cat /run/most")
	// Some have come to their end, and are still there when the next ones begin.
	if n, err := strconv.Atoi(most); err != nil || n > forks+forks/2 || n < forks/3 {
		t.Errorf("%s sessions at a time, with %d forks", most, forks)
	}
	t.Logf("%d hosts in %.1f s; the controller held at most %.1f MB, %.2f MB a host; %s sessions at a time of %d forks",
		count, took.Seconds(), float64(p.Peak())/1e6, float64(p.Peak())/1e6/count, most, forks)
	if p.Peak() > 500e6 { // 397 MB on a machine that does nothing else, 417 MB on a busy one
		t.Errorf("the controller held %d MB", p.Peak()/1_000_000)
	}

	// A tenth at a time; two may fail. Three do: in the second batch.
	for _, i := range []int{25, 30, 39} {
		f.on(h, fmt.Sprintf("pid=$(pgrep -f '^sshd: .*-p %d '); nsenter -t $pid -m touch /srv/fails", 3000+i))
	}
	d = f.tenet("apply", "--yes", "--json", "--forks", fmt.Sprint(forks), "--batch", "10%", "--max-failures", "2", "--var", "marked=2", name)
	failed, touched := map[string]bool{}, map[string]bool{}
	for _, e := range d.parts() {
		touched[e.Host] = true
		if e.Outcome == states.Failed {
			failed[e.Host] = true
		}
	}
	if d.status != 1 || len(failed) != 3 || len(touched) != 40 || !touched["n40"] || touched["n41"] {
		t.Errorf("exit status %d, %d hosts failed, %d were touched, want 1, 3 and 40\n%s", d.status, len(failed), len(touched), tail(d.stderr))
	}
	if got := f.on(h, "for p in $(pgrep -f '^sshd: .*-p 3[0-9]* '); do nsenter -t $p -m cat /srv/mark; done | grep -c ^2"); got != "40" {
		t.Errorf("the second mark is on %s hosts, want 40", got)
	}
}
