package moduletest_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/absent"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states/statestest"
)

// fullDirectory puts a directory with all kinds of things at /srv/old.
func fullDirectory(t *testing.T, h host.Host) {
	for _, dir := range []string{"/srv/old", "/srv/old/deep", "/srv/old/deep/empty"} {
		if err := h.Mkdir(dir, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	fake.Put(t, h, "/srv/old/deep/file", "12345", 0o644)
	fake.Put(t, h, "/srv/old/\xff\n-rf *", "123", 0o644)
	fake.Link(t, h, "/etc", "/srv/old/etc")
	fake.Link(t, h, "/no/where", "/srv/old/deep/dangling")
}

// goneAlone expects that nothing is at a path, that what links led to is there, and what
// was observed before.
func goneAlone(name, kind string, entries, bytes int) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, out map[string]any) {
		if fake.Exists(h, name) {
			t.Errorf("%s is there", name)
		}
		if !fake.Exists(h, "/etc/passwd") || !fake.Exists(h, "/srv") {
			t.Error("more is gone")
		}
		if is, want := fmt.Sprintln(out["kind"], out["entries"], out["bytes"]), fmt.Sprintln(kind, entries, bytes); is != want {
			t.Errorf("observed %s, want %s", is, want)
		}
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	old := map[string]any{"path": "/srv/old"}
	forced := map[string]any{"path": "/srv/old", "force": true}
	statestest.Run(t, statestest.Suite{Module: absent.Module, Host: plainHost, Hostile: map[string]any{"path": "/srv/old"}, Cases: []statestest.Case{
		{Name: "nothing there", Values: old},
		{Name: "no directory there", Values: map[string]any{"path": "/srv/a/b/c"}},
		{Name: "a file on the way", Values: map[string]any{"path": "/etc/passwd/c"}},
		{
			Name: "a file", Values: old, Acts: true, Check: goneAlone("/srv/old", "file", 1, 3),
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/srv/old", "abc", 0o400) },
		}, {
			Name: "a link to a directory", Values: forced, Acts: true, Check: goneAlone("/srv/old", "symlink", 1, 0),
			Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc", "/srv/old") },
		}, {
			Name: "a link to nothing", Values: old, Acts: true, Check: goneAlone("/srv/old", "symlink", 1, 0),
			Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/no/where", "/srv/old") },
		}, {
			Name: "an empty directory", Values: old, Acts: true, Check: goneAlone("/srv/old", "directory", 1, 0),
			Prepare: func(t *testing.T, h host.Host) {
				if err := h.Mkdir("/srv/old", host.Meta{}); err != nil {
					t.Fatal(err)
				}
			},
		},
		{Name: "a full directory", Values: old, Prepare: fullDirectory, Fails: "a directory with 6 entries in it"},
		{
			Name: "a directory with one file", Values: old, Fails: "a directory with 1 entry in it",
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/srv/old/file", "1", 0o644) },
		},
		{Name: "a full directory by force", Values: forced, Prepare: fullDirectory, Acts: true, Check: goneAlone("/srv/old", "directory", 7, 8)},
		{Name: "the root", Values: map[string]any{"path": "/", "force": true}, Wrong: "/ cannot be removed"},
		{Name: "the root by another name", Values: map[string]any{"path": "/srv/..", "force": true}, Wrong: "path"},
		{Name: "a relative path", Values: map[string]any{"path": "old"}, Wrong: "no absolute path"},
	}})
}

// fillingHost is one on which somebody else fills a directory as it is removed.
type fillingHost struct {
	host.Host
	t *testing.T
}

func (h fillingHost) Remove(name string) error {
	fake.Put(h.t, h.Host, name+"/new", "new", 0o644)
	return h.Host.Remove(name)
}

// Without force nothing goes that was not there when it was looked at.
func TestAbsentLeavesWhatIsNew(t *testing.T) {
	t.Parallel()
	h := plainHost(t)
	if err := h.Mkdir("/srv/old", host.Meta{}); err != nil {
		t.Fatal(err)
	}
	want, err := absent.Module.Decode(map[string]any{"path": "/srv/old"}, fs.FS(nil))
	if err != nil {
		t.Fatal(err)
	}
	changed, _, err := absent.Module.Act(t.Context(), fillingHost{h, t}, want)
	if changed || err == nil || diag.HintOf(err) == "" {
		t.Errorf("changed %t, %v", changed, err)
	}
	if !fake.Exists(h, "/srv/old/new") {
		t.Error("what is new is gone")
	}
}
