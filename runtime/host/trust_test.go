package host_test

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
)

// linked is a machine with folders and links of root (0) and of two accounts.
func linked(t *testing.T) *host.Memory {
	m := host.NewMemory()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	owned := func(uid int, mode fs.FileMode) host.Meta { return host.Meta{UID: &uid, GID: &uid, Mode: &mode} }
	for _, d := range []struct {
		path string
		meta host.Meta
	}{
		{"/etc", owned(0, 0o755)}, {"/etc/app", owned(0, 0o755)}, {"/srv", owned(0, 0o755)}, {"/srv/ann", owned(1000, 0o755)},
		{"/srv/ann/releases", owned(1000, 0o755)}, {"/srv/bob", owned(1001, 0o755)}, {"/tmp", owned(0, 0o777|fs.ModeSticky)},
	} {
		must(m.Mkdir(d.path, d.meta))
		must(m.WriteFile(t.Context(), d.path+"/x", host.Text("x"), d.meta))
	}
	for _, l := range []struct {
		path, target string
		uid          int
	}{
		{"/srv/ours", "/etc/app", 0}, {"/srv/to-ann", "ann", 0}, {"/tmp/ours", "/etc/app", 0},
		{"/srv/ann/out", "/etc/app", 1000}, {"/srv/ann/up", "../../etc", 1000}, {"/srv/ann/current", "releases", 1000},
		{"/srv/ann/bob", "/srv/bob", 1000}, {"/srv/ann/planted", "/etc/app", 0}, {"/srv/ann/file", "/etc/x", 1000},
		{"/srv/bob/ann", "/srv/ann/current", 1001}, {"/tmp/theirs", "/etc/app", 1000},
	} {
		must(m.Symlink(l.target, l.path, host.Meta{UID: &l.uid, GID: &l.uid}))
	}
	return m
}

// A link of another account leads to what is its own, or nowhere: neither to read nor to
// change anything, on the host and in a plan.
func TestLinksOfOthers(t *testing.T) {
	for dir, leads := range map[string]bool{
		"/srv/ours": true, "/tmp/ours": true, "/srv/to-ann": true, "/srv/to-ann/current": true, "/srv/ann/current": true,
		"/srv/ann/out": false, "/srv/ann/up": false, "/srv/ann/up/app": false, "/srv/ann/bob": false, "/srv/ann/planted": false,
		"/srv/bob/ann": false, "/tmp/theirs": false, "/srv/to-ann/out": false,
	} {
		for kind, h := range map[string]host.Host{"memory": linked(t), "shadow": host.NewShadow(linked(t)), "watched": watchedBy(linked(t))} {
			_, lstat := h.Lstat(dir + "/x")
			_, open := h.Open(dir + "/x")
			_, list := h.OpenDir(dir + "/.")
			for what, err := range map[string]error{
				"lstat": lstat, "open": open, "open the directory": list,
				"chmod": h.SetMeta(dir+"/x", host.Meta{Mode: new(fs.FileMode(0o600))}), "write": h.WriteFile(t.Context(), dir+"/x", host.Text("y"), host.Meta{}),
				"mkdir": h.Mkdir(dir+"/new", host.Meta{}), "symlink": h.Symlink("x", dir+"/link", host.Meta{}), "remove": h.Remove(dir + "/x"),
			} {
				if refused := diag.CodeOf(err) == host.CodeLink; refused == leads || leads && err != nil || refused && !errors.Is(err, syscall.ELOOP) {
					t.Errorf("%s %s on %s: %v", what, dir, kind, err)
				}
			}
		}
	}
	if _, err := linked(t).Open("/srv/ann/file"); !host.IsLink(err) {
		t.Errorf("a file of root's was read by a link of another account: %v", err)
	}
}

func watchedBy(h host.Host) host.Host {
	return host.Watched(h, host.Watcher{Change: func(host.Place) error { return nil }, Run: func() {}})
}

// What had the rights of its owner has not those of the next one.
func TestOwnerTakesSetuidAway(t *testing.T) {
	hosts := map[string]func() (host.Host, string){
		"memory": func() (host.Host, string) { return host.NewMemory(), "" },
		"shadow": func() (host.Host, string) { return host.NewShadow(host.NewMemory()), "" },
	}
	if os.Geteuid() == 0 { // who may give files away
		dir := t.TempDir()
		hosts["local"] = func() (host.Host, string) { return local(t, ""), dir }
	}
	const both = 0o755 | fs.ModeSetuid | fs.ModeSetgid
	for name, open := range hosts {
		h, dir := open()
		for _, c := range []struct {
			meta host.Meta
			want fs.FileMode
		}{
			{host.Meta{UID: new(0)}, 0o755 | fs.ModeSetgid}, {host.Meta{GID: new(0)}, 0o755 | fs.ModeSetuid}, {host.Meta{UID: new(0), GID: new(0)}, 0o755},
			{host.Meta{UID: new(4711), GID: new(4711)}, both}, {host.Meta{UID: new(0), Mode: new(both)}, both},
		} {
			file := dir + "/f"
			if err := h.WriteFile(t.Context(), file, host.Text("x"), host.Meta{UID: new(4711), GID: new(4711), Mode: new(both)}); err != nil {
				t.Fatal(err)
			}
			if err := h.SetMeta(file, c.meta); err != nil {
				t.Fatal(err)
			}
			if info, err := h.Lstat(file); err != nil || info.Mode != c.want {
				t.Errorf("%s: %v is %v, want %v, %v", name, c.meta, info.Mode, c.want, err)
			}
		}
	}
}
