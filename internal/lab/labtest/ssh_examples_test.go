//go:build lab

package labtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

// The examples for several hosts do over SSH what their READMEs say.
func TestSSHExamples(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "example1", "example2", "example3", "example4")
	for _, h := range f.hosts {
		f.on(h, "echo 'deb [trusted=yes] file:"+lab.Parcels+" ./' > /etc/apt/sources.list.d/parcels.list && apt-get update -q")
	}
	f.drainedFleet()
	f.cluster()
	f.releases()
}

// example gives the controller an example, for hosts of the lab.
func (f *fleet) example(name string, hosts map[string]*lab.Host) string {
	f.Helper()
	from := filepath.Join("../../../examples", name)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		to := filepath.Join(f.c.Home(), name, rel)
		if e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(data)
		for address, h := range hosts {
			text = strings.ReplaceAll(text, `"`+address+`"`, `"`+h.Address+`"`)
		}
		return os.WriteFile(to, []byte(text), 0o600)
	})
	if err != nil {
		f.Fatal(err)
	}
	return name
}

// drainedFleet has a web server that fails and stays out of the load balancer, until it is mended.
func (f *fleet) drainedFleet() {
	lb, web1, web2, db := f.hosts[0], f.hosts[1], f.hosts[2], f.hosts[3]
	site := f.example("fleet", map[string]*lab.Host{"192.0.2.3": lb, "192.0.2.1": web1, "192.0.2.2": web2, "192.0.2.11": db})
	f.applies(0, site)
	// balanced waits until the load balancer gives pages of these servers, and of no others.
	balanced := func(what string, names ...string) {
		f.Helper()
		// nginx serves by its former configuration for a moment after a reload.
		f.eventually(lb, time.Minute, fmt.Sprintf("test \"$(for i in 1 2 3 4; do curl -fsS http://127.0.0.1:8080/; done | sed 's/.*from \\(.*\\), with.*/\\1/' | sort -u | xargs)\" = '%s'", strings.Join(names, " ")))
		f.Logf("%s: the pages are of %s", what, names)
	}
	balanced("at first", "web1", "web2")
	if again := f.applies(0, site); len(again.changes()) > 0 {
		f.Errorf("a second apply changes %v", again.changes())
	}

	f.on(web1, "rm /var/www/html/index.html && mkdir -p /var/www/html/index.html/full")
	f.applies(1, "--var", "color=red", site)
	if got := f.on(lb, "ls /etc/lb/drained"); got != "web1" {
		f.Errorf("web1 has failed, and drained is %q", got)
	}
	balanced("web1 has failed", "web2")
	if got := f.on(web2, "cat /var/www/html/index.html"); !strings.HasPrefix(got, "green") {
		f.Errorf("web2 was begun after web1 had failed: %q", got)
	}

	f.on(web1, "rm -r /var/www/html/index.html")
	f.applies(0, "--var", "color=red", site)
	balanced("web1 is mended", "web1", "web2")
	if got := f.on(lb, "ls /etc/lb/drained"); got != "" {
		f.Errorf("all is well, and drained is %q", got)
	}
}

// cluster is joined by the token of its leader, which nobody else gets to see.
func (f *fleet) cluster() {
	leader := f.hosts[0]
	site := f.example("cluster", map[string]*lab.Host{"192.0.2.21": leader, "192.0.2.22": f.hosts[1], "192.0.2.23": f.hosts[2]})
	plan := f.tenet("plan", site)
	if plan.status != 0 || !strings.Contains(plan.stdout, "(known after apply)") && !strings.Contains(plan.stdout, "known only after apply") {
		f.Errorf("the first plan: %d\n%s%s", plan.status, plan.stdout, plan.stderr)
	}
	first := f.tenet("apply", "--yes", site)
	token := f.on(leader, "cat /var/lib/clusterdb/token")
	if first.status != 0 || len(token) != 32 {
		f.Fatalf("the token is %q: %s%s", token, first.stdout, first.stderr)
	}
	for _, member := range f.hosts[1:3] {
		if got, want := f.on(member, "cat /var/lib/clusterdb/member"), "leader "+leader.Address+", token "+token; got != want {
			f.Errorf("%s has joined by %q, want %q", member.Name, got, want)
		}
		if found := f.on(member, "grep -rlF "+token+" /var/lib/tenet /var/log || true"); found != "" {
			f.Errorf("%s keeps the token in %s", member.Name, found)
		}
	}
	second := f.applies(0, site)
	if changed := second.changes(); len(changed) > 0 {
		f.Errorf("the second apply changes %v\n%s", changed, second.stdout)
	}
	for _, said := range []driven{plan, first, second} {
		if strings.Contains(said.stdout+said.stderr, token) {
			f.Errorf("the token is shown:\n%s%s", said.stdout, said.stderr)
		}
	}
	if alone := f.tenet("apply", "--yes", "-l", "db3", site); alone.status != 1 || !strings.Contains(alone.stdout, "-l 'db3,db1'") {
		f.Errorf("db3 alone: %d\n%s%s", alone.status, alone.stdout, alone.stderr)
	}
}

// releases are switched, and one goes back without being unpacked again.
func (f *fleet) releases() {
	h := f.hosts[3]
	site := f.example("releases", nil)
	f.write(site+"/hosts.hcl", fmt.Sprintf("host \"app1\" {\n  address = %q\n  user = \"deploy\"\n  become = true\n}\n", h.Address))
	for _, c := range []struct{ version, kept string }{
		{"1.0", "1.0"},
		{"1.1", "1.0 1.1"},
		{"1.2", "1.0 1.1 1.2"},
		{"1.0", "1.0 1.1 1.2"},
		{"1.3", "1.0 1.2 1.3"}, // 1.1 is the one that was wanted longest ago
	} {
		f.applies(0, "--var", "version="+c.version, site)
		if got := f.on(h, "ls /srv/app/releases | xargs"); got != c.kept {
			f.Errorf("with %s there are the releases %q, want %q", c.version, got, c.kept)
		}
		f.eventually(h, time.Minute, "journalctl -u app.service -o cat --grep '^the app' | tail -1 | grep -qxF 'the app, "+c.version+"'")
	}
	if again := f.applies(0, "--var", "version=1.3", site); len(again.changes()) > 0 {
		f.Errorf("a second apply changes %v", again.changes())
	}
}
