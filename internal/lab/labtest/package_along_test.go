//go:build lab

package labtest

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// apt removes what needs a package together with it: a plan says so, and what the site
// declares is not taken along.
func TestPackageTakesOthersAlong(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("apt-get update -q && apt-get install -q -y lab-three")
	const gone = "package \"lab-lib\" {\n  ensure = \"absent\"\n}\n"
	m.site(gone + "package \"lab-three\" {}\n")
	plan := m.tenet("plan")
	if failures := plan.failures(); plan.status != 1 || !strings.Contains(failures, "lab-three would be removed, too") {
		t.Errorf("plan: exit status %d\n%s", plan.status, failures)
	}
	says(t, m.fails("package.lab-lib"), "lab-three would be removed, too", "keep it")
	m.shell("dpkg -s lab-lib lab-three")

	m.site(gone)
	for _, e := range m.tenet("plan").parts() {
		if e.Action != states.Remove || !strings.Contains(e.Reason, "lab-three") {
			t.Errorf("the plan says %s %s: %q", e.Action, e.Address, e.Reason)
		}
	}
	m.converges("package.lab-lib")
	m.shell("! dpkg -s lab-three")
}
