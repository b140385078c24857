package runtime

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// Of the links on the way to a path, the first one is named about which others decide, by
// whatever other links it is reached.
func TestLinkOfOthers(t *testing.T) {
	h := host.NewMemory()
	uid, _ := h.Actor()
	other := uid + 4711
	of := func(owner int, mode fs.FileMode) host.Meta { return host.Meta{UID: &owner, Mode: &mode} }
	link := func(owner int) host.Meta { return host.Meta{UID: &owner} }
	err := errors.Join(
		h.Mkdir("/own", of(uid, 0o755)), h.Mkdir("/own/dir", of(uid, 0o755)),
		h.Mkdir("/open", of(uid, 0o777)), h.Mkdir("/tmp", of(uid, 0o777|fs.ModeSticky)), h.Mkdir("/theirs", of(other, 0o755)),
		h.Symlink("dir", "/own/link", link(uid)), h.Symlink("/own/dir", "/own/given", link(other)),
		h.Symlink("/own/dir", "/tmp/link", link(uid)), h.Symlink("/own/dir", "/tmp/theirs", link(other)),
		h.Symlink("/own/dir", "/open/link", link(uid)), h.Symlink("/own/dir", "/theirs/link", link(uid)),
		h.Symlink("../tmp/theirs", "/own/chain", link(uid)),
		h.Symlink("/theirs/link/../dir", "/own/up", link(uid)),
		h.Symlink("loop", "/own/loop", link(uid)), h.Symlink("/nowhere/a", "/own/broken", link(uid)),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/own/dir/x":        "",
		"/own/link/x":       "",
		"/own/given":        "", // the end is not followed
		"/own/given/x":      "/own/given",
		"/tmp/link/x":       "",
		"/tmp/theirs/x":     "/tmp/theirs",
		"/open/link/x":      "/open/link",
		"/theirs/link/x":    "/theirs/link",
		"/own/link/x/y":     "",
		"/own/chain/x":      "/tmp/theirs",
		"/own/up/x":         "/theirs/link",
		"/own/loop/x":       "", // it leads nowhere
		"/own/broken/x":     "",
		"/own/chain/../a/b": "/tmp/theirs",
		"/nowhere/x":        "",
	} {
		if got := linkOfOthers(h, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
