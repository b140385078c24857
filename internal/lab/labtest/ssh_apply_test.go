//go:build lab

package labtest

import (
	"slices"
	"strconv"
	"testing"
)

// Ten hosts that have never heard of tenet: the first apply does it all, the second
// finds nothing to do. Each takes one connection to each host. No other test runs beside
// it: systemd watches so much that one machine has room for some fifteen hosts only
// (fs.inotify.max_user_instances).
func TestSSHApplyOnTenHosts(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, "web"+strconv.Itoa(i+1))
	}
	f := ownHosts(t, names...)
	f, trace := f.traced()
	site := f.site("ten", f.asRoot()+twentyParts("/srv/ten"))
	before := f.allLogins()

	cold := f.applies(0, "--runner-dir", shared.runners, site)
	f.everywhere(cold, 18) // curl and cron are there already
	for i, n := range f.allLogins() {
		if n-before[i] != 1 {
			t.Errorf("%s: %d connections for one apply", f.hosts[i].Name, n-before[i])
		}
	}
	if trips := f.trips(trace); len(trips) != 10 || slices.Max(trips) > 2 {
		t.Errorf("cold: round trips before the first part: %v", trips)
	}
	for _, h := range f.hosts {
		if got := f.on(h, "cat /srv/ten/file07; stat -c '%a %U' /srv/ten; id -nG worker"); got != "7 on "+h.Name+"\n750 root\nworker crew" {
			t.Errorf("%s: %q", h.Name, got)
		}
	}

	f, trace = f.traced()
	warm := f.applies(0, "--runner-dir", shared.runners, "--detailed-exitcode", site)
	f.everywhere(warm, 0)
	for i, n := range f.allLogins() {
		if n-before[i] != 2 {
			t.Errorf("%s: %d connections for two applies", f.hosts[i].Name, n-before[i])
		}
	}
	if trips := f.trips(trace); len(trips) != 10 || slices.Max(trips) > 1 {
		t.Errorf("warm: round trips before the first part: %v", trips)
	}
	parts := map[string]int{}
	for _, e := range warm.parts() {
		parts[e.Host]++
	}
	for _, h := range f.hosts {
		if parts[h.Name] != 20 {
			t.Errorf("%s tells of %d parts, want 20", h.Name, parts[h.Name])
		}
	}
}

// allLogins counts the connections of each host.
func (f *fleet) allLogins() []int {
	f.Helper()
	var n []int
	for _, h := range f.hosts {
		n = append(n, f.logins(h))
	}
	return n
}
