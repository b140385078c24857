package expr_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
)

// What is read of a folder stays within the site, has the name by which all files are known, and tells where it is.
func TestFolder(t *testing.T) {
	files := expr.NewFilesOf(fstest.MapFS{
		"data/a.yml": {Data: []byte("a")}, "shared/b.yml": {Data: []byte("b")}, "shared/c.yml": {Data: []byte("c")}, "large.yml": {Data: []byte("large")},
		"data/b.yml": {Data: []byte("../shared/b.yml"), Mode: fs.ModeSymlink}, "data/out.yml": {Data: []byte("../../x"), Mode: fs.ModeSymlink},
	}, "net")
	folder := files.Folder("data")
	b, err := folder.Read("b.yml", 10)
	if err != nil || b.Name != "net/shared/b.yml" || string(b.Data) != "b" {
		t.Fatal(b, err)
	}
	if c, err := b.Folder.Read("c.yml", 10); err != nil || c.Name != "net/shared/c.yml" {
		t.Error("a file beside the real one is not found:", c, err)
	}
	if a, err := folder.ReadNamed("net/data/a.yml", 10); err != nil || string(a.Data) != "a" {
		t.Error(a, err)
	}
	for name, want := range map[string]string{"../../x": "outside of the site", "/etc/passwd": "outside of the site", "out.yml": "leads out of the site",
		"d.yml": `no file "d.yml"`, ".": "no regular file"} {
		if _, err := folder.Read(name, 10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v lacks %q", name, err, want)
		}
	}
	if _, err := files.Folder(".").Read("large.yml", 4); err == nil || !strings.Contains(err.Error(), "more than 4 bytes") {
		t.Error(err)
	}
	source, err := files.FunctionMap(".")["source"].Call([]cty.Value{cty.StringVal("data/a.yml")})
	if err != nil || !expr.NamesFile(source) || expr.NamesFile(cty.NullVal(cty.String)) || expr.NamesFile(cty.Zero) {
		t.Error(source, err)
	}
	from, name := expr.NewFiles(fstest.MapFS{}).Folder(".").Name(source)
	if a, err := from.Read(name, 10); err != nil || a.Name != "net/data/a.yml" {
		t.Error("a source is not read from where it is:", a, err)
	}
}
