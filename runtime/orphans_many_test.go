package runtime_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

const (
	wwwTree = "tree \"t\" {\n path = \"/srv/www\"\n source = \"www\"\n}\n"
	appTar  = "archive \"a\" {\n path = \"/opt/app\"\n source = \"app.tar\"\n}\n"
)

// www is a directory www of a site with these files, given as "NAME=CONTENT".
func www(files ...string) fstest.MapFS {
	out := fstest.MapFS{"www": {Mode: fs.ModeDir | 0o755}}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		if target, ok := strings.CutPrefix(text, "->"); ok {
			out["www/"+name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		out["www/"+name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return out
}

// withFiles carries out a site that has files; an apply that dies is not seen to end.
func (m *managedHost) withFiles(t testing.TB, plan, dies bool, site string, files fstest.MapFS) outcome {
	t.Helper()
	all := fstest.MapFS{"site.hcl": {Data: []byte(site)}}
	for name, f := range files {
		all[name] = f
	}
	run := compileFiles(t, modules.Standard(), all).Run
	o := runtime.Options{Host: m.Memory, Site: all}
	var err error
	if plan {
		if o.Managed, err = m.folder.Managed(); err != nil {
			t.Fatal(err)
		}
		return carry(t, runtime.Plan, run, o)
	}
	if o.Journal, err = m.folder.Start(t.Context(), journal.Meta{Run: run}); err != nil {
		t.Fatal(err)
	}
	out := carry(t, runtime.Apply, run, o)
	if dies {
		err = errors.Join(o.Journal.Flush(), o.Journal.Abandon())
	} else {
		err = o.Journal.Finish(journal.End{State: journal.Done})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// names lists what a host has below a directory.
func names(t failer, h host.Host, dir string) string {
	t.Helper()
	d, err := host.OpenDir(h, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, err := host.ReadTree(context.Background(), d, host.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name)
	}
	return strings.Join(list, " ")
}

func TestTreeThatIsNotDeclared(t *testing.T) {
	none := shop + "directory \"/srv\" {}\n"
	for name, c := range map[string]struct {
		before  func(t *testing.T, m *managedHost)
		first   []string // the tree's files
		later   []string // of a second version, if there is one
		more    string   // more of the tree's attributes
		between func(t *testing.T, m *managedHost)
		after   string // what is declared in its place
		left    string // below /srv/www
		changes string // what the removal shows
	}{
		"all of it":               {first: []string{"a=a", "d/b=b", "l=->d"}, left: "nothing", changes: "removed [a d d/b l] <nil>"},
		"empty":                   {left: "nothing"},
		"any bytes":               {first: []string{"n\nl=a", "q\"=b", "-rf=c"}, left: "nothing"},
		"a new file":              {first: []string{"a=a"}, later: []string{"a=a", "d/new=n"}, left: "nothing", changes: "removed [a d d/new] <nil>"},
		"a new content":           {first: []string{"a=a", "b=b"}, later: []string{"a=2", "b=b"}, left: "nothing"},
		"a file that was dropped": {first: []string{"a=a", "d/b=b"}, later: []string{"a=a"}, left: "nothing"},
		"a file that was purged, and that somebody made anew": {first: []string{"a=a", "b=b"}, later: []string{"a=a"}, more: "purge = true",
			between: func(t *testing.T, m *managedHost) { write(t, m, "/srv/www/b", "b") }, left: ". b"},
		"changed": {first: []string{"a=a", "b=b", "d/c=c"},
			between: func(t *testing.T, m *managedHost) { write(t, m, "/srv/www/d/c", "mine") },
			left:    ". d d/c", changes: "removed [a b] <nil>, changed since, and stays <nil> [d/c]"},
		"removed, and made anew": {first: []string{"a=a", "b=b"},
			between: func(t *testing.T, m *managedHost) { remove(t, m, "/srv/www/a") }, left: "nothing", changes: "removed [b] <nil>"},
		"something beside": {first: []string{"a=a", "d/c=c"},
			between: func(t *testing.T, m *managedHost) { write(t, m, "/srv/www/d/own", "c") }, left: ". d d/own", changes: "removed [a d/c] <nil>"},
		"another kind": {first: []string{"a=a", "l=->a", "d/c=c"},
			between: func(t *testing.T, m *managedHost) {
				remove(t, m, "/srv/www/a", "/srv/www/d/c", "/srv/www/d")
				mkdir(t, m, "/srv/www/a")
				mkdir(t, m, "/srv/out")
				write(t, m, "/srv/out/c", "c")
				link(t, m, "/srv/out", "/srv/www/d")
			}, left: ". a d", changes: "removed [l] <nil>, changed since, and stays <nil> [a d]"},
		"another target": {first: []string{"l=->a", "m=->b"},
			between: func(t *testing.T, m *managedHost) { remove(t, m, "/srv/www/l"); link(t, m, "c", "/srv/www/l") },
			left:    ". l", changes: "removed [m] <nil>, changed since, and stays <nil> [l]"},
		"among what was in place": {first: []string{"a=a", "b=b", "d/c=c"}, left: ". b d", changes: "removed [a d/c] <nil>",
			before: func(t *testing.T, m *managedHost) {
				mkdir(t, m, "/srv/www")
				mkdir(t, m, "/srv/www/d")
				write(t, m, "/srv/www/b", "theirs")
			}},
		"found in place": {first: []string{"a=a"}, left: ". a", before: func(t *testing.T, m *managedHost) {
			mkdir(t, m, "/srv/www")
			write(t, m, "/srv/www/a", "theirs")
		}},
		"a file that is declared": {first: []string{"a=a", "d/b=b", "d/c=c"}, left: ". d d/b",
			after: "file \"/srv/www/d/b\" {\n content = \"b\"\n}\n", changes: "removed [a d/c] <nil>"},
		"a directory that a declared file is to be in": {first: []string{"a=a", "d/b=b"}, left: ". d d/new",
			after: "file \"/srv/www/d/new\" {\n content = \"n\"\n}\n"},
		"a line in one of its files": {first: []string{"a=a\n", "b=b"}, left: ". a",
			after: "line \"l\" {\n path = \"/srv/www/a\"\n line = \"a\"\n}\n"},
		"a tree in its place": {first: []string{"a=a", "d/b=b", "d/c=c"}, left: ". b",
			after: "archive \"x\" {\n path = \"/srv/www\"\n source = \"b.tar\"\n}\n"},
		"a tree in it": {first: []string{"a=a", "d/b=b", "d/c=c"}, left: ". d d/b d/c",
			after: "archive \"x\" {\n path = \"/srv/www/d\"\n source = \"b.tar\"\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManaged(t)
			mkdir(t, m, "/srv")
			if c.before != nil {
				c.before(t, m)
			}
			site := none + strings.Replace(wwwTree, "}", c.more+"\n}", 1)
			m.withFiles(t, false, false, site, www(c.first...))
			if c.later != nil {
				m.withFiles(t, false, false, site, www(c.later...))
			}
			if c.between != nil {
				c.between(t, m)
			}
			files := fstest.MapFS{"b.tar": {Data: tarred(t, "b=b")}}
			planned := m.withFiles(t, true, false, none+c.after, files)
			o := m.withFiles(t, false, false, none+c.after, files)
			if planned.Failed || o.Failed {
				t.Errorf("the plan has failed: %t, the apply: %t", planned.Failed, o.Failed)
			}
			if got := names(t, m, "/srv/www"); got != c.left {
				t.Errorf("left are %q, want %q", got, c.left)
			}
			const address = "orphan.tree[\"/srv/www\"]"
			if got := shownChanges(o.parts[address]); c.changes != "" && got != c.changes {
				t.Errorf("the changes are %q, want %q", got, c.changes)
			}
			if p, a := shownChanges(planned.parts[address]), shownChanges(o.parts[address]); p != a {
				t.Errorf("the plan foretells %q, and %q is done", p, a)
			}
			if m.holdsType(t, "tree") || len(manifestNames(t, m)) > 0 && c.after == "" {
				t.Errorf("it is held still: %s, lists %v", m.holds(t, "shop"), manifestNames(t, m))
			}
		})
	}
}

// shownChanges tells a part's changes in one line.
func shownChanges(ev states.Event) string {
	var list []string
	for _, c := range ev.Changes {
		list = append(list, fmt.Sprint(c.Attribute, " ", c.From, " ", c.To))
	}
	return strings.Join(list, ", ")
}

func (m *managedHost) holdsType(t *testing.T, typ string) bool {
	t.Helper()
	managed, err := m.folder.Managed()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range managed.Holding("shop").Entries() {
		if c.Type == typ {
			return true
		}
	}
	return false
}

// manifestNames names the lists in the state folder.
func manifestNames(t *testing.T, m *managedHost) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(m.folder.Dir(), "manifests"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func remove(t testing.TB, h host.Host, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := h.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t testing.TB, h host.Host, target, path string) {
	t.Helper()
	if err := h.Symlink(target, path, host.Meta{}); err != nil {
		t.Fatal(err)
	}
}

// tarred is an archive of these files.
func tarred(t failer, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	var err error
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644}))
		_, werr := w.Write([]byte(text))
		err = errors.Join(err, werr)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What an apply was about to make when its process ended is the site's, too; and what
// a later one that dies has added.
func TestTreeOfAnApplyThatDied(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	m.withFiles(t, false, true, shop+wwwTree, www("a=a", "d/b=b"))
	m.withFiles(t, false, true, shop+wwwTree, www("a=2", "d/b=b", "d/c=c"))
	m.withFiles(t, false, false, shop, nil)
	if got := names(t, m, "/srv"); got != "." {
		t.Errorf("left are %q", got)
	}
}

// A part that has failed half-way has made what it has made.
func TestTreeThatFailedHalfWay(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	mkdir(t, m, "/srv/www")
	write(t, m, "/srv/www/theirs", "x")
	owner := strings.Replace(wwwTree, "}", "owner = \"nobody-here\"\n}", 1)
	if o := m.withFiles(t, false, false, shop+owner, www("a=a")); !o.Failed {
		t.Fatal("the site does not fail")
	}
	m.withFiles(t, false, false, shop+wwwTree, www("a=a"))
	m.withFiles(t, false, false, shop, nil)
	if got := names(t, m, "/srv/www"); got != ". theirs" {
		t.Errorf("left are %q", got)
	}
}

func TestArchiveThatIsNotDeclared(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/opt")
	first := tarred(t, "a=a", "bin/x=x", "\xff\n=b")
	m.withFiles(t, false, false, shop+appTar, fstest.MapFS{"app.tar": {Data: first}})
	m.withFiles(t, false, false, shop+appTar, fstest.MapFS{"app.tar": {Data: tarred(t, "a=a2", "bin/y=y")}})
	write(t, m, "/opt/app/bin/own", "own")
	m.withFiles(t, false, false, shop, nil)
	if got := names(t, m, "/opt/app"); got != ". bin bin/own" {
		t.Errorf("left are %q", got)
	}
}

// Where the list is lost or damaged nothing is removed, and the plan says why.
func TestTreeWithoutItsList(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"lost":    os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("tenet.manifest/1\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newManaged(t)
			mkdir(t, m, "/srv")
			m.withFiles(t, false, false, shop+wwwTree, www("a=a"))
			if err := damage(filepath.Join(m.folder.Dir(), "manifests", manifestNames(t, m)[0])); err != nil {
				t.Fatal(err)
			}
			m.withFiles(t, false, false, shop+wwwTree, www("a=a", "b=b"))
			o := m.withFiles(t, false, false, shop, nil)
			if got := o.orphanList(); o.Failed || !strings.HasPrefix(got, "/srv/www (the list of what it has made cannot be read: ") {
				t.Errorf("failed: %t, told %q", o.Failed, got)
			}
			if got := names(t, m, "/srv/www"); got != ". a b" {
				t.Errorf("left are %q", got)
			}
		})
	}
}
