package examples_test

import (
	"os"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// At most a quarter of the rows of the first plan of three tiers on bare machines is a maybe, and
// each of these hangs on one of the few parts that nobody can foresee.
func TestTiersAreMostlyCertain(t *testing.T) {
	rows, maybe := 0, 0
	causes := map[string]bool{}
	for name, plan := range firstPlans(t) {
		for _, row := range plan {
			isMaybe := row.Certain != nil && !*row.Certain
			switch {
			case row.Outcome == states.Failed || row.Outcome == states.Blocked:
				t.Errorf("%s: %s is %s: %v", name, row.Address, row.Outcome, row.Error)
			case row.Outcome == states.Skipped && !isMaybe:
				continue
			case isMaybe && row.Cause == "":
				t.Errorf("%s: %s is a maybe without a cause: %s", name, row.Address, row.Reason)
			case isMaybe:
				maybe++
				causes[name+" "+row.Cause] = true
			}
			rows++
		}
	}
	if maybe*4 > rows || maybe == 0 {
		t.Errorf("%d of %d rows are maybe", maybe, rows)
	}
	want := []string{
		`app1 component.jobs.state.job["tidy"].command.user`, // it asks for an account that the plan makes
		"db1 component.database.state.server.package.server",
		"proxy1 component.web.state.server.package.nginx",
	}
	for _, cause := range want {
		if !causes[cause] {
			t.Errorf("%s is no cause", cause)
		}
		delete(causes, cause)
	}
	for cause := range causes {
		t.Errorf("%s is a cause, too", cause)
	}
}

// firstPlans gives the rows of a plan of each host, which is a bare machine.
func firstPlans(t *testing.T) map[string][]states.Event {
	t.Helper()
	site, mistakes := lang.Load(os.DirFS("tiers"), lang.Options{Registry: modules.Standard()})
	hosts, _, more := site.Hosts(t.Context(), lang.Target{})
	if mistakes = slices.Concat(mistakes, more); len(mistakes) > 0 || len(hosts) != 3 {
		t.Fatal(len(hosts), mistakes)
	}
	plans := map[string][]states.Event{}
	for _, h := range hosts {
		m := bareMachine(t)
		facts, err := simulated.Facts(m, nil)
		if err != nil {
			t.Fatal(err)
		}
		declared, mistakes := site.Evaluate(t.Context(), lang.Target{Host: h.Name, Facts: facts.Fact})
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		compiled, mistakes := graph.Compile(declared, graph.Options{Registry: site.Registry()})
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		options := runtime.Options{Host: m, Registry: site.Registry(), Site: site.Files(), Events: func(ev states.Event) {
			if ev.Type == states.EventPart {
				plans[h.Name] = append(plans[h.Name], ev)
			}
		}}
		if _, err := runtime.Plan(t.Context(), compiled.Run, options); err != nil {
			t.Fatal(err)
		}
	}
	return plans
}

// bareMachine is a Debian 12 as its installer leaves it, with fresh package lists.
func bareMachine(t *testing.T) host.Host {
	t.Helper()
	m, err := simulated.New(t.Context(), simulated.Machine{
		Like:     "debian12-server",
		Commands: []simulated.Command{{Name: "/lib/systemd/systemd"}, {Name: "systemd-analyze"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := m.Run(t.Context(), host.Command{Argv: []string{"apt-get", "update"}}); err != nil || r.ExitCode != 0 {
		t.Fatalf("%v %s", err, r.Stderr)
	}
	return m
}
