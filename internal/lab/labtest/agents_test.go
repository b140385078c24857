//go:build lab

package labtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

// Hosts join a server, are worked with as over SSH, and get a site. One loses power in the midst of that, one is cut
// off for a while, and of one somebody makes a copy: each ends up as is wanted, and nothing that it tells is lost.
func TestAgents(t *testing.T) {
	t.Parallel()
	f := agentHosts(t, "alpha", "beta", "gamma", "twin")
	alpha, beta, gamma, twin := f.hosts[0], f.hosts[1], f.hosts[2], f.hosts[3]
	f.on(twin, "tenet agent leave")
	f.must(tenetPath(), "host", "revoke", "twin")
	f.hosts = f.hosts[:3]
	f.worksAsOverSSH()
	f.becomesSmall(beta)
	f.losesPower(alpha)
	f.isCutOff(beta, func() string {
		id := f.isCopied(gamma, twin)
		if err := f.server.Kill(); err != nil { // so that the connection of beta is gone for good
			t.Fatal(err)
		}
		f.run()
		return id
	})
	for _, h := range []*lab.Host{alpha, beta} { // what a copy tells is told in the name of its host
		f.wholeStream(h)
	}
	f.must(tenetPath(), "audit", "verify")
	for _, h := range f.hosts {
		f.on(h, "tenet agent leave && test ! -e /etc/systemd/system/tenet-agent.service && test ! -e /var/lib/tenet/agent && test -e /srv/settings")
	}
}

// becomesSmall has a host run the program that is an agent alone, which takes little memory while it waits.
func (f *agents) becomesSmall(h *lab.Host) {
	f.Helper()
	dir := f.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "tenet-agent"), "github.com/tenetcm/tenet/cmd/tenet-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		f.Fatalf("build tenet-agent: %v\n%s", err, out)
	}
	if err := h.Copy(f.Context(), os.DirFS(dir), "/usr/local/bin"); err != nil {
		f.Fatal(err)
	}
	f.on(h, strings.ReplaceAll(unitPoll, "tenet agent run", "tenet-agent run"))
	f.must(tenetPath(), "ping", "--wait", "-i", f.site("small", f.hostBlocks(`  executor = "agent"`)), "-l", h.Name)
	time.Sleep(10 * time.Second) // what it takes to connect is given back
	const limit = 30 << 10       // KiB
	said := strings.Fields(f.on(h, "tr '\\0' ' ' < /proc/$(systemctl show -P MainPID tenet-agent)/cmdline; grep -E '^(RssAnon|RssFile|VmRSS|VmHWM)' /proc/$(systemctl show -P MainPID tenet-agent)/status"))
	f.Logf("the agent of %s: %s", h.Name, strings.Join(said, " "))
	i := slices.Index(said, "VmRSS:")
	if i < 0 || said[0] != "/usr/local/bin/tenet-agent" {
		f.Fatalf("its memory is not told: %q", said)
	}
	if taken, err := strconv.Atoi(said[i+1]); err != nil || taken > limit {
		f.Errorf("the agent of %s takes %s KiB, and may take %d: %v", h.Name, said[i+1], limit, err)
	}
}

// worksAsOverSSH has an operator do with hosts what they would do over SSH.
func (f *agents) worksAsOverSSH() {
	f.Helper()
	f.allow(0, "/srv/steps")
	site := f.site("hello", f.hostBlocks(`  executor = "agent"`)+"file \"hello\" {\n  path    = \"/srv/hello\"\n  content = \"from ${fact.hostname}\\n\"\n}\n")
	f.must(tenetPath(), "ping", "-i", site)
	if d := f.tenet("plan", "--json", site); d.status != 0 || len(d.parts()) != len(f.hosts) {
		f.Errorf("plan: exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.everywhere(f.applies(0, site), 1)
	f.everywhere(f.applies(0, site), 0)
	for _, h := range f.hosts {
		if got := f.must(tenetPath(), "exec", "-i", site, "-l", h.Name, "--", "cat", "/srv/hello"); !strings.Contains(got, "from "+h.Name) {
			f.Errorf("%s has %q", h.Name, got)
		}
		for _, args := range [][]string{{"logs"}, {"status"}, {"facts"}, {"history"}} {
			if got := f.must(append([]string{tenetPath()}, append(args, "-i", site, "-l", h.Name)...)...); got == "" {
				f.Errorf("%s of %s says nothing", args, h.Name)
			}
		}
	}
	if got := f.must(tenetPath(), "exec", "-i", site, "--", "tenet", "import", "file", "/srv/hello"); !strings.Contains(got, `file "/srv/hello"`) {
		f.Errorf("import: %s", got)
	}
	f.must(tenetPath(), "hold", "-i", site, "-l", "alpha", "somebody looks at it")
	f.site("hello", f.hostBlocks(`  executor = "agent"`)+"file \"hello\" {\n  path    = \"/srv/hello\"\n  content = \"again\"\n}\n")
	d := f.tenet("apply", "--yes", "--json", site)
	if got, want := d.changes(), map[string]int{"beta": 1, "gamma": 1}; d.status == 0 || !maps.Equal(got, want) {
		f.Errorf("an apply of a host on hold: exit status %d, changed %v\n%s", d.status, got, d.stderr)
	}
	f.must(tenetPath(), "unhold", "-i", site, "-l", "alpha")
	if got := f.applies(0, site).changes(); !maps.Equal(got, map[string]int{"alpha": 1}) {
		f.Errorf("after the hold it has changed %v", got)
	}
}

// losesPower cuts the power of a host in the midst of its steps. Its agent starts with it, and goes on; the handler
// that was owed runs, and no step is done twice but the one in whose midst it was.
func (f *agents) losesPower(h *lab.Host) {
	f.Helper()
	f.allow(8, "/srv/steps")
	id := f.deploy(f.site("lab", f.stepsSite("one")), "-m", "steps")
	f.eventually(h, 3*time.Minute, "test $(wc -l < /srv/steps.one) -ge 6")
	if err := h.LosePower(); err != nil {
		f.Fatal(err)
	}
	if err := h.AwaitReboot(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.allow(20, "/srv/steps")
	f.done(id, "alpha", "beta", "gamma")
	for _, one := range f.hosts {
		if got := f.on(one, "sort -u /srv/steps.one | wc -l; sort -u /srv/loads; cat /srv/settings"); got != "20\none\none" {
			f.Errorf("%s: steps, loads, settings: %q", one.Name, got)
		}
	}
	f.on(h, "test $(wc -l < /srv/steps.one) -le 22") // two may have been under way
	for _, one := range f.hosts[1:] {
		f.on(one, "test $(wc -l < /srv/steps.one) = 20 && test $(wc -l < /srv/loads) = 1")
	}
}

// isCutOff takes a host off the network while something is deployed: it mends itself meanwhile, and gets what is new when it is back.
func (f *agents) isCutOff(h *lab.Host, meanwhile func() string) {
	f.Helper()
	if err := h.Cut(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.on(h, "echo spoilt > /srv/settings")
	f.eventually(h, time.Minute, "grep -q one /srv/settings && test $(wc -l < /srv/loads) = 2")
	id := meanwhile()
	f.on(h, "grep -q one /srv/settings")
	if err := h.Join(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.allow(20, "/srv/steps")
	f.done(id, "alpha", "beta", "gamma")
	f.on(h, "grep -q two /srv/settings && test $(tail -n 1 /srv/loads) = two")
}

// isCopied makes a copy of a host's agent while something is deployed to it: the server notices, and gives neither anything new until a person has decided.
func (f *agents) isCopied(h, twin *lab.Host) (deployment string) {
	f.Helper()
	f.on(h, "echo 5 > /srv/steps.allowed")
	id := f.deploy(f.site("lab", f.stepsSite("two")), "-m", "again")
	f.eventually(h, 3*time.Minute, "test $(wc -l < /srv/steps.two) -ge 5")
	copied := f.on(h, "tar -C /var/lib/tenet -c agent | base64 -w0")
	m := &machine{T: f.T, host: twin}
	m.copy(fstest.MapFS{"agent.tar.b64": {Data: []byte(copied)}}, "/root")
	f.on(twin, "systemctl stop tenet-agent 2>/dev/null; mkdir -p -m 700 /var/lib/tenet && base64 -d /root/agent.tar.b64 | tar -C /var/lib/tenet -x && systemd-run -q --unit=copy tenet agent run --state-dir /var/lib/tenet")
	type host struct{ Name, State string }
	locked := func(state string) func([]host) bool {
		return func(all []host) bool {
			return slices.ContainsFunc(all, func(one host) bool { return one.Name == h.Name && one.State == state })
		}
	}
	wait(f, "the copy is noticed", locked("locked"), "host", "list")
	f.on(twin, "systemctl stop copy")
	f.on(h, "echo 20 > /srv/steps.allowed") // it may go on with what it has
	f.must(tenetPath(), "host", "unlock", h.Name, "--reason", "the copy is gone")
	wait(f, "it is let in again", locked("active"), "host", "list")
	f.eventually(h, 3*time.Minute, "grep -q two /srv/settings && test $(tail -n 1 /srv/loads) = two")
	f.on(twin, "test ! -e /srv/settings || test $(cat /srv/settings) = two") // it had what was wanted before it was noticed
	return id
}
