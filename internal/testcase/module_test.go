package testcase_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/states"
)

// greeting is a module of a site's own; its parts with faults are replaced.
const greeting = `"""A file that greets somebody."""

attributes = {
    "path": attr("string", key = True, path = True, doc = "The file."),
    "name": attr("string", required = True, doc = "Who is greeted."),
    "mode": attr("mode", default = "0644", doc = "Permission bits."),
}

def read(host, want):
    text = host.read_file(want.path, default = None)
    if text == None:
        return None
    return {"name": text.removeprefix("Hello ").removesuffix("\n"), "mode": host.lstat(want.path).mode}

def write(host, have, want):
    host.write_file(want.path, "Hello %s\n" % want.name, mode = want.mode)

def remove(host, have):
    host.remove(have.path)
`

const greetingTest = `
module "greeting" {
  machine {
    command "sh" {}
  }
  example "a greeting" {
    path = "/srv/greeting"
    name = "Ada"

    changes {
      name = "Bob"
      mode = "0600"
    }
  }
}
`

func testModule(t *testing.T, source, cases string) testcase.Result {
	t.Helper()
	files := fstest.MapFS{
		"site.hcl": {Data: []byte("file \"/x\" {}\n")}, "tests/greeting.hcl": {Data: []byte(cases)},
		"modules/greeting.star": {Data: []byte(source)},
	}
	set, list := custom.Load(files, custom.Dir, custom.Options{})
	if len(list) > 0 {
		t.Fatal(list)
	}
	all := set.Modules()
	standard := modules.Standard()
	for _, name := range standard.Names() {
		all = append(all, standard.Lookup(name))
	}
	registry := states.NewRegistry(all...)
	site, _ := lang.Load(files, lang.Options{Registry: modules.Standard()})
	read, list := testcase.Read(files)
	if len(list) > 0 || len(read.List) != 1 {
		t.Fatal(list)
	}
	return testcase.Run(t.Context(), read.List[0], testcase.Options{Site: site, Registry: registry})
}

// A module in Starlark passes the suite, and each fault of one is found.
func TestCustomModule(t *testing.T) {
	if r := testModule(t, greeting, greetingTest); r.Outcome != testcase.Passed || len(r.Notes) > 0 {
		t.Errorf("%s%v%v", r.Text(""), r.Diagnostics, r.Notes)
	}
	for want, replace := range map[string][2]string{
		"changes mode":            {`, mode = want.mode)`, `)`},
		"removes":                 {`host.remove(have.path)`, `pass`},
		"it reaches a shell":      {`    host.write_file(`, `    host.query(["sh", "-c", "echo " + want.name], reads = [])` + "\n    host.write_file("},
		"a greeting: creates":     {`"name": text.removeprefix("Hello ")`, `"name": text`},
		"does not begin with one": {`"""A file that greets somebody."""`, `"""A file"""`},
	} {
		source := strings.Replace(greeting, replace[0], replace[1], 1)
		if source == greeting {
			t.Fatalf("nothing to replace for %q", want)
		}
		if r := testModule(t, source, greetingTest); r.Outcome != testcase.Failed || !strings.Contains(r.Text(""), want) {
			t.Errorf("no %q in: %s %s%v", want, r.Outcome, r.Text(""), r.Diagnostics)
		}
	}
	r := testModule(t, greeting, strings.Replace(greetingTest, "      name = \"Bob\"\n", "", 1))
	if r.Outcome != testcase.Passed || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], ": name") {
		t.Errorf("%s %q", r.Outcome, r.Notes)
	}
}
