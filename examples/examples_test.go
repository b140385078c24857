package examples_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// compile compiles an example, which must cause no warning either.
func compile(t *testing.T, example string, vars ...lang.Var) *graph.Result {
	t.Helper()
	registry := modules.Standard()
	facts := map[string]any{
		"home": "/home/me", "hostname": "host", "init": "systemd", "login": nil, "package_manager": "apt",
		"os": map[string]any{"name": "Debian GNU/Linux"},
	}
	site, list := lang.Load(os.DirFS(example), lang.Options{Registry: registry})
	if len(list) > 0 {
		t.Fatal(list)
	}
	name := "host"
	if hosts, _, _ := site.Hosts(t.Context(), lang.Target{Vars: vars}); len(hosts) > 0 {
		name = hosts[0].Name
	}
	declarations, list := site.Evaluate(t.Context(), lang.Target{
		Host: name,
		Vars: vars,
		Facts: func(name string) (any, error) {
			if v, ok := facts[name]; ok {
				return v, nil
			}
			return nil, fmt.Errorf("no fact %s in this test", name)
		},
	})
	if len(list) > 0 {
		t.Fatal(list)
	}
	result, list := graph.Compile(declarations, graph.Options{Registry: site.Registry()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	return result
}

func TestOrder(t *testing.T) {
	for example, want := range map[string][]string{
		"nginx":          {"run.plain", "state.reload_nginx#1", "state.certificate", "run.secure", "state.reload_nginx#2"},
		"nginx-starlark": {"run.plain", "state.reload_nginx#1", "state.certificate", "run.secure", "state.reload_nginx#2"},
		"custom-module":  {"directory.conf", "state.settings", "state.reread"},
		"quickstart": {
			"directory.all",
			"run.plain", "state.restart#1", "state.register", "run.registered", "state.restart#2",
			"file.page", `file.note["monday"]`, `file.note["tuesday"]`, "command.left", "command.right",
		},
	} {
		var got []string
		for _, i := range compile(t, example).Run.Invocations {
			got = append(got, i.Address)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s compiles to %q, want %q", example, got, want)
		}
	}
}

// The example that exists in both languages compiles to the same bytes.
func TestBothLanguages(t *testing.T) {
	var hcl, starlark bytes.Buffer
	for example, to := range map[string]*bytes.Buffer{"nginx": &hcl, "nginx-starlark": &starlark} {
		if err := graph.JSON(to, compile(t, example).Run); err != nil {
			t.Fatal(err)
		}
	}
	if hcl.Len() == 0 || hcl.String() != starlark.String() {
		t.Errorf("in HCL:\n%s\nin Starlark:\n%s", hcl.String(), starlark.String())
	}
}

// Every example compiles, is formatted, and has a README that calls it by its
// path.
func TestEachIsInOrder(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		compile(t, entry.Name())
		readme, err := os.ReadFile(filepath.Join(entry.Name(), "README.md"))
		if err != nil || !bytes.Contains(readme, []byte("examples/"+entry.Name())) {
			t.Errorf("%s: its README does not say how to apply it (%v)", entry.Name(), err)
		}
		files, _ := filepath.Glob(filepath.Join(entry.Name(), "*.hcl"))
		cases, _ := filepath.Glob(filepath.Join(entry.Name(), testcase.Dir, "*.hcl"))
		files = append(files, cases...)
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if out, list := lang.Format(name, src); len(list) > 0 || !bytes.Equal(out, src) {
				t.Errorf("%s is not formatted (tenet fmt): %v", name, list)
			}
		}
	}
}

// Every example has cases, and they pass. Those of nginx hold for nginx in
// Starlark too, which compiles to the same bytes.
func TestCases(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || entry.Name() == "nginx-starlark" {
			continue
		}
		registry := modules.Standard()
		site, _ := lang.Load(os.DirFS(entry.Name()), lang.Options{Registry: registry})
		cases, mistakes := testcase.Read(site.Files())
		if len(mistakes) > 0 || len(cases.List) == 0 {
			t.Errorf("%s has %d cases: %v", entry.Name(), len(cases.List), mistakes)
		}
		for _, c := range cases.List {
			if r := testcase.Run(t.Context(), c, testcase.Options{Site: site, Registry: site.Registry()}); r.Outcome != testcase.Passed {
				t.Errorf("%s: %s\n%s%v", entry.Name(), c.Name, r.Text(entry.Name()), r.Diagnostics)
			}
		}
	}
}

// The quickstart does on this machine what its README says.
func TestQuickstart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	at := lang.Var{Name: "dir", Value: dir}

	first := apply(t, compile(t, "quickstart", at).Run)
	// 11 invocations of one part each, all of which change something.
	if first.Changed != 11 || first.Failed != 0 {
		t.Errorf("the first apply: %+v", first)
	}
	holds(t, dir, "starts.log", "started\nstarted\n")
	holds(t, dir, "running.conf", "greeting = Hello\nregistered = true\n")

	second := apply(t, compile(t, "quickstart", at).Run)
	if second.Changed != 0 || second.Failed != 0 {
		t.Errorf("the second apply: %+v", second)
	}

	third := apply(t, compile(t, "quickstart", at, lang.Var{Name: "greeting", Value: "Welcome"}).Run)
	if third.Changed != 3 || third.Failed != 0 { // two files and one handler
		t.Errorf("with another greeting: %+v", third)
	}
	holds(t, dir, "starts.log", "started\nstarted\nstarted\n")
}

func apply(t *testing.T, run *states.StateRun) states.Counts {
	t.Helper()
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := runtime.Apply(t.Context(), run, runtime.Options{Host: local, Registry: modules.Standard()})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range result.Report.Parts {
		if p.Error != nil {
			t.Errorf("%s: %s", p.Address, p.Error.Message)
		}
	}
	return result.Counts
}

func holds(t *testing.T, dir, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
	}
}
