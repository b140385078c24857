package lang_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/stdlib"
)

// pairFacts are the facts of the pairs' host; an archive's facts.json comes
// before them.
func pairFacts(given map[string]any) func(string) (any, error) {
	all := map[string]any{
		"os":   map[string]any{"id": "debian", "family": "debian", "version": "13", "codename": "trixie"},
		"home": "/home/ada", "cpus": json.Number("2"), "memory": json.Number("2147483648"),
		"hostname": "web1", "arch": "x86_64", "ipv4": []any{"192.0.2.1", "192.0.2.2"}, "login": nil,
	}
	return func(name string) (any, error) {
		if v, ok := given[name]; ok {
			return v, nil
		}
		if v, ok := all[name]; ok {
			return v, nil
		}
		return nil, fmt.Errorf("there is no such fact")
	}
}

// factsOfHosts gives each host its name, and otherwise the facts that all have.
func factsOfHosts(common func(string) (any, error)) *lang.HostFacts {
	return lang.NewHostFacts(func(_ context.Context, wanted []lang.HostFact) map[lang.HostFact]lang.HostFactValue {
		answers := map[lang.HostFact]lang.HostFactValue{}
		for _, w := range wanted {
			var a lang.HostFactValue
			if a.Value, a.Err = common(w.Name); a.Err == nil && w.Name == "hostname" {
				a.Value = w.Host
			}
			answers[w] = a
		}
		return answers
	})
}

// pair is a site in both languages: the files below hcl/ and star/, and those
// below both/ in each of them.
type pair struct {
	hcl, star fstest.MapFS
	targets   []lang.Target
}

func readPair(t *testing.T, a *txtar.Archive) pair {
	t.Helper()
	p := pair{fstest.MapFS{}, fstest.MapFS{}, nil}
	target := lang.Target{Host: "web1", Environment: map[string]string{}}
	hosts, given := []string{"web1"}, map[string]any{}
	for _, f := range a.Files {
		dir, name, _ := strings.Cut(f.Name, "/")
		file := &fstest.MapFile{Data: f.Data, Mode: 0o644}
		switch dir {
		case "hcl":
			p.hcl[name] = file
		case "star":
			p.star[name] = file
		case "both":
			p.hcl[name], p.star[name] = file, file
		case "hosts":
			hosts = strings.Fields(string(f.Data))
		case "facts.json":
			decoder := json.NewDecoder(bytes.NewReader(f.Data))
			decoder.UseNumber()
			if err := decoder.Decode(&given); err != nil {
				t.Fatal(err)
			}
		case "secrets":
			target.Secrets = secrets(string(f.Data))
		case "var-file":
			target.VarFiles = append(target.VarFiles, lang.VarFile{Name: f.Name, Data: f.Data})
		case "vars", "environment":
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				if dir == "vars" {
					target.Vars = append(target.Vars, lang.Var{Name: name, Value: value})
				} else {
					target.Environment[name] = value
				}
			}
		default:
			t.Fatalf("%s belongs to no site", f.Name)
		}
	}
	target.Facts = pairFacts(given)
	target.HostFacts = factsOfHosts(target.Facts)
	for _, host := range hosts {
		target.Host = host
		p.targets = append(p.targets, target)
	}
	return p
}

// run compiles a site: what "compile --json" prints, and the warnings.
func run(t rapid.TB, files fstest.MapFS, target lang.Target) string {
	t.Helper()
	site, _ := lang.Load(files, lang.Options{Registry: modules.Standard(), Standard: stdlib.FS})
	declared, list := site.Evaluate(context.Background(), target)
	if list.HasErrors() {
		t.Fatalf("%s: %s", target.Host, list.Error())
	}
	result, more := graph.Compile(declared, graph.Options{Registry: site.Registry()})
	if more.HasErrors() {
		t.Fatalf("%s: %s", target.Host, more.Error())
	}
	var out bytes.Buffer
	if err := graph.JSON(&out, result.Run); err != nil {
		t.Fatal(err)
	}
	for _, d := range append(list, more...) {
		fmt.Fprintf(&out, "%s: %s %s\n", d.Severity, d.Summary, d.Hint)
	}
	return out.String()
}

// TestPairs demands the same bytes of a site in both languages.
func TestPairs(t *testing.T) {
	names, err := filepath.Glob("../testdata/lang/pairs/*.txtar")
	if err != nil || len(names) < 60 {
		t.Fatalf("%d pairs: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p := readPair(t, a)
			if len(p.hcl) == 0 || len(p.star) == 0 {
				t.Fatal("a site is missing")
			}
			for _, target := range p.targets {
				hcl, star := run(t, p.hcl, target), run(t, p.star, target)
				if hcl != star {
					t.Errorf("for %s they differ:\n%s", target.Host, firstDifference(hcl, star))
				}
				if !strings.Contains(hcl, `"address"`) {
					t.Errorf("for %s nothing is declared", target.Host)
				}
			}
		})
	}
}

// firstDifference shows the lines around the first that differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	at := 0
	for at < min(len(x), len(y)) && (x[at] == y[at] || strings.Contains(x[at], `"revision"`)) {
		at++
	}
	from := max(at-12, 0)
	return fmt.Sprintf("HCL:\n%s\nStarlark:\n%s", strings.Join(x[from:min(at+5, len(x))], "\n"), strings.Join(y[from:min(at+5, len(y))], "\n"))
}
