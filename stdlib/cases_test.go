package stdlib_test

import (
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/stdlib"
)

// The cases in the components' own directories pass, as with tenet test
// std/NAME.
func TestCases(t *testing.T) {
	ran := 0
	for _, name := range components(t) {
		files, err := fs.Sub(stdlib.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if !testcase.Has(files) {
			continue
		}
		registry := modules.Standard()
		site, _ := lang.Load(files, lang.Options{Registry: registry})
		cases, mistakes := testcase.Read(files)
		if len(mistakes) > 0 {
			t.Errorf("%s: %v", name, mistakes)
		}
		for _, c := range cases.List {
			ran++
			if r := testcase.Run(t.Context(), c, testcase.Options{Site: site, Registry: registry}); r.Outcome != testcase.Passed {
				t.Errorf("%s: %s\n%s%v", name, c.Name, r.Text(name), r.Diagnostics)
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d cases", ran)
	}
}
