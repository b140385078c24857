//go:build lab

package labtest

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
	"github.com/tenetcm/tenet/states"
)

// What happens to the connection and to the controller while 100 steps run: they are
// done all the same, each once, and the controller can be told of each.
func TestSSHRunGoesOn(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name  string
		hosts int
		do    func(f *fleet, p *lab.Process, site string)
	}{
		{"the line is cut and joined", 1, (*fleet).cutAndJoined},
		{"ssh is killed", 1, (*fleet).clientKilled},
		{"the server's side is killed", 1, (*fleet).serverKilled},
		{"the controller is killed", 2, (*fleet).controllerKilled},
		{"the hosts are away for long", 2, (*fleet).away},
		{"it is interrupted", 1, (*fleet).interrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := ownHosts(t, []string{fmt.Sprintf("run%d", i), fmt.Sprintf("run%d-2", i)}[:c.hosts]...)
			site := f.site(fmt.Sprintf("run%d", i), f.asRoot()+steps(100, fmt.Sprintf("/srv/run%d", i)))
			f.allow(30, fmt.Sprintf("/srv/run%d", i))
			p := f.start("apply", "--yes", "--json", site)
			f.await(p, 20*len(f.hosts))
			c.do(f, p, site)
			want := strings.Join(numbers(100), "\n")
			for _, h := range f.hosts {
				if got := f.on(h, fmt.Sprintf("cat /srv/run%d", i)); got != want && c.name != "it is interrupted" {
					t.Errorf("%s: the steps: %q", h.Name, got)
				}
			}
		})
	}
}

func numbers(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// await waits until a process has told of so many parts.
func (f *fleet) await(p *lab.Process, parts int) {
	f.Helper()
	err := p.Await(f.within(2*time.Minute), func(stdout, _ string) bool {
		return strings.Count(stdout, `"type":"part"`) >= parts
	})
	if err != nil {
		f.Fatal(err)
	}
}

// whole wants a process to end well, and to have told each host's events once and in
// order.
func (f *fleet) whole(p *lab.Process) {
	f.Helper()
	r, err := p.Wait(f.within(5 * time.Minute))
	if err != nil {
		f.Fatal(err)
	}
	d := f.read([]string{"--json"}, r)
	if d.status != 0 {
		f.Errorf("exit status %d\n%s%s", d.status, d.failures(), d.stderr)
	}
	f.complete(d, false)
}

// complete wants 100 steps of each host, each once, in the order of seq: without gaps
// where these are all events of the run.
func (f *fleet) complete(d driven, gapless bool) {
	f.Helper()
	for _, h := range f.hosts {
		var last int64
		var steps []string
		for _, e := range d.on(h.Name).events {
			if e.Seq == 0 {
				continue // of the fleet, not of the run
			}
			if e.Seq <= last || gapless && e.Seq != last+1 {
				f.Errorf("%s: event %d (%s) comes after %d", h.Name, e.Seq, e.Type, last)
			}
			last = e.Seq
			if e.Type == states.EventPart && e.Outcome == states.Changed {
				steps = append(steps, e.Address)
			}
		}
		if len(steps) != 100 {
			f.Errorf("%s: %d steps are told of, want 100", h.Name, len(steps))
		}
	}
}

func (f *fleet) cutAndJoined(p *lab.Process, _ string) {
	h := f.hosts[0]
	if err := h.Cut(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.allow(100, "/srv/run0")
	time.Sleep(3 * time.Second)
	if err := h.Join(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.whole(p)
}

func (f *fleet) clientKilled(p *lab.Process, _ string) {
	before := f.logins(f.hosts[0])
	for i := range 3 {
		if n := p.KillChildren("ssh"); n == 0 {
			f.Error("there was no ssh to kill")
		}
		f.allow(50+20*i, "/srv/run1")
		f.await(p, 40+20*i)
	}
	f.allow(100, "/srv/run1")
	f.whole(p)
	if n := f.logins(f.hosts[0]) - before; n != 3 {
		f.Errorf("%d connections after the first, want 3", n)
	}
}

func (f *fleet) serverKilled(p *lab.Process, _ string) {
	f.on(f.hosts[0], "pkill -KILL -f '^sshd: root@notty'")
	f.allow(100, "/srv/run2")
	f.whole(p)
}

var executionID = regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{6}\b`)

// execution is the name that a process has given to what it does.
func (f *fleet) execution(p *lab.Process) string {
	f.Helper()
	stdout, stderr := p.Output()
	id := executionID.FindString(stderr + stdout)
	if id == "" {
		f.Fatalf("no execution is named:\n%s%s", stderr, tail(stdout))
	}
	return id
}

func (f *fleet) controllerKilled(p *lab.Process, site string) {
	id := f.execution(p)
	if err := p.Kill(); err != nil {
		f.Fatal(err)
	}

	f.allow(1, "/srv/patient")
	patient := f.start("apply", "--yes", "--json", "--lock-timeout", "10m", f.site("patient", f.asRoot()+steps(1, "/srv/patient")))
	err := patient.Await(f.within(2*time.Minute), func(stdout, stderr string) bool { return strings.Contains(stdout+stderr, "wait") })
	if err != nil {
		f.Errorf("who waits does not say so: %v", err)
	}

	// Another one asks, and may not clean up what runs, nor apply.
	if d := f.tenet("status", id); d.status != 0 || !strings.Contains(d.stdout, "running") {
		f.Errorf("while it runs: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	if d := f.tenet("clean", id); d.status != 1 || strings.Count(d.stdout+d.stderr, "in progress") != 2 {
		f.Errorf("clean while it runs: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	second := f.tenet("apply", "--yes", site)
	for _, h := range f.hosts {
		if line := lineOf(second, h.Name, "root"); second.status != 1 || line == "" {
			f.Errorf("another apply: exit status %d, no line of %s that names the first\n%s%s", second.status, h.Name, second.stdout, second.stderr)
		}
	}

	f.allow(100, "/srv/run3")
	for _, h := range f.hosts {
		f.eventually(h, 2*time.Minute, "test $(wc -l < /srv/run3) = 100 && test -s /srv/patient && ! pgrep -f 'runner [s]erve'")
	}
	r, err := patient.Wait(f.within(2 * time.Minute))
	if err != nil {
		f.Fatal(err)
	}
	f.everywhere(f.read([]string{"--json"}, r), 1)
	if d := f.tenet("status", id); d.status != 0 || strings.Contains(d.stdout, "running") || strings.Count(d.stdout, "done") < 2 {
		f.Errorf("when it is over: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	logs := f.tenet("logs", id, "--json")
	if logs.status != 0 {
		f.Errorf("logs: exit status %d\n%s", logs.status, logs.stderr)
	}
	f.complete(logs, true)
	if d := f.tenet("clean", id); d.status != 0 {
		f.Errorf("clean: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	for _, h := range f.hosts {
		if got := f.on(h, "grep -rl "+id+" /var/lib/tenet || true"); got != "" {
			f.Errorf("%s: after clean there is left %s", h.Name, got)
		}
	}
	if d := f.tenet("status", id); d.status == 0 {
		f.Errorf("what was cleaned is still there:\n%s", d.stdout)
	}
}

// lineOf finds the line that has all texts.
func lineOf(d driven, texts ...string) string {
lines:
	for line := range strings.Lines(d.stdout + "\n" + d.stderr) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		return strings.TrimSpace(line)
	}
	return ""
}

// away takes the hosts off the network until ssh has given them up, and longer.
func (f *fleet) away(p *lab.Process, _ string) {
	for _, h := range f.hosts {
		if err := h.Cut(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
	cut := time.Now()
	f.allow(100, "/srv/run4")
	for _, h := range f.hosts {
		f.eventually(h, 5*time.Minute, "test $(wc -l < /srv/run4) = 100")
	}
	time.Sleep(time.Until(cut.Add(time.Minute)))
	stdout, _ := p.Output()
	if n := strings.Count(stdout, `"type":"part"`); n >= 200 {
		f.Errorf("the line was not cut: %d events", n)
	}
	for _, h := range f.hosts {
		if err := h.Join(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
	f.whole(p)
}

// interrupted is Ctrl-C: the host ends what it does, and says so.
func (f *fleet) interrupted(p *lab.Process, site string) {
	if err := p.Signal(syscall.SIGINT); err != nil {
		f.Fatal(err)
	}
	r, err := p.Wait(f.within(2 * time.Minute))
	if err != nil || r.ExitCode != 4 {
		f.Errorf("exit status %d, %v\n%s", r.ExitCode, err, r.Stderr)
	}
	h := f.hosts[0]
	f.eventually(h, time.Minute, "! pgrep -f 'runner [s]erve'")
	f.on(h, "test $(wc -l < /srv/run5) -lt 100")
	if d := f.tenet("history", "-i", site, "-l", h.Name); d.status != 0 || !strings.Contains(d.stdout, "interrupted") {
		f.Errorf("history: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
}
