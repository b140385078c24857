package states_test

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

type withTree struct {
	Path   string       `state:"path,key" doc:"Path."`
	Source *states.Tree `state:"source,in" doc:"Source."`
}

func treeModule() *states.Module {
	return states.Define(states.Type[withTree]{
		Name: "with_tree", Doc: "A tree.", NoAbsent: "it is an act",
		Act: func(_ context.Context, _ host.Host, want withTree) (bool, withTree, error) { return false, want, nil },
	})
}

func treeSite() fstest.MapFS {
	return fstest.MapFS{
		"d/a":     {Data: []byte("one"), Mode: 0o644},
		"d/b/c":   {Data: []byte("two"), Mode: 0o755},
		"d/b":     {Mode: fs.ModeDir | 0o700},
		"d/link":  {Data: []byte("../../x"), Mode: fs.ModeSymlink | 0o777},
		"outside": {Data: []byte("x")},
	}
}

// decoded is a tree as the runtime gets it, of a site that is another by then.
func decoded(t *testing.T, change func(fstest.MapFS)) *states.Tree {
	t.Helper()
	site := treeSite()
	entries, err := states.ReadTree(site, "d")
	if err != nil {
		t.Fatal(err)
	}
	value := states.NewTree("d", entries).Value()
	change(site)
	resource, err := treeModule().Decode(map[string]any{"path": "/x", "source": value}, site)
	if err != nil {
		t.Fatal(err)
	}
	return resource.(*withTree).Source
}

func TestTree(t *testing.T) {
	tree := decoded(t, func(fstest.MapFS) {})
	entries, err := tree.Entries()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name+" "+string(e.Kind)+" "+states.FormatMode(e.Mode)+" "+e.Target)
		if e.Name != "b/c" {
			continue
		}
		f, err := tree.Content(e).Open()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(f); string(data) != "two" {
			t.Errorf("%q, %v", data, err)
		}
	}
	const want = ". directory 0555 |a file 0644 |b directory 0700 |b/c file 0755 |link symlink 0000 ../../x"
	if is := strings.Join(got, "|"); is != want {
		t.Errorf("it holds %s, want %s", is, want)
	}
	if tree.Size != 6 || tree.Files != 5 {
		t.Errorf("%d bytes in %d", tree.Size, tree.Files)
	}
}

// Whatever is another since the site was loaded is found.
func TestTreeThatHasChanged(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"content": func(s fstest.MapFS) { s["d/a"].Data = []byte("two") },
		"mode":    func(s fstest.MapFS) { s["d/a"].Mode = 0o600 },
		"target":  func(s fstest.MapFS) { s["d/link"].Data = []byte("y") },
		"more":    func(s fstest.MapFS) { s["d/e"] = &fstest.MapFile{} },
		"less":    func(s fstest.MapFS) { delete(s, "d/a") },
	} {
		if _, err := decoded(t, change).Entries(); err == nil || !strings.Contains(err.Error(), "has changed since the site was loaded") {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

func TestTreeThatCannotBeCopied(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"is a device, a socket or a pipe": func(s fstest.MapFS) { s["d/pipe"] = &fstest.MapFile{Mode: fs.ModeNamedPipe} },
		"is no UTF-8":                     func(s fstest.MapFS) { s["d/link"].Data = []byte("\xff") },
	} {
		site := treeSite()
		change(site)
		if _, err := states.ReadTree(site, "d"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	if _, err := states.ReadTree(treeSite(), "outside"); err == nil {
		t.Error("a file is a tree")
	}
}
