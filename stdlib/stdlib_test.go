package stdlib_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/stdlib"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// components are the names of all components.
func components(t *testing.T) []string {
	t.Helper()
	entries, err := fs.ReadDir(stdlib.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) < 9 {
		t.Fatalf("there are only %q", names)
	}
	return names
}

// vars are variables as they are given on the command line.
type vars map[string]string

// evaluate evaluates a component for a machine, as a site of its own.
func evaluate(t *testing.T, component string, h host.Host, given vars) (*states.Declarations, diag.List) {
	t.Helper()
	files, err := fs.Sub(stdlib.FS, component)
	if err != nil {
		t.Fatal(err)
	}
	site, list := lang.Load(files, lang.Options{Registry: modules.Standard()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	facts, err := simulated.Facts(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	target := lang.Target{Host: "host", Facts: facts.Fact}
	for name, value := range given {
		target.Vars = append(target.Vars, lang.Var{Name: name, Value: value})
	}
	return site.Evaluate(t.Context(), target)
}

// outcome is how a plan or an apply ended.
type outcome struct {
	*runtime.Result
	parts []states.Event
}

func carryOut(t *testing.T, do func(*testing.T, runtime.Options) (*runtime.Result, error), h host.Host) outcome {
	t.Helper()
	var o outcome
	result, err := do(t, runtime.Options{Host: h, Registry: modules.Standard(), Events: func(e states.Event) {
		if e.Type == states.EventPart {
			o.parts = append(o.parts, e)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	o.Result = result
	return o
}

func plan(t *testing.T, h host.Host, run *states.StateRun) outcome {
	t.Helper()
	return carryOut(t, func(t *testing.T, o runtime.Options) (*runtime.Result, error) {
		return runtime.Plan(t.Context(), run, o)
	}, h)
}

func apply(t *testing.T, h host.Host, run *states.StateRun) outcome {
	t.Helper()
	return carryOut(t, func(t *testing.T, o runtime.Options) (*runtime.Result, error) {
		return runtime.Apply(t.Context(), run, o)
	}, h)
}

// addresses are those of the parts that keep keeps, sorted.
func (o outcome) addresses(keep func(states.Event) bool) []string {
	var out []string
	for _, e := range o.parts {
		if keep(e) {
			out = append(out, e.Address)
		}
	}
	slices.Sort(out)
	return out
}

func (o outcome) changed() []string {
	return o.addresses(func(e states.Event) bool { return e.Outcome == states.Changed })
}

// failures are the messages of the parts that failed.
func (o outcome) failures() string {
	var b strings.Builder
	for _, e := range o.parts {
		if e.Error != nil {
			b.WriteString(e.Address + ": " + e.Error.Message + "\n" + e.Output + "\n")
		}
	}
	return b.String()
}

// golden compares a run with the file of that name, or rewrites it.
func golden(t *testing.T, name string, run *states.StateRun) {
	t.Helper()
	var got bytes.Buffer
	if err := graph.JSON(&got, run); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s: what it compiles to has changed (-update rewrites it):\n%s", file, runtime.Diff(string(want), got.String()))
	}
}

// Every component is formatted and explains itself: what it is for, an example of
// its use, and each thing that it declares.
func TestEachExplainsItself(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range components(t) {
		if !bytes.Contains(readme, []byte("`std/"+name+"`")) {
			t.Errorf("README.md does not name std/%s", name)
		}
		main, err := fs.ReadFile(stdlib.FS, path.Join(name, "main.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(main), "\n\n")
		for _, want := range []string{"# std/" + name + ": ", "source = \"std/" + name + "\"", "Made absent, "} {
			if !strings.Contains(strings.ReplaceAll(head, "source  =", "source ="), want) {
				t.Errorf("%s: the comment at its head does not have %q", name, want)
			}
		}
		files, err := fs.Glob(stdlib.FS, name+"/*.hcl")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			src, err := fs.ReadFile(stdlib.FS, file)
			if err != nil {
				t.Fatal(err)
			}
			if out, list := lang.Format(file, src); len(list) > 0 || !bytes.Equal(out, src) {
				t.Errorf("%s is not formatted (tenet fmt): %v", file, list)
			}
			described(t, file, string(src))
		}
	}
}

// opens is the first line of a declaration that people read about.
var opens = regexp.MustCompile(`(?m)^( *)(variable|output|state|run|param|file|directory|symlink|line|command|package|service|restart|reload|user|group) "[^"]+" \{\n`)

func described(t *testing.T, file, src string) {
	t.Helper()
	for _, at := range opens.FindAllStringSubmatchIndex(src, -1) {
		indent := src[at[2]:at[3]]
		body, _, _ := strings.Cut(src[at[1]:], "\n"+indent+"}")
		if !regexp.MustCompile(`(?m)^` + indent + `  description += "`).MatchString(body) {
			t.Errorf("%s: no description in %s", file, strings.TrimSpace(src[at[0]:at[1]]))
		}
	}
}
