//go:build lab

package labtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// lasting is a fleet of one host that can reboot.
func lasting(t *testing.T, name string) *fleet {
	t.Helper()
	h, err := shared.run.BootLasting(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.PowerOff(); err != nil {
			t.Error(err)
		}
	})
	f, err := enrol(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	f.T = t
	return f
}

// The host loses power in the middle of a run: the controller says so, and the next
// apply does what is left.
func TestSSHHostLosesPower(t *testing.T) {
	t.Parallel()
	f := lasting(t, "power")
	h := f.hosts[0]
	var b strings.Builder
	b.WriteString(f.asRoot() + "state \"steps\" {\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  command \"s%d\" {\n    shell   = \"until test %[1]d -lt $(cat /srv/steps.allowed); do sleep 0.05; done; echo %[1]d >> /srv/steps; touch /srv/step%[1]d\"\n    creates = \"/srv/step%[1]d\"\n  }\n", i)
	}
	b.WriteString("}\n")
	site := f.site("power", b.String())
	f.allow(15, "/srv/steps")
	p := f.start("apply", "--yes", "--json", site)
	f.await(p, 10)
	if err := h.LosePower(); err != nil {
		t.Fatal(err)
	}
	if err := h.AwaitReboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := p.Wait(f.within(2 * time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if said := string(r.Stdout) + string(r.Stderr); r.ExitCode != 1 || !strings.Contains(said, "its process was gone") || !strings.Contains(said, "next apply") {
		t.Errorf("exit status %d after the power was cut\n%s", r.ExitCode, tail(said))
	}
	id := f.execution(p)
	if d := f.tenet("status", id); strings.Contains(d.stdout, "running") {
		t.Errorf("a run that is dead: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.allow(40, "/srv/steps")
	d := f.applies(0, site)
	if n := d.changes()[h.Name]; n < 25 || n > 30 {
		t.Errorf("the next apply changed %d of 40 parts", n)
	}
	// The one in whose middle it was may have been done twice.
	if got := f.on(h, "sort -un /srv/steps | wc -l; test $(wc -l < /srv/steps) -le 41"); got != "40" {
		t.Errorf("%s steps are done", got)
	}
	f.everywhere(f.applies(0, site), 0)
}

// A reboot that the site wants: the run goes on behind it, and the controller follows.
func TestSSHReboot(t *testing.T) {
	t.Parallel()
	f := lasting(t, "again")
	h := f.hosts[0]
	f.on(h, "mkdir -p /srv")
	before := f.on(h, bootID)
	site := f.site("again", f.asRoot()+rebootSite)
	p := f.start("apply", "--yes", "--json", site)
	if err := h.AwaitReboot(t.Context()); err != nil { // which joins it to the network
		t.Fatal(err)
	}
	r, err := p.Wait(f.within(2 * time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	d := f.read([]string{"--json"}, r)
	if d.status != 0 {
		t.Errorf("exit status %d\n%s%s", d.status, d.stderr, tail(d.stdout))
	}
	if f.on(h, bootID) == before {
		t.Error("it has not rebooted")
	}
	if got := f.on(h, "cat /srv/before /srv/after /srv/count"); got != "12run" {
		t.Errorf("on the host: %q", got)
	}
	if n := d.changes()[h.Name]; n != 4 {
		t.Errorf("%d changes are told of, want 4\n%s", n, d.stderr)
	}
	var last int64
	for _, e := range d.events {
		if e.Seq > 0 && e.Seq <= last {
			t.Errorf("event %d comes after %d", e.Seq, last)
		}
		last = max(last, e.Seq)
	}
}
