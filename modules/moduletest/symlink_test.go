package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/symlink"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func symlinkLink(target string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Link(t, h, target, "/etc/link") }
}

func leadsTo(target string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is, err := h.ReadLink("/etc/link"); is != target {
			t.Errorf("the link leads to %q (%v), want %q", is, err, target)
		}
	}
}

func TestSymlink(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: symlink.Module, Host: plainHost, Hostile: map[string]any{"path": "/srv/link", "target": "/srv/a", "owner": "alice", "group": "root"}, Cases: []statestest.Case{
		{
			Name: "create, dangling", Values: map[string]any{"path": "/etc/link", "target": "../no/where"},
			Action: states.Create, Changes: []string{"target"}, Check: leadsTo("../no/where"),
		}, {
			Name: "create with owner", Values: map[string]any{"path": "/etc/link", "target": "passwd", "owner": "alice", "group": "alice"},
			Action: states.Create, Changes: []string{"target", "owner", "group"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if info, err := h.Lstat("/etc/passwd"); err != nil || info.UID != 0 {
					t.Errorf("the target is %+v, %v", info, err)
				}
			},
		}, {
			Name: "another target", Prepare: symlinkLink("/srv"), Values: map[string]any{"path": "/etc/link", "target": "/home"},
			Action: states.Update, Changes: []string{"target"}, Check: leadsTo("/home"),
		}, {
			Name: "another owner", Prepare: symlinkLink("/srv"), Values: map[string]any{"path": "/etc/link", "target": "/srv", "owner": "alice"},
			Action: states.Update, Changes: []string{"owner"}, Check: leadsTo("/srv"),
		}, {
			Name: "nothing to do", Prepare: symlinkLink("/srv"), Values: map[string]any{"path": "/etc/link", "target": "/srv", "owner": "root"},
		}, {
			Name: "in the place of a file", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/link", "x", 0o644) },
			Values: map[string]any{"path": "/etc/link", "target": "/srv", "replace": true},
			Action: states.Create, Changes: []string{"target"}, Check: leadsTo("/srv"),
		}, {
			Name: "absent", Ensure: states.Absent, Prepare: symlinkLink("/srv"), Values: map[string]any{"path": "/etc/link"},
			Action: states.Remove, Changes: []string{"target"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if !fake.Exists(h, "/srv") {
					t.Error("the target is gone, too")
				}
			},
		},
		{Name: "a file", Fails: "is a file, not a symbolic link", Values: map[string]any{"path": "/etc/passwd", "target": "x"}},
		{Name: "a directory", Fails: "is a directory", Values: map[string]any{"path": "/srv", "target": "x", "replace": true}},
		{Name: "missing directory", Fails: "the directory /no is not there", Hint: `directory "/no" {}`, Values: map[string]any{"path": "/no/link", "target": "x"}},
		{Name: "no target", Fails: "required", Values: map[string]any{"path": "/etc/link"}},
		{Name: "unknown owner", Fails: "no user named", Values: map[string]any{"path": "/etc/link", "target": "x", "owner": "nobody-here"}},
		{Name: "empty target", Wrong: "empty path", Values: map[string]any{"path": "/etc/link", "target": ""}},
		{Name: "relative path", Wrong: "no absolute path", Values: map[string]any{"path": "link", "target": "x"}},
	}})
}
