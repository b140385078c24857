package custom_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

func page(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/custom-modules.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The module of the documentation passes the test of the documentation.
func TestDocumentedModule(t *testing.T) {
	text := page(t)
	module := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(text)
	tests := regexp.MustCompile(`(?s)    module "setting_line" \{\n.*?\n    \}\n`).FindString(text)
	if module == nil || tests == "" {
		t.Fatal("the documentation has no module, or no test")
	}
	site, list := lang.Load(fstest.MapFS{
		"site.hcl":                  {Data: []byte("setting_line \"port\" {\n  path = \"/etc/app.conf\"\n  value = \"8080\"\n}\n")},
		"modules/setting_line.star": {Data: []byte(module[1])},
		"tests/setting_line.hcl":    {Data: []byte(tests)},
	}, lang.Options{Registry: modules.Standard()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	cases, list := testcase.Read(site.Files())
	if len(list) > 0 || len(cases.List) != 1 {
		t.Fatal(len(cases.List), list)
	}
	if r := testcase.Run(t.Context(), cases.List[0], testcase.Options{Site: site, Registry: site.Registry()}); r.Outcome != testcase.Passed {
		t.Errorf("%s%v", r.Text("docs"), r.Diagnostics)
	}
}

// Whatever a module may use has a line.
func TestAllIsDocumented(t *testing.T) {
	text := page(t)
	names := []string{
		"validate", "complete", "diff", "foresee", "read", "write", "remove", "act",
		"attributes", "doc", "example", "no_absent", "retry", "locks", "root", "handler",
		"key", "required", "present", "input", "out", "path", "sensitive", "default", "enum",
		"fail", "wrong", "search", "seconds", "struct", "stdin", "env", "dir", "timeout", "ok",
	}
	for _, k := range states.Kinds() {
		names = append(names, string(k))
	}
	h := fake.Host(t)
	h.Handle("true", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	_, err := acts(t.Context(), t, h, `fail(" ".join(dir(host) + dir(host.lstat("/")) + dir(host.run(["true"], ok = None)) + dir(host.user("root")) + dir(host.group("root"))))`)
	if err == nil {
		t.Fatal("no names")
	}
	for _, name := range append(names, strings.Fields(err.Error())...) {
		if !regexp.MustCompile("`[^`]*\\b" + name + "\\b[^`]*`").MatchString(text) {
			t.Errorf("docs/custom-modules.md does not mention %s", name)
		}
	}
}
