package stdlib_test

import (
	"regexp"
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
	declarations, list := site.Evaluate(t.Context(), lang.Target{Host: "host", Facts: facts.Fact})
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
	for _, trial := range slices.Concat(hostTrials, serverTrials, peerTrials(), margoTrials(t)) {
		t.Run(trial.name, func(t *testing.T) {
			h := trial.boot(t)
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
			trial.takeAway(t, h)
		})
	}
}

// boot makes the trial's machine.
func (trial trial) boot(t *testing.T) *host.Memory {
	t.Helper()
	h, err := simulated.New(t.Context(), trial.machine)
	if err != nil {
		t.Fatal(err)
	}
	if trial.prepare != nil {
		trial.prepare(h)
	}
	return h
}

// absent is the trial's site with all of its components absent.
func (trial trial) absent() string {
	return regexp.MustCompile("(?m)^component .*$").ReplaceAllString(trial.site, "$0\n  ensure = \"absent\"")
}

// takeAway makes the trial's components absent: what they made is gone, but for
// what stays, and a second apply changes nothing.
func (trial trial) takeAway(t *testing.T, h *host.Memory) {
	t.Helper()
	if o := apply(t, h, compileSite(t, h, trial.absent())); o.Failed {
		t.Errorf("taking it away fails:\n%s", o.failures())
	}
	for name := range trial.files {
		if stays := slices.Contains(trial.stays, name); simulated.Exists(h, name) != stays {
			t.Errorf("absent: %s is there: %t, want %t", name, !stays, stays)
		}
	}
	if again := apply(t, h, compileSite(t, h, trial.absent())); again.Failed || len(again.changed()) > 0 {
		t.Errorf("taking it away again changes %q\n%s", again.changed(), again.failures())
	}
}

// Where a component never was, making it absent does nothing: it does not even
// install what it would need.
func TestAbsentFromTheStart(t *testing.T) {
	for _, trial := range slices.Concat(hostTrials, serverTrials, peerTrials(), margoTrials(t)) {
		t.Run(trial.name, func(t *testing.T) {
			// Not what the trial puts there to be removed.
			trial.machine.Users, trial.machine.Files, trial.machine.Links = nil, nil, nil
			h := trial.boot(t)
			if o := apply(t, h, compileSite(t, h, trial.absent())); o.Failed || len(o.changed()) > 0 {
				t.Errorf("it changed %q\n%s", o.changed(), o.failures())
			}
		})
	}
}
