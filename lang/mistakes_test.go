package lang_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
)

// TestMistakes looks at what people from other tools write: each archive of
// testdata/lang/mistakes holds one mistake in a few files, what is said about
// it (in "want", rewritten by -update), and below fixed/ what the author should
// have written, which must be right. Each line "says: REGEXP" of the comment
// must fit what is said; -update does not touch them.
func TestMistakes(t *testing.T) {
	names, err := filepath.Glob("../testdata/lang/mistakes/*.txtar")
	if err != nil || len(names) < 50 {
		t.Fatalf("%d mistakes, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			wrong, fixed := mistake(a)
			list, site, target := judge(t, wrong)
			review := len(list) == 0 // it is about what validate adds
			if review {
				list = site.Review(t.Context(), target)
			}
			if len(list) == 0 {
				t.Fatal("the mistake goes unnoticed")
			}
			for _, d := range list {
				if d.Hint == "" || d.Range.File == "" && d.Summary != "there is nothing to read" {
					t.Errorf("no place or no hint: %s", d.Error())
				}
				if d.Range.Start.Line > 0 && d.Range.Start.Column == 0 {
					t.Errorf("no column: %s", d.Error())
				}
			}
			var said bytes.Buffer
			if err := diag.Write(&said, list, diag.WriteOptions{Source: site.Source}); err != nil {
				t.Fatal(err)
			}
			says(t, a, said.String())
			saved(t, a, name, said.Bytes())
			list, site, target = judge(t, fixed)
			if review {
				list = append(list, site.Review(t.Context(), target)...)
			}
			for _, d := range list {
				t.Errorf("the cure is wrong: %s", d.Error())
			}
		})
	}
}

// mistake splits an archive in the wrong site and the right one.
func mistake(a *txtar.Archive) (wrong, fixed fstest.MapFS) {
	wrong, fixed = fstest.MapFS{}, fstest.MapFS{}
	for _, f := range a.Files {
		name, right := strings.CutPrefix(f.Name, "fixed/")
		site := wrong
		switch {
		case f.Name == "want":
			continue
		case right:
			site = fixed
		}
		site[name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	return wrong, fixed
}

// judge gives all that is wrong with a site, and with its order, on a host with Debian.
func judge(t *testing.T, site fs.FS) (diag.List, *lang.Site, lang.Target) {
	t.Helper()
	loaded, _ := lang.Load(site, lang.Options{Registry: modules.Standard()})
	target := lang.Target{Host: "web1", Facts: debian, HostFacts: factsOfHosts(debian), Review: true}
	declared, list := loaded.Evaluate(t.Context(), target)
	switch o := (graph.Options{Registry: loaded.Registry()}); {
	case !list.HasErrors():
		_, more := graph.Compile(declared, o)
		list = append(list, more...)
	case declared != nil:
		list = append(list, graph.Check(declared, o)...).Sorted()
	}
	return list, loaded, target
}

func debian(name string) (any, error) {
	switch name {
	case "os":
		return map[string]any{"id": "debian", "family": "debian"}, nil
	case "cpus":
		return json.Number("2"), nil
	case "home", "virtual", "ipv4", "hostname":
		return "x", nil
	}
	return nil, fmt.Errorf("there is no such fact")
}

var saysLine = regexp.MustCompile(`(?m)^says: (.*)$`)

// says demands what the archive's comment promises.
func says(t *testing.T, a *txtar.Archive, said string) {
	t.Helper()
	wanted := saysLine.FindAllSubmatch(a.Comment, -1)
	if len(wanted) == 0 {
		t.Error("the comment has no line with says:")
	}
	for _, m := range wanted {
		// A hint may be wrapped anywhere.
		if !regexp.MustCompile(string(m[1])).MatchString(strings.Join(strings.Fields(said), " ")) {
			t.Errorf("%s does not say %s", said, m[1])
		}
	}
}

// saved compares with the archive's file "want", or puts it there.
func saved(t *testing.T, a *txtar.Archive, name string, said []byte) {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	if *update {
		if i < 0 {
			i = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: "want"})
		}
		a.Files[i].Data = said
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if i < 0 || !bytes.Equal(a.Files[i].Data, said) {
		t.Errorf("what is said is not what the archive holds; look at it, and rewrite it with -update:\n%s", said)
	}
}
