package moduletest_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/tree"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const treeRoot = "/srv/www"

func treeSite() fs.FS {
	return fstest.MapFS{
		"www":              {Mode: fs.ModeDir | 0o755},
		"www/index.html":   {Data: []byte("<p>hello</p>\n"), Mode: 0o644},
		"www/bin/run":      {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"www/bin":          {Mode: fs.ModeDir | 0o750},
		"www/a\nb":         {Data: []byte("newline"), Mode: 0o644},
		"www/latest":       {Data: []byte("../../etc/passwd"), Mode: fs.ModeSymlink | 0o777},
		"www/data/logo":    {Data: []byte("\xff\x00" + strings.Repeat("x", 5_000)), Mode: 0o600},
		"www/data/x/y/z":   {Data: []byte{}, Mode: 0o644},
		"empty":            {Mode: fs.ModeDir | 0o755},
		"file":             {Data: []byte("x"), Mode: 0o644},
		"other/index.html": {Data: []byte("other"), Mode: 0o644},
	}
}

// copied is the host with the tree in place.
func copied(t *testing.T, h host.Host) {
	t.Helper()
	m := tree.Module
	entries, err := states.ReadTree(treeSite(), "www")
	if err == nil {
		var want any
		want, err = m.Decode(map[string]any{"path": treeRoot, "source": states.NewTree("www", entries).Value()}, treeSite())
		if err == nil {
			err = m.Write(t.Context(), h, nil, want)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func describeTree(t *testing.T, h host.Host, name, want string) {
	t.Helper()
	info, err := h.Lstat(name)
	if err != nil {
		t.Error(err)
		return
	}
	owner := map[int]string{0: "root", 1000: "alice"}[info.UID]
	if is := string(info.Kind) + " " + owner + " " + states.FormatMode(info.Mode); is != want {
		t.Errorf("%s is %s, want %s", name, is, want)
	}
}

func treeThere(t *testing.T, h host.Host, want bool, names ...string) {
	t.Helper()
	for _, name := range names {
		if is := fake.Exists(h, treeRoot+"/"+name); is != want {
			t.Errorf("%s is there: %v", name, is)
		}
	}
}

func treeWith(more ...any) map[string]any {
	v := map[string]any{"path": treeRoot, "source": "www"}
	for i := 0; i < len(more); i += 2 {
		v[more[i].(string)] = more[i+1]
	}
	return v
}

func treeAfter(change func(t *testing.T, h host.Host)) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { copied(t, h); change(t, h) }
}

func TestTree(t *testing.T) {
	t.Parallel()
	own := func(t *testing.T, h host.Host) {
		fake.Put(t, h, treeRoot+"/own", "own", 0o644)
		fake.Put(t, h, treeRoot+"/bin/own", "own", 0o644)
		fake.Put(t, h, treeRoot+"/cache/a/b", "own", 0o644)
		fake.Put(t, h, "/srv/outside/c", "c", 0o644)
		fake.Link(t, h, "/srv/outside", treeRoot+"/out")
	}
	statestest.Run(t, statestest.Suite{Module: tree.Module, Host: plainHost, Site: treeSite(), Hostile: treeWith(), Cases: []statestest.Case{
		{
			Name: "create", Values: treeWith(), Action: states.Create, Changes: []string{"create"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeTree(t, h, treeRoot, "directory root 0755")
				describeTree(t, h, treeRoot+"/bin", "directory root 0750")
				describeTree(t, h, treeRoot+"/bin/run", "file root 0755")
				describeTree(t, h, treeRoot+"/data/logo", "file root 0600")
				if target, err := h.ReadLink(treeRoot + "/latest"); target != "../../etc/passwd" {
					t.Errorf("%q, %v", target, err)
				}
				if is := fake.Text(h, treeRoot+"/a\nb"); is != "newline" {
					t.Errorf("%q", is)
				}
			},
		}, {
			Name: "create with owner and modes", Values: treeWith("owner", "alice", "file_mode", "0640", "dir_mode", "0510"),
			Action: states.Create, Changes: []string{"create"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeTree(t, h, treeRoot, "directory alice 0510")
				describeTree(t, h, treeRoot+"/data/x/y", "directory alice 0510")
				describeTree(t, h, treeRoot+"/index.html", "file alice 0640")
				describeTree(t, h, treeRoot+"/bin/run", "file alice 0750")
			},
		}, {
			Name: "create beside others", Values: treeWith(), Prepare: own, Stays: "the directory holds something else",
			Action: states.Create, Changes: []string{"create"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				treeThere(t, h, true, "own", "bin/own", "bin/run")
			},
		},
		{Name: "nothing to do", Values: treeWith(), Prepare: copied},
		{Name: "nothing to do with others beside", Values: treeWith(), Prepare: treeAfter(own), Stays: "the directory holds something else"},
		{Name: "an empty tree", Values: map[string]any{"path": treeRoot, "source": "empty"}, Action: states.Create, Changes: []string{"create"}},
		{
			Name: "another content", Values: treeWith(), Action: states.Update, Changes: []string{"create", "update", "index.html"},
			Prepare: treeAfter(func(t *testing.T, h host.Host) {
				fake.Put(t, h, treeRoot+"/index.html", "changed\n", 0o644)
				if err := h.Remove(treeRoot + "/data/x/y/z"); err != nil {
					t.Fatal(err)
				}
			}),
			Check: func(t *testing.T, h host.Host, _ map[string]any) { treeThere(t, h, true, "data/x/y/z") },
		}, {
			Name: "another link", Values: treeWith(), Action: states.Update, Changes: []string{"update"},
			Prepare: treeAfter(func(t *testing.T, h host.Host) {
				if err := h.Symlink("/etc/shadow", treeRoot+"/latest", host.Meta{}); err != nil {
					t.Fatal(err)
				}
			}),
		}, {
			Name: "another owner and modes", Prepare: copied, Values: treeWith("owner", "alice", "group", "alice", "dir_mode", "0700"),
			Action: states.Update, Changes: []string{"owner", "group", "mode"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeTree(t, h, treeRoot+"/data/x", "directory alice 0700")
				describeTree(t, h, treeRoot+"/latest", "symlink alice 0777")
			},
		}, {
			Name: "a directory, a file and a link in each other's place", Values: treeWith("purge", true),
			Action: states.Update, Changes: []string{"create", "update", "purge"},
			Prepare: treeAfter(func(t *testing.T, h host.Host) {
				for _, name := range []string{"/index.html", "/latest", "/bin/run", "/bin"} {
					if err := h.Remove(treeRoot + name); err != nil {
						t.Fatal(err)
					}
				}
				fake.Put(t, h, treeRoot+"/index.html/below", "x", 0o644)
				fake.Put(t, h, treeRoot+"/latest/below", "x", 0o644)
				fake.Put(t, h, "/srv/outside/run", "outside", 0o644)
				fake.Link(t, h, "/srv/outside", treeRoot+"/bin")
			}),
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if is := fake.Text(h, "/srv/outside/run"); is != "outside" {
					t.Errorf("it was written through the link: %q", is)
				}
			},
		}, {
			Name: "purge", Values: treeWith("purge", true, "exclude", []string{"bin/own", "c*e"}), Prepare: treeAfter(own), Stays: "what is excluded stays",
			Action: states.Update, Changes: []string{"purge"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				treeThere(t, h, false, "own", "out")
				treeThere(t, h, true, "bin/own", "cache/a/b")
				if !fake.Exists(h, "/srv/outside/c") {
					t.Error("the link was followed")
				}
			},
		}, {
			Name: "purge around what is excluded", Values: treeWith("purge", true, "exclude", []string{"cache/a"}), Prepare: treeAfter(func(t *testing.T, h host.Host) {
				fake.Put(t, h, treeRoot+"/cache/a/b", "own", 0o644)
				fake.Put(t, h, treeRoot+"/cache/c/d", "own", 0o644)
			}), Action: states.Update, Changes: []string{"purge"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				treeThere(t, h, false, "cache/c")
				treeThere(t, h, true, "cache/a/b")
			},
		}, {
			Name: "exclude", Values: treeWith("exclude", []string{"data", "*.html"}), Action: states.Create, Changes: []string{"create"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				treeThere(t, h, false, "data", "index.html")
				treeThere(t, h, true, "bin/run")
			},
		}, {
			Name: "absent", Ensure: states.Absent, Values: treeWith(), Prepare: treeAfter(own), Action: states.Remove,
			Changes: nil,
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				treeThere(t, h, true, "own", "bin/own", "cache/a/b", "out")
				treeThere(t, h, false, "bin/run", "data", "latest")
			},
		}, {
			Name: "absent with all that is in it", Ensure: states.Absent, Values: treeWith("purge", true), Prepare: treeAfter(own), Action: states.Remove,
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if fake.Exists(h, treeRoot) || !fake.Exists(h, "/srv/outside/c") {
					t.Error("too much is gone, or not enough")
				}
			},
		},
		{Name: "absent already", Ensure: states.Absent, Values: treeWith()},
		{Name: "absent already beside others", Ensure: states.Absent, Values: treeWith(), Prepare: own},
	}})
}

func TestTreeFails(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: tree.Module, Host: plainHost, Site: treeSite(), Cases: []statestest.Case{
		{Name: "no parent", Values: treeWith("path", "/no/where"), Fails: "the directory /no is not there", Hint: `directory "/no" {}`},
		{Name: "a file", Values: treeWith("path", "/etc/passwd"), Fails: "/etc/passwd is a file, not a directory"},
		{
			Name: "a link", Values: treeWith(), Fails: "/srv/www is a symlink, not a directory",
			Prepare: func(t *testing.T, h host.Host) {
				fake.Dir(t, h, "/srv/other", 0o755)
				fake.Link(t, h, "/srv/other", treeRoot)
			},
		}, {
			Name: "a directory in the way", Values: treeWith(), Fails: "/srv/www/index.html is a directory with something in it, and shall be a file", Hint: "purge = true",
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, treeRoot+"/index.html/x", "", 0o644) },
		}, {
			Name: "something excluded in the way", Values: treeWith("purge", true, "exclude", []string{"x"}), Fails: "with something in it that is excluded",
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, treeRoot+"/index.html/x", "", 0o644) },
		},
		{Name: "unknown owner", Values: treeWith("owner", "nobody-here"), Fails: "no user named"},
		{Name: "unknown owner of what is there", Values: treeWith("owner", "nobody-here"), Prepare: copied, Fails: "no user named"},
		{Name: "absent without a source", Ensure: states.Absent, Values: map[string]any{"path": treeRoot}, Prepare: copied, Fails: "is not of this part, and stays"},
		{Name: "root", Values: treeWith("path", "/"), Wrong: "cannot be copied to"},
		{Name: "a pattern", Values: treeWith("exclude", []string{"[a"}), Wrong: "is no pattern"},
		{Name: "an empty pattern", Values: treeWith("exclude", []string{"/"}), Wrong: "is no pattern"},
	}})
}
