package lang_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/lang"
)

// seeds are the sources of all cases with this ending.
func seeds(f *testing.F, ending string) {
	f.Helper()
	names, err := filepath.Glob("../testdata/lang/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	names = append(names, "../testdata/lang/syntaxes/both.txtar")
	pairs, err := filepath.Glob("../testdata/lang/pairs/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	names = append(names, pairs...)
	for _, name := range names {
		if filepath.Base(name) == "wrong-large.txtar" {
			continue // what grows out of it takes seconds each
		}
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if strings.HasSuffix(file.Name, ending) {
				f.Add(file.Data)
			}
		}
	}
}

// load takes a source through everything, and demands that whatever is wrong
// has a text, and that declarations are there when nothing is.
func load(t *testing.T, name string, src []byte) {
	files := fstest.MapFS{name: {Data: src}, "x.tmpl": {Data: []byte("${x}")}}
	site, list := lang.Load(files, lang.Options{Registry: registry(), MaxSteps: 1_000_000})
	d, more := site.Evaluate(context.Background(), lang.Target{Host: "h", Facts: facts})
	if d == nil && !more.HasErrors() {
		t.Errorf("declarations %v, errors %v", d, more)
	}
	if list.HasErrors() && !more.HasErrors() {
		t.Errorf("For does not repeat what Load found: %v", list)
	}
	for _, d := range more {
		if d.Summary == "" || d.Hint == "" {
			t.Errorf("no text or hint: %#v", d)
		}
	}
}

func FuzzLoadHCL(f *testing.F) {
	seeds(f, ".hcl")
	f.Fuzz(func(t *testing.T, src []byte) { load(t, "site.hcl", src) })
}

func FuzzLoadJSON(f *testing.F) {
	seeds(f, ".json")
	f.Fuzz(func(t *testing.T, src []byte) { load(t, "site.hcl.json", src) })
}

// Scripts end by their limits of steps and memory. Whatever they do is done in
// ten seconds on a slow machine; a busy one may need longer.
func FuzzLoadStarlark(f *testing.F) {
	seeds(f, ".star")
	f.Fuzz(func(t *testing.T, src []byte) {
		start := time.Now()
		load(t, "site.star", src)
		if taken := time.Since(start); taken > time.Minute {
			t.Errorf("it took %s", taken)
		}
	})
}

func FuzzFormat(f *testing.F) {
	seeds(f, ".hcl")
	f.Fuzz(func(t *testing.T, src []byte) {
		once, list := lang.Format("site.hcl", src)
		if list.HasErrors() {
			if string(once) != string(src) {
				t.Error("a file that does not parse was changed")
			}
			return
		}
		twice, _ := lang.Format("site.hcl", once)
		if string(once) != string(twice) {
			t.Errorf("formatting twice differs:\n%s\n%s", once, twice)
		}
	})
}
