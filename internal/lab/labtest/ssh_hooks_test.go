//go:build lab

package labtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

// hookSite has two web servers behind a load balancer, which drains and undrains them. Each step says in
// /srv/log when it begins and ends, waits as long as /srv/hold-STEP is there, and fails if
// /srv/fail-STEP is.
const hookSite = `
variable "release" {}

locals {
  step = "log() { echo $(date +%s%N) $* >> /srv/log; }; log STEP-begin; touch /srv/at-STEP; while [ -e /srv/hold-STEP ]; do sleep 0.1; done; test ! -e /srv/fail-STEP || exit 1; "
}

host_group "web" {
  hosts = "!hooklb"
  roles = ["web"]
}

host_group "lb" {
  hosts = "hooklb"
  roles = ["lb"]
}

role "web" {
  command "release" {
    shell   = "${replace(local.step, "STEP", "release")} log release-end; touch /srv/release-${var.release}"
    creates = "/srv/release-${var.release}"
  }
}

role "lb" {
  state "drain" {
    param "batch" {
      type = list(string)
    }
    command "drain" {
      shell = "${replace(local.step, "STEP", "drain")} for h in ${join(" ", param.batch)}; do mkdir -p /srv/drained; touch /srv/drained/$h; log drained $h; done"
    }
  }
  state "undrain" {
    param "batch" {
      type = list(string)
    }
    param "failed" {
      type = list(string)
    }
    command "undrain" {
      shell = "${replace(local.step, "STEP", "undrain")} for h in ${join(" ", setsubtract(param.batch, param.failed))}; do rm -f /srv/drained/$h; log undrained $h; done"
    }
  }
}

rollout {
  stage "web" {
    hosts = "@web"
    batch = 1
    before_each {
      hosts = "@lb"
      state = state.drain
    }
    after_each {
      hosts = "@lb"
      state = state.undrain
    }
  }
}
`

// hooked is the site on its hosts, release by release.
type hooked struct {
	*fleet
	name    string
	release int
}

// Hooks over SSH, with a host that fails at each step, and a controller that is killed in each:
// nothing is worked on that is not drained, nothing broken is undrained, and nothing that is well stays drained.
func TestSSHHooks(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "hooklb", "hookweb1", "hookweb2")
	h := &hooked{fleet: f, name: f.site("hooks", f.asRoot()+hookSite)}
	h.applyNext(0)
	h.ready("at first")
	lb, web := f.hosts[0], f.hosts[1]
	for _, c := range []struct {
		step string
		at   *lab.Host
	}{{"drain", lb}, {"release", web}, {"undrain", lb}} {
		f.on(c.at, "touch /srv/fail-"+c.step)
		d := h.applyNext(1)
		drained := f.on(lb, "ls /srv/drained")
		switch c.step {
		case "drain": // nothing was begun, and nobody is out
			if drained != "" {
				t.Errorf("after a drain that failed, drained: %q", drained)
			}
		case "release":
			if drained != web.Name {
				t.Errorf("after a release that failed, drained: %q", drained)
			}
		case "undrain":
			if drained != web.Name || !strings.Contains(d.stderr, "nothing") && !h.isDue() {
				t.Errorf("after an undrain that failed, drained: %q, due: %t", drained, h.isDue())
			}
		}
		f.on(c.at, "rm /srv/fail-"+c.step)
		h.again(0)
		h.ready(c.step + " had failed")

		f.on(c.at, fmt.Sprintf("rm -f /srv/at-%s; touch /srv/hold-%[1]s", c.step))
		begins := h.begins(c.at, c.step)
		h.release++
		p := f.start("apply", "--yes", "--json", "--var", fmt.Sprint("release=", h.release), h.name)
		f.eventually(c.at, time.Minute, "test -e /srv/at-"+c.step)
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if !h.isDue() {
			t.Errorf("killed in %s, and nothing is due", c.step)
		}
		f.on(c.at, "rm /srv/hold-"+c.step)
		h.again(0)
		h.ready("killed in " + c.step)
		// Of the step in which it was killed there is none more than there would have been.
		want := map[string]int{"drain": 3, "release": 1, "undrain": 2}[c.step]
		if n := h.begins(c.at, c.step) - begins; n != want {
			t.Errorf("killed in %s: it was begun %d times, want %d", c.step, n, want)
		}
	}
	h.replay()
}

// applyNext applies the next release, which must end with a status.
func (h *hooked) applyNext(status int) driven {
	h.Helper()
	h.release++
	return h.again(status)
}

// again applies the release once more.
func (h *hooked) again(status int) driven {
	h.Helper()
	return h.applies(status, "--var", fmt.Sprint("release=", h.release), h.name)
}

// isDue reports whether the last execution has left something.
func (h *hooked) isDue() bool {
	h.Helper()
	return strings.Contains(h.tenet("status", "last").stdout, "due: after_each")
}

func (h *hooked) begins(at *lab.Host, step string) int {
	h.Helper()
	return strings.Count(h.on(at, "touch /srv/log; cat /srv/log"), " "+step+"-begin")
}

// ready wants the release on all, and nobody out.
func (h *hooked) ready(when string) {
	h.Helper()
	if drained := h.on(h.hosts[0], "ls /srv/drained"); drained != "" {
		h.Errorf("%s: still drained: %q", when, drained)
	}
	for _, web := range h.hosts[1:] {
		h.on(web, fmt.Sprint("test -e /srv/release-", h.release))
	}
}

// replay goes through all that happened, by the one clock that the hosts share.
func (h *hooked) replay() {
	h.Helper()
	var lines []string
	for _, host := range h.hosts {
		for line := range strings.Lines(h.on(host, "cat /srv/log")) {
			at, what, _ := strings.Cut(strings.TrimSpace(line), " ")
			lines = append(lines, at+" "+host.Name+" "+what)
		}
	}
	slices.Sort(lines)
	drained, broken := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		words := strings.Fields(line)[1:]
		switch host, what := words[0], words[1]; what {
		case "drained":
			drained[words[2]] = true
		case "undrained":
			if broken[words[2]] {
				h.Errorf("%s is undrained, and broken: %s", words[2], line)
			}
			delete(drained, words[2])
		case "release-begin":
			if !drained[host] {
				h.Errorf("%s is worked on, and not drained: %s", host, line)
			}
			broken[host] = true
		case "release-end":
			delete(broken, host)
		}
	}
	if len(drained)+len(broken) > 0 || len(lines) < 20 {
		h.Errorf("in the end drained %v, broken %v, of %d lines", drained, broken, len(lines))
	}
}
