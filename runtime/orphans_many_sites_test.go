package runtime_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// Of another site that has the same directory, each removes what it has made.
func TestTreesOfTwoSites(t *testing.T) {
	blog := strings.Replace(shop, "shop", "blog", 1)
	m := newManaged(t)
	mkdir(t, m, "/srv")
	m.withFiles(t, false, false, shop+wwwTree, www("a=a"))
	m.withFiles(t, false, false, blog+wwwTree, www("a=a", "b=b"))
	m.withFiles(t, false, false, shop, nil)
	if got := names(t, m, "/srv/www"); got != ". a b" {
		t.Errorf("the other one declares it still, and left are %q", got)
	}
	write(t, m, "/srv/own", "")
	m.withFiles(t, false, false, blog+"file \"/srv/www/b\" {\n content = \"b\"\n}\n", nil)
	m.withFiles(t, false, false, shop, nil)
	if got := names(t, m, "/srv/www"); got != ". b" {
		t.Errorf("left are %q", got)
	}
}

// What is within a tree of another site may be that one's, too, which it has found in place.
func TestTreeWithinAnotherSitesTree(t *testing.T) {
	blog := strings.Replace(shop, "shop", "blog", 1)
	for name, theirs := range map[string]struct{ path, left string }{
		"above":  {"/srv/www", ". html html/a new"},
		"beside": {"/srv/www/other", ". other other/html other/html/a other/new"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManaged(t)
			mkdir(t, m, "/srv")
			mkdir(t, m, "/srv/www")
			m.withFiles(t, false, false, shop+strings.Replace(wwwTree, "/srv/www", "/srv/www/html", 1), www("a=a"))
			m.withFiles(t, false, false, blog+strings.Replace(wwwTree, "/srv/www", theirs.path, 1), www("html/a=a", "new=n"))
			m.withFiles(t, false, false, shop, nil)
			if got := names(t, m, "/srv/www"); got != theirs.left {
				t.Errorf("left are %q", got)
			}
		})
	}
}

// A tree that has only changed what it found in place has made nothing.
func TestTreeThatMakesNothing(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	mkdir(t, m, "/srv/www")
	write(t, m, "/srv/www/a", "theirs")
	m.withFiles(t, false, false, shop+wwwTree, www("a=a"))
	if m.holdsType(t, "tree") || len(manifestNames(t, m)) > 0 {
		t.Errorf("held are %q, lists %q", m.holds(t, "shop"), manifestNames(t, m))
	}
}

// Of a tree that a version without lists has made, not even what is new is removed: one
// would think that to be all.
func TestTreeOfAVersionWithoutLists(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	m.withFiles(t, false, false, shop+wwwTree, www("a=a"))
	path := filepath.Join(m.folder.Dir(), "managed", "shop.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := manifestNames(t, m)
	without := regexp.MustCompile(`,"manifest":"`+list[0]+`"|,"sum":"[0-9a-f]*"`).ReplaceAll(data, nil)
	if bytes.Contains(without, []byte(list[0])) || bytes.Contains(without, []byte(`"sum"`)) || len(without) == len(data) {
		t.Fatalf("no list is named: %s", data)
	}
	if err := os.WriteFile(path, without, 0o600); err != nil {
		t.Fatal(err)
	}
	m.withFiles(t, false, false, shop+wwwTree, www("a=a", "b=b"))
	o := m.withFiles(t, false, false, shop, nil)
	if got := o.orphanList(); o.Failed || !strings.HasPrefix(got, "/srv/www (what it has made is not recorded") {
		t.Errorf("failed: %t, told %q", o.Failed, got)
	}
	if got := names(t, m, "/srv/www"); got != ". a b" {
		t.Errorf("left are %q", got)
	}
}

// faulty cannot write one file, the first time.
type faulty struct {
	host.Host
	name  string
	tried bool
}

func (f *faulty) OpenDir(path string) (host.Dir, error) { return host.DirByPath(f, path) }
func (f *faulty) NoFollow() host.Host                   { return host.NoFollowByPath(f) }
func (f *faulty) ForRun(string) host.Host               { return f }

// WriteFile is host.Writer.WriteFile.
func (f *faulty) WriteFile(ctx context.Context, path string, c host.Content, m host.Meta) error {
	if path == f.name && !f.tried {
		f.tried = true
		return syscall.EIO
	}
	return f.Host.WriteFile(ctx, path, c, m)
}

// What the first attempt has made is the site's also where it takes a second one, which
// finds that in place.
func TestTreeInTwoAttempts(t *testing.T) {
	again := strings.Replace(wwwTree, "}", "retry = { attempts = 2, delay = \"1ms\" }\n}", 1)
	for name, first := range map[string]string{"made": "", "changed": "a0=0"} {
		t.Run(name, func(t *testing.T) {
			m := newManaged(t)
			mkdir(t, m, "/srv")
			if first != "" {
				m.withFiles(t, false, false, shop+wwwTree, www(first))
			}
			files := www("a0=0", "d/b=b", "e/c=c")
			files["site.hcl"] = &fstest.MapFile{Data: []byte(shop + again)}
			run := compileFiles(t, modules.Standard(), files).Run
			record, err := m.folder.Start(t.Context(), journal.Meta{Run: run})
			if err != nil {
				t.Fatal(err)
			}
			f := &faulty{Host: m.Memory, name: "/srv/www/e/c"}
			o := carry(t, runtime.Apply, run, runtime.Options{Host: f, Site: files, Journal: record})
			if err := record.Finish(journal.End{State: journal.Done}); err != nil {
				t.Fatal(err)
			}
			if got := names(t, m, "/srv/www"); o.Failed || !f.tried || got != ". a0 d d/b e e/c" {
				t.Fatalf("failed: %t, there are %q", o.Failed, got)
			}
			m.withFiles(t, false, false, shop, nil)
			if got := names(t, m, "/srv"); got != "." {
				t.Errorf("left are %q", got)
			}
		})
	}
}

// Of what is sensitive not even the names are written down: it stays, and is not listed.
func TestTreeThatIsSensitive(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	m.withFiles(t, false, false, shop+strings.Replace(wwwTree, "}", "sensitive = true\n}", 1), www("a=a"))
	if lists := manifestNames(t, m); len(lists) > 0 {
		t.Errorf("there are lists: %q", lists)
	}
	o := m.withFiles(t, false, false, shop, nil)
	if got := names(t, m, "/srv/www"); o.Failed || got != ". a" || o.orphanList() != "" {
		t.Errorf("failed: %t, left are %q, told %q", o.Failed, got, o.orphanList())
	}
}
