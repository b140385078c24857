package moduletest_test

import (
	"io/fs"
	"reflect"
	"testing"

	"github.com/tenetcm/tenet/modules/directory"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

// addDirectoryTree makes /srv/www with files, a directory and a link that leads out.
func addDirectoryTree(t *testing.T, h host.Host) {
	fake.Put(t, h, "/srv/www/a.conf", "a", 0o644)
	fake.Put(t, h, "/srv/www/sub/b.txt", "b", 0o600)
	fake.Put(t, h, "/srv/outside/c", "c", 0o644)
	fake.Link(t, h, "/srv/outside", "/srv/www/link")
}

func describeDirectory(t *testing.T, h host.Host, name, want string) {
	t.Helper()
	info, err := h.Lstat(name)
	if err != nil {
		t.Error(err)
		return
	}
	owner := map[int]string{0: "root", 1000: "alice"}[info.UID]
	if is := owner + " " + states.FormatMode(info.Mode); is != want {
		t.Errorf("%s is %s, want %s", name, is, want)
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	const www = "/srv/www"
	statestest.Run(t, statestest.Suite{Module: directory.Module, Host: plainHost, Hostile: map[string]any{"path": "/srv/new", "owner": "alice", "group": "root", "purge": true, "keep": []string{"a"}}, Cases: []statestest.Case{
		{
			Name: "create", Values: map[string]any{"path": www}, Action: states.Create, Changes: []string{"mode"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) { describeDirectory(t, h, www, "root 0755") },
		}, {
			Name:   "create with parents",
			Values: map[string]any{"path": "/srv/a/b/c", "parents": true, "mode": "2700", "owner": "alice", "group": "alice"},
			Action: states.Create, Changes: []string{"owner", "group", "mode"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeDirectory(t, h, "/srv/a/b/c", "alice 2700")
				describeDirectory(t, h, "/srv/a/b", "root 0755")
			},
		}, {
			Name: "nothing to do", Values: map[string]any{"path": "/srv", "mode": "0755", "owner": "root"}, Stays: "it is not new",
		}, {
			Name: "another owner", Values: map[string]any{"path": "/srv", "owner": "alice", "mode": "0750"},
			Action: states.Update, Changes: []string{"owner", "mode"},
		}, {
			Name: "recursive owner and modes", Prepare: addDirectoryTree, Stays: "it is not empty",
			Values: map[string]any{"path": www, "owner": "alice", "mode": "0750", "recurse": true, "file_mode": "0640"},
			Action: states.Update, Changes: []string{"owner", "mode", "recurse"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeDirectory(t, h, www+"/a.conf", "alice 0640")
				describeDirectory(t, h, www+"/sub", "alice 0750")
				describeDirectory(t, h, www+"/sub/b.txt", "alice 0640")
				describeDirectory(t, h, "/srv/outside", "root 0755")
				describeDirectory(t, h, "/srv/outside/c", "root 0644")
			},
		}, {
			Name: "recursive owner leaves the modes", Prepare: addDirectoryTree, Stays: "it is not empty",
			Values: map[string]any{"path": www, "owner": "alice", "recurse": true},
			Action: states.Update, Changes: []string{"owner", "recurse"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeDirectory(t, h, www+"/a.conf", "alice 0644")
				describeDirectory(t, h, www+"/sub/b.txt", "alice 0600")
			},
		}, {
			Name: "recursion without a mode leaves other modes below", Stays: "it is not empty",
			Prepare: func(t *testing.T, h host.Host) { addDirectoryTree(t, h); fake.Dir(t, h, www+"/private", 0o700) },
			Values:  map[string]any{"path": www, "owner": "alice", "recurse": true},
			Action:  states.Update, Changes: []string{"owner", "recurse"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeDirectory(t, h, www+"/private", "alice 0700")
			},
		}, {
			Name: "recursive owner takes the rights of who made the files", Stays: "it is not empty",
			Prepare: func(t *testing.T, h host.Host) {
				addDirectoryTree(t, h)
				fake.Alice(t, h, www+"/a.conf", 0o666|fs.ModeSetuid)
				fake.Alice(t, h, www+"/sub/b.txt", 0o600)
				fake.Put(t, h, www+"/c", "c", 0o666|fs.ModeSetuid)
				fake.Alice(t, h, www+"/sub", 0o775|fs.ModeSetgid)
			},
			Values: map[string]any{"path": www, "owner": "root", "recurse": true},
			Action: states.Update, Changes: []string{"recurse"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				describeDirectory(t, h, www+"/a.conf", "root 0644")
				describeDirectory(t, h, www+"/sub/b.txt", "root 0600")
				describeDirectory(t, h, www+"/c", "root 4666")
				describeDirectory(t, h, www+"/sub", "root 2775")
			},
		}, {
			Name: "purge", Prepare: addDirectoryTree, Stays: "it is not empty",
			Values: map[string]any{"path": www, "purge": true, "keep": []string{"*.conf"}},
			Action: states.Update, Changes: []string{"purge"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if !fake.Exists(h, www+"/a.conf") || fake.Exists(h, www+"/sub") || fake.Exists(h, www+"/link") {
					t.Error("the wrong entries were purged")
				}
				if !fake.Exists(h, "/srv/outside/c") {
					t.Error("the link was followed")
				}
			},
		}, {
			Name: "absent with all that is in it", Ensure: states.Absent, Prepare: addDirectoryTree,
			Values: map[string]any{"path": www, "force": true}, Action: states.Remove, Changes: []string{"mode"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if !fake.Exists(h, "/srv/outside/c") {
					t.Error("the link was followed")
				}
			},
		},
		{Name: "absent, not empty", Ensure: states.Absent, Prepare: addDirectoryTree, Values: map[string]any{"path": www}, Fails: "is not empty: it holds a.conf and 2 more", Hint: "force = true"},
		{Name: "absent root", Ensure: states.Absent, Values: map[string]any{"path": "/", "force": true}, Fails: "/ cannot be removed"},
		{Name: "missing parent", Values: map[string]any{"path": "/no/where"}, Fails: "the directory /no is not there", Hint: "parents = true"},
		{Name: "a file", Values: map[string]any{"path": "/etc/passwd"}, Fails: "is a file, not a directory", Hint: `absent "/etc/passwd" {}`},
		{
			Name: "a link to a directory", Values: map[string]any{"path": "/etc/link"}, Fails: "is a symlink, not a directory",
			Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/srv", "/etc/link") },
		},
		{Name: "unknown owner", Values: map[string]any{"path": www, "owner": "nobody-here"}, Fails: "no user named"},
		{Name: "keep without purge", Values: map[string]any{"path": www, "keep": []string{"a"}}, Wrong: "only beside purge"},
		{Name: "keep a path", Values: map[string]any{"path": www, "purge": true, "keep": []string{"a/b"}}, Wrong: "no pattern of one name"},
		{Name: "file_mode alone", Values: map[string]any{"path": www, "file_mode": "0644"}, Wrong: "only beside recurse"},
		{Name: "trailing slash", Values: map[string]any{"path": "/srv/www/"}, Wrong: "not the shortest form"},
	}})
}

// A plan of recursion says which modes change with the owner.
func TestDirectoryRecursionShowsModes(t *testing.T) {
	t.Parallel()
	h, m := plainHost(t), directory.Module
	addDirectoryTree(t, h)
	fake.Alice(t, h, "/srv/www/a.conf", 0o666|fs.ModeSetuid)
	fake.Alice(t, h, "/srv/www/sub/b.txt", 0o600)
	want, err := m.Decode(map[string]any{"path": "/srv/www", "owner": "root", "recurse": true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have, err := m.Read(t.Context(), h, want)
	if err != nil {
		t.Fatal(err)
	}
	changes := m.Diff(have, m.Fill(have, want))
	texts := []any{"/srv/www/a.conf: owner alice → root, mode 4666 → 0644", "/srv/www/sub/b.txt: owner alice → root"}
	if len(changes) != 1 || !reflect.DeepEqual(changes[0].From, texts) {
		t.Errorf("the changes are %v", changes)
	}
}
