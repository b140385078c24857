package stdlib_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/stdlib"
)

// compileSite compiles a site that uses components, which must cause no warning
// either.
func compileSite(t *testing.T, h host.Host, text string) *states.StateRun {
	t.Helper()
	src, list := lang.Format("site.hcl", []byte(text))
	if len(list) > 0 {
		t.Fatal(list)
	}
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: src}}, lang.Options{Registry: modules.Standard(), Standard: stdlib.FS})
	if len(list) > 0 {
		t.Fatal(list)
	}
	facts, err := simulated.Facts(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	declarations, list := site.For(t.Context(), lang.Target{Host: "host", Facts: facts.Fact})
	if len(list) > 0 {
		t.Fatal(list)
	}
	result, list := graph.Compile(declarations, graph.Options{Registry: modules.Standard()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	return result.Run
}

// Each component compiles to what it compiled to before; its plan foretells its
// apply, which makes what it says; and a second apply changes nothing.
func TestApply(t *testing.T) {
	for _, trial := range slices.Concat(hostTrials, serverTrials) {
		t.Run(trial.name, func(t *testing.T) {
			h, err := simulated.New(t.Context(), trial.machine)
			if err != nil {
				t.Fatal(err)
			}
			if trial.prepare != nil {
				trial.prepare(h)
			}
			run := compileSite(t, h, trial.site)
			golden(t, trial.name, run)

			foretold := plan(t, h, run)
			if foretold.Failed {
				t.Errorf("the plan fails:\n%s", foretold.failures())
			}
			certain := foretold.addresses(func(e states.Event) bool {
				return e.Action != "" && e.Action != states.NoChange && e.Certain != nil && *e.Certain
			})
			first := apply(t, h, run)
			if first.Failed {
				t.Fatalf("the apply fails:\n%s", first.failures())
			}
			for _, address := range certain {
				if !slices.Contains(first.changed(), address) {
					t.Errorf("the plan was certain of %s, which did not change", address)
				}
			}
			for name, want := range trial.files {
				if got := simulated.Text(h, name); got != want || !simulated.Exists(h, name) {
					t.Errorf("%s holds\n%s\nwant\n%s", name, got, want)
				}
			}
			if trial.check != nil {
				trial.check(t, h)
			}
			again := compileSite(t, h, trial.site)
			if second := apply(t, h, again); second.Failed || len(second.changed()) > 0 {
				t.Errorf("the second apply changed %q\n%s", second.changed(), second.failures())
			}
		})
	}
}
