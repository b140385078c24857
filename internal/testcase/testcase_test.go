package testcase_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// objectShape is a resource of modules with faults.
type objectShape struct {
	Path string  `state:"path,key" doc:"A path."`
	Text *string `state:"text" doc:"A text."`
}

// faulty are modules that do not do what they say.
func faulty() *states.Registry {
	read := func(_ context.Context, h host.Host, want objectShape) (*objectShape, error) {
		info, err := h.Lstat(want.Path)
		if err != nil {
			return nil, nil
		}
		content, err := host.ReadContent(context.Background(), h, want.Path, info)
		if err != nil {
			return nil, err
		}
		text, _ := content.Inline()
		return &objectShape{Path: want.Path, Text: &text}, nil
	}
	write := func(ctx context.Context, h host.Host, have *objectShape, want objectShape) error {
		return h.WriteFile(ctx, want.Path, host.Text(*want.Text), host.Meta{})
	}
	define := func(name string, change func(*states.Type[objectShape])) *states.Module {
		t := states.Type[objectShape]{Name: name, Doc: "Has a fault.", NoAbsent: "It is for a test.", Read: read, Write: write}
		change(&t)
		return states.Define(t)
	}
	all := []*states.Module{
		// Its query changes the machine.
		define("querying", func(t *states.Type[objectShape]) {
			t.Read = func(ctx context.Context, h host.Host, want objectShape) (*objectShape, error) {
				if _, err := h.Query(ctx, host.Query{Command: host.Command{Argv: []string{"leave-trace"}}}); err != nil {
					return nil, err
				}
				return read(ctx, h, want)
			}
		}),
		// A plan sees nothing to do.
		define("secretive", func(t *states.Type[objectShape]) {
			t.Read = func(ctx context.Context, h host.Host, want objectShape) (*objectShape, error) {
				if _, planning := h.(*host.Shadow); planning {
					return &want, nil
				}
				return read(ctx, h, want)
			}
		}),
		// A plan sees what is not to be done.
		define("boastful", func(t *states.Type[objectShape]) {
			t.Read = func(ctx context.Context, h host.Host, want objectShape) (*objectShape, error) {
				if _, planning := h.(*host.Shadow); planning {
					return read(ctx, h, want)
				}
				return &want, nil
			}
		}),
	}
	standard := modules.Standard()
	for _, name := range standard.Names() {
		all = append(all, standard.Lookup(name))
	}
	return states.NewRegistry(all...)
}

func run(t *testing.T, registry *states.Registry, site, cases string) []testcase.Result {
	t.Helper()
	files := fstest.MapFS{"site.hcl": {Data: []byte(site)}, "tests/a.hcl": {Data: []byte(cases)}}
	loaded, _ := lang.Load(files, lang.Options{Registry: registry})
	read, mistakes := testcase.Read(files)
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	var out []testcase.Result
	for _, c := range read.List {
		out = append(out, testcase.Run(t.Context(), c, testcase.Options{Site: loaded, Registry: registry}))
	}
	return out
}

// A module that plans what it does not do, or does what it did not plan, is
// found though the case expects nothing.
func TestFaultsOfModules(t *testing.T) {
	for name, want := range map[string]string{
		"querying":  "the plan changed the machine: /trace",
		"secretive": "the apply does what the plan did not foretell",
		"boastful":  "the apply does not do what the plan was certain of",
	} {
		site := name + " \"x\" {\n  path = \"/x\"\n  text = \"wanted\"\n}\n"
		machine := "machine {\n command \"leave-trace\" {\n creates = { \"/trace\" = \"\" }\n }\n }\n"
		results := run(t, faulty(), site, "case \"c\" {\n"+machine+"}\n")
		if text := results[0].Text(""); results[0].Outcome != testcase.Failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s%v", name, results[0].Outcome, text, results[0].Diagnostics)
		}
	}
}

// Parts that undo each other are found, and so are commands that run each time.
func TestConvergence(t *testing.T) {
	results := run(t, modules.Standard(), `
state "all" {
  file "/x" {
    content = "one\n"
  }
  line "/x" {
    line = "two"
  }
  command "tick" {
    argv = ["tick"]
  }
}
`, `
case "c" {
  machine {
    command "tick" {}
  }
}
case "repeats" {
  machine {
    command "tick" {}
  }
  expect_apply {
    repeats = [state.all.command.tick, state.all.file["/x"], state.all.line["/x"]]
  }
}
case "need not" {
  machine {
    command "tick" {}
  }
  expect_apply {
    converges = false
  }
}
`)
	text := results[0].Text("")
	for _, want := range []string{`to do: state.all.file["/x"]`, `to do: state.all.line["/x"]`, `to do: state.all.command.tick`, "give it creates"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s%v", want, text, results[0].Diagnostics)
		}
	}
	for _, r := range results[1:] {
		if r.Outcome != testcase.Passed {
			t.Errorf("%s: %s%v", r.Case.Name, r.Text(""), r.Diagnostics)
		}
	}
}

// A warning can be expected, and errors all have to be.
func TestMessages(t *testing.T) {
	const site = "site {\n requires_version = \">= 0.0.0\"\n prune = true\n}\nfile \"/x\" {\n nosuch = 1\n other = 1\n}\n"
	results := run(t, modules.Standard(), strings.NewReplacer(" nosuch = 1\n", "", " other = 1\n", "").Replace(site), `
case "warned" {
  expect_warning = "prune has no effect"
}
case "not warned" {
  expect_warning = ["prune has no effect", "something else"]
}
case "seen" {}
`)
	for i, want := range []struct {
		outcome  testcase.Outcome
		warnings int
	}{{testcase.Passed, 0}, {testcase.Failed, 0}, {testcase.Passed, 1}} {
		if r := results[i]; r.Outcome != want.outcome || len(r.Diagnostics) != want.warnings {
			t.Errorf("%s: %s %s%v", r.Case.Name, r.Outcome, r.Text(""), r.Diagnostics)
		}
	}
	results = run(t, modules.Standard(), site, `
case "both" {
  expect_error = ["nosuch", "other"]
}
case "one" {
  expect_error = "nosuch"
}
case "none" {
  expect_error = "third"
}
`)
	for i, want := range []string{"", "refused for a further reason", "refused for another reason"} {
		if text := results[i].Text(""); !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%s: %s", results[i].Case.Name, text)
		}
	}
}

// Retries do not wait, and the values of a case have their places.
func TestImpatience(t *testing.T) {
	results := run(t, modules.Standard(), `
command "x" {
  argv  = ["x"]
  retry = { attempts = 5, delay = "1h" }
}
`, `
case "c" {
  machine {
    command "x" {
      exit_code = 1
    }
  }
  expect_apply {
    failures = { command.x = "status 1" }
  }
}
`)
	if results[0].Outcome != testcase.Passed {
		t.Error(results[0].Text(""), results[0].Diagnostics)
	}
}

// Nothing in a file of cases makes it panic.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"case \"a\" {\n machine {\n file \"/x\" {}\n }\n expect_run {\n parts = { file[\"/x\"] = { a = 1 } }\n }\n}\n",
		"case \"a\" {\n facts = { os = 1 }\n vars = { a = null, b = [1, {}] }\n expect_error = [\"a\", \"b\"]\n}\n",
		"locals {\n a = local.a\n b = [for x in [1] : x]\n}\ncase \"\" {\n expect_plan {\n rows = { (local.b[0]) = null }\n changes = local.b\n }\n}",
		"machine \"m\" {\n like = \"m\"\n user \"a:b\" {\n uid = 1e99\n }\n command \"sh\" {\n shell = \"\"\n argv = []\n }\n}\ncase \"c\" {\n machine {\n like = \"m\"\n }\n}",
	} {
		f.Add(seed)
	}
	registry := modules.Standard()
	f.Fuzz(func(t *testing.T, text string) {
		files := fstest.MapFS{
			"site.hcl":    {Data: []byte("variable \"a\" {\n default = 1\n}\nfile \"/x\" {\n content = \"${jsonencode(var.a)}\"\n}\n")},
			"tests/a.hcl": {Data: []byte(text)},
		}
		site, _ := lang.Load(files, lang.Options{Registry: registry})
		cases, list := testcase.Read(files)
		for _, d := range list {
			if d.Summary == "" {
				t.Errorf("a mistake without words: %+v", d)
			}
		}
		for _, c := range cases.List {
			r := testcase.Run(t.Context(), c, testcase.Options{Site: site, Registry: registry})
			if r.Outcome == testcase.Failed && r.Text("") == "" {
				t.Errorf("case %q fails without words", c.Name)
			}
		}
	})
}
