package lang_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/stdlib"
)

// sitesIn finds the directories that hold a site or a component, but those of tests.
func sitesIn(t *testing.T, all fs.FS) (dirs []string) {
	t.Helper()
	err := fs.WalkDir(all, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "tests" || d.Name() == custom.Dir):
			return fs.SkipDir
		case !d.IsDir() && lang.IsSource(name):
			dirs = append(dirs, path.Dir(name))
		}
		return nil
	})
	slices.Sort(dirs)
	if dirs = slices.Compact(dirs); err != nil || len(dirs) < 5 {
		t.Fatal(err, dirs)
	}
	return dirs
}

// What the project itself offers as an example, and as a component, gives no warning to who is
// strict: neither for any host nor for the whole.
func TestExamplesAreCleanWhenReviewed(t *testing.T) {
	for what, all := range map[string]fs.FS{"examples": os.DirFS("../examples"), "std": stdlib.FS} {
		for _, name := range sitesIn(t, all) {
			dir, err := fs.Sub(all, name)
			if err != nil {
				t.Fatal(err)
			}
			site, list := lang.Load(dir, lang.Options{Registry: modules.Standard()})
			target := lang.Target{Host: "web1", Facts: pairFacts(map[string]any{"package_manager": "apt", "init": "systemd",
				"os": map[string]any{"id": "debian", "family": "debian", "version": "12", "codename": "bookworm", "name": "Debian GNU/Linux"}}), SecretsHidden: true, InventoryHidden: true, Review: true,
				Secrets: func(string) (string, error) { return "x", nil }}
			hosts, _, found := site.Hosts(t.Context(), target)
			list = append(list, found...)
			if len(hosts) == 0 {
				hosts = []lang.Host{{Name: "web1"}}
			}
			for _, h := range hosts {
				target.Host = h.Name
				_, found := site.Evaluate(t.Context(), target)
				for _, d := range found {
					if d.Severity == diag.Warning || what == "examples" && path.Dir(name) == "." { // what a component needs is given by who uses it
						list = append(list, d)
					}
				}
			}
			for _, d := range append(list, site.Review(t.Context(), target)...) {
				t.Errorf("%s/%s: %s", what, name, d.Error())
			}
		}
	}
}

// A name within Jinja's braces is one mistake: that nothing uses the variable is not said besides.
func TestBracesUseWhatTheyMean(t *testing.T) {
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(`
	variable "domain" { default = "a.test" }
	variable "port" { default = 80 }
	variable "other" { default = 1 }
	file "/etc/app.conf" { content = "{{ domain }}" }
	file "/etc/port.conf" { content = "{{ var.port }}" }
	`)}}, lang.Options{Registry: modules.Standard()})
	var texts []string
	for _, d := range append(list, site.Review(t.Context(), lang.Target{})...) {
		texts = append(texts, d.Summary)
	}
	want := []string{"{{ domain }} is plain text here", "{{ var.port }} is plain text here", `nothing uses the variable "other"`}
	if !slices.Equal(texts, want) {
		t.Errorf("it says %q, want %q", texts, want)
	}
}
