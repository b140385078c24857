//go:build lab

package labtest

import (
	"strings"
	"testing"
	"time"
)

// The runners of two hosts die in the middle of their runs. Each host goes on with its own
// where that ended: by the name of the execution, or with its last one.
func TestSSHResume(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "resume1", "resume2")
	const file, before, all = "/srv/resume", 10, 30
	site := f.site("resume", f.asRoot()+steps(all, file))
	f.allow(before, file)
	p := f.start("apply", "--yes", "--json", site)
	f.await(p, before*len(f.hosts))
	for _, h := range f.hosts {
		f.on(h, "pkill -KILL -f 'runner [s]erve'")
	}
	r, err := p.Wait(f.within(2 * time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if said := string(r.Stdout) + string(r.Stderr); r.ExitCode != 1 || strings.Count(said, "its process was gone") < len(f.hosts) {
		t.Errorf("exit status %d after the runners were killed\n%s", r.ExitCode, tail(said))
	}
	f.allow(all, file) // what the dead have left ends by itself
	one := f.applies(0, "--resume", f.execution(p), "-l", "resume1")
	other := f.applies(0, "--resume", "last", "-i", site, "-l", "resume2")
	for i, d := range []driven{one, other} {
		h := f.hosts[i]
		// The step in whose middle it was is told of, whoever has ended it.
		if n := d.changes()[h.Name]; n != all-before {
			t.Errorf("%s: %d parts of %d changed after %d had\n%s", h.Name, n, all, before, d.stderr)
		}
		if got := f.on(h, "head -n 10 "+file+" | tr '\n' ' '; sort -un "+file+" | wc -l"); got != "0 1 2 3 4 5 6 7 8 9 30" {
			t.Errorf("%s: the steps are %q", h.Name, got)
		}
	}
	again := f.applies(0, "--resume", "last", "-i", site)
	if n := strings.Count(again.stdout, "nothing to go on with"); n != len(f.hosts) {
		t.Errorf("%d hosts have nothing to go on with\n%s", n, again.stdout)
	}
}
