//go:build lab

package labtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

// outputSite has a database that gives a token, a server that joins by it and gives what it has got, and another one
// that follows that. Each step says in /srv/log that it begins, waits as long as /srv/hold-STEP is there, and fails if
// /srv/fail-STEP is. What is secret begins with s3cr3t, which
// the site itself does not say.
const outputSite = `
site {
  name = "outputs"
}

variable "release" {}

locals {
  step = "echo STEP-begin >> /srv/log; touch /srv/at-STEP; while [ -e /srv/hold-STEP ]; do sleep 0.1; done; test ! -e /srv/fail-STEP || exit 1;"
}

host_group "db" {
  hosts = "outdb"
  roles = ["db"]
}

host_group "join" {
  hosts = "outapp1"
  roles = ["join"]
}

host_group "follow" {
  hosts = "outapp0"
  roles = ["follow"]
}

role "db" {
  command "token" {
    shell     = "${replace(local.step, "STEP", "token")} echo s3cr$((1 + 2))t-${var.release} | tee /srv/token"
    sensitive = true
  }
  output "join" {
    type      = string
    value     = trimspace(command.token.stdout)
    sensitive = true
  }
}

role "join" {
  command "join" {
    shell     = "${replace(local.step, "STEP", "join")} tee /srv/joined"
    stdin     = hosts("outdb")[0].outputs.join
    sensitive = true
  }
  output "joined" {
    value = "${command.join.stdout}+1"
  }
}

role "follow" {
  command "follow" {
    shell = "${replace(local.step, "STEP", "follow")} cat > /srv/followed"
    stdin = hosts("outapp1")[0].outputs.joined
  }
}
`

// outputFleet is the site on its hosts, release by release.
type outputFleet struct {
	*fleet
	name    string
	release int
}

// Outputs over SSH, with a host that fails at each step, and a controller that is killed in each: who reads begins after
// who gives has ended well, reads what it has given just now, and nothing that is secret is shown or left behind.
func TestSSHOutputs(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "outdb", "outapp1", "outapp0")
	h := &outputFleet{fleet: f, name: f.site("outputs", f.asRoot()+outputSite)}
	h.applyNext(0)
	h.ready("at first", 3)
	steps := []string{"token", "join", "follow"}
	for i, step := range steps {
		at := f.hosts[i]
		f.on(at, "touch /srv/fail-"+step)
		d := h.applyNext(1)
		h.ready(step+" failed", i)
		if n := strings.Count(d.stdout, "which did not end well"); n < len(steps)-i-1 {
			t.Errorf("%s failed, and %d hosts say that they were not begun:\n%s", step, n, tail(d.stdout))
		}
		f.on(at, "rm /srv/fail-"+step)
		h.again(0)
		h.ready(step+" had failed", 3)

		begins := h.begins(at, step)
		p := h.killedIn(at, step)
		f.on(at, "rm /srv/hold-"+step)
		// What was begun goes on and is not begun again; what was not stays where it is.
		resumed := f.tenet("apply", "--yes", "--json", "--resume", f.execution(p), "-i", h.name)
		h.clean(resumed)
		if n := h.begins(at, step) - begins; n != 1 {
			t.Errorf("killed in %s, and resumed: it was begun %d times", step, n)
		}
		h.ready("resumed in "+step, i+1)
		h.again(0)
		h.ready("applied after the resumption in "+step, 3)

		h.killedIn(at, step)
		f.on(at, "rm /srv/hold-"+step)
		h.again(0)
		h.ready("killed in "+step, 3)
	}
	// A host that is left out is as it was recorded, for which what is secret needs recipients.
	d := f.tenet("plan", "-l", "outapp1", "--var", "release=0", h.name)
	if d.status != 1 || !strings.Contains(d.stdout, "which -l outapp1 leaves out and which has never given it") {
		t.Errorf("what is secret and was not recorded: status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	h.clean(d)
}

// applyNext applies the next release, which must end with a status.
func (h *outputFleet) applyNext(status int) driven {
	h.Helper()
	h.release++
	return h.again(status)
}

// again applies the release once more.
func (h *outputFleet) again(status int) driven {
	h.Helper()
	d := h.applies(status, "--var", fmt.Sprint("release=", h.release), h.name)
	h.clean(d)
	return d
}

// killedIn applies the next release with a controller that is killed in a step, which waits.
func (h *outputFleet) killedIn(at *lab.Host, step string) *lab.Process {
	h.Helper()
	h.on(at, fmt.Sprintf("rm -f /srv/at-%s; touch /srv/hold-%[1]s", step))
	h.release++
	p := h.start("apply", "--yes", "--json", "--var", fmt.Sprint("release=", h.release), h.name)
	h.eventually(at, time.Minute, "test -e /srv/at-"+step)
	if err := p.Kill(); err != nil {
		h.Fatal(err)
	}
	return p
}

func (h *outputFleet) begins(at *lab.Host, step string) int {
	h.Helper()
	return strings.Count(h.on(at, "touch /srv/log; cat /srv/log"), step+"-begin")
}

// ready wants the release on the first n hosts, and that of before on the others.
func (h *outputFleet) ready(when string, n int) {
	h.Helper()
	files, ends := []string{"/srv/token", "/srv/joined", "/srv/followed"}, []string{"", "", "+1"}
	for i, host := range h.hosts {
		want := fmt.Sprintf("s3cr3t-%d%s", h.release, ends[i])
		if got := h.on(host, "cat "+files[i]); (got == want) != (i < n) {
			h.Errorf("%s: %s of %s is %q, of release %d", when, files[i], host.Name, got, h.release)
		}
	}
}

// clean wants nothing secret in what was said, and in no record but those that may hold it.
func (h *outputFleet) clean(d driven) {
	h.Helper()
	if strings.Contains(d.stdout+d.stderr, "s3cr3t") {
		h.Errorf("a secret is shown:\n%s\n%s", tail(d.stdout), tail(d.stderr))
	}
	for _, host := range h.hosts {
		found := h.on(host, "grep -rl s3cr3t /var/lib/tenet | grep -v -e /results.jsonl -e /outputs.json -e /secrets.json || true")
		if found != "" {
			h.Errorf("a secret is on %s in %s", host.Name, found)
		}
	}
	r, err := h.c.Exec(h.within(time.Minute), "sh", "-c", "test -d /var/lib/tenet/executions || exit 1; grep -rl s3cr3t /var/lib/tenet; exit 0")
	if err != nil || r.ExitCode != 0 || strings.TrimSpace(string(r.Stdout)) != "" {
		h.Errorf("a secret is on the controller, or no record: %v %d %s", err, r.ExitCode, r.Stdout)
	}
}
