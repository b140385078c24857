package lang_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/modules"
)

// hooksJSON is the rollout of the pair "hooks" in JSON syntax.
const hooksJSON = `{"rollout": {
  "before_each": {"hosts": ["@lb"], "state": "state.drain"},
  "stage": [{"web": {
    "hosts": "web*", "batch": 1,
    "before_each": [{"hosts": "@lb", "state": "state.drain"}],
    "after_each": [
      {"hosts": "@lb", "state": "${state.undrain}", "params": {"pool": "shop"}},
      {"hosts": ["@lb", "!lb2*"], "state": "handler.drain"}]}}]}}`

// hookSites are the site of the pair "hooks" in each language.
func hookSites(t *testing.T) map[string]fstest.MapFS {
	t.Helper()
	a, err := txtar.ParseFile("../testdata/lang/pairs/hooks.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p := readPair(t, a)
	source := p.hcl["site.hcl"].Data
	json := fstest.MapFS{"a.hcl": {Data: source[:indexOf(t, source, "rollout {")]}, "b.hcl.json": {Data: []byte(hooksJSON)}}
	return map[string]fstest.MapFS{"hcl": p.hcl, "starlark": p.star, "json": json}
}

func indexOf(t *testing.T, text []byte, part string) int {
	t.Helper()
	for i := range text {
		if len(text)-i >= len(part) && string(text[i:i+len(part)]) == part {
			return i
		}
	}
	t.Fatalf("there is no %q", part)
	return 0
}

// The rollout is the same in each language, and a stage without hooks has those of the rollout.
func TestHooksOfRollout(t *testing.T) {
	const want = `{"before":["state.drain [lb1] map[]"],"after":null,"stage":["state.drain [lb1] map[]"],` +
		`"stage_after":["state.undrain [lb1] map[pool:shop]","state.drain [lb1] map[]"]}`
	for name, files := range hookSites(t) {
		site, _ := lang.Load(files, lang.Options{Registry: modules.Standard()})
		r, list := site.Rollout(t.Context(), lang.Target{}, nil)
		if list.HasErrors() || r == nil || !r.HasHooks() || len(r.Stages) != 1 {
			t.Fatalf("%s: %+v: %s", name, r, list.Error())
		}
		text := func(hooks []lang.Hook) (out []string) {
			for _, h := range hooks {
				if h.Range == (diag.Range{}) {
					t.Errorf("%s: %s has no place", name, h.State)
				}
				out = append(out, h.String())
			}
			return out
		}
		got, err := json.Marshal(struct {
			Before     []string `json:"before"`
			After      []string `json:"after"`
			Stage      []string `json:"stage"`
			StageAfter []string `json:"stage_after"`
		}{text(r.BeforeEach), text(r.AfterEach), text(r.Stages[0].BeforeEach), text(r.Stages[0].AfterEach)})
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s (%v)", name, got, want, err)
		}
	}
	const inherits = `
host "a" {}
host "b" {}
state "s" { lazy = true }
rollout {
  after_each {
    hosts = "a"
    state = state.s
  }
  stage "b" { hosts = "b" }
}`
	site, _ := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(inherits)}}, lang.Options{Registry: modules.Standard()})
	r, list := site.Rollout(t.Context(), lang.Target{}, nil)
	if list.HasErrors() || len(r.Stages[0].AfterEach) != 1 || len(r.Stages[0].BeforeEach) != 0 {
		t.Errorf("%+v: %s", r, list.Error())
	}
}

// A hook's state has the params that the hook gives, and the names of the batch.
func TestHookRun(t *testing.T) {
	for name, files := range hookSites(t) {
		site, _ := lang.Load(files, lang.Options{Registry: modules.Standard()})
		d, list := site.Evaluate(t.Context(), lang.Target{Host: "lb1", Facts: pairFacts(nil), Hook: &expr.HookRun{
			State: "state.undrain", Params: map[string]any{"pool": "shop"}, Batch: []string{"web1", "web2"}, Failed: []string{"web1"}}})
		if list.HasErrors() {
			t.Fatalf("%s: %s", name, list.Error())
		}
		result, list := graph.Compile(d, graph.Options{Registry: site.Registry()})
		if list.HasErrors() {
			t.Fatalf("%s: %s", name, list.Error())
		}
		run, list := result.Select(graph.Selection{Targets: []string{"state.undrain"}})
		if list.HasErrors() || len(run.Invocations) != 1 || len(run.Invocations[0].Parts) != 1 {
			t.Fatalf("%s: %+v: %s", name, run, list.Error())
		}
		argv, err := json.Marshal(run.Invocations[0].Parts[0].Values["argv"])
		if want := `["undrain","shop","web2"]`; err != nil || string(argv) != want {
			t.Errorf("%s: %s, want %s (%v)", name, argv, want, err)
		}
		// In an apply of the site nothing of it runs.
		d, _ = site.Evaluate(t.Context(), lang.Target{Host: "lb1", Facts: pairFacts(nil)})
		if result, list = graph.Compile(d, graph.Options{Registry: site.Registry()}); list.HasErrors() || len(result.Run.Invocations) != 1 {
			t.Errorf("%s: %+v: %s", name, result.Run.Invocations, list.Error())
		}
	}
}
