package host_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// entry is one of a layout: a folder, or a link where it has a target.
type entry struct {
	path, target string
	uid          int
	mode         fs.FileMode
}

// layouts are ordinary ones: what is written by way of their links, and what is refused.
var layouts = []struct {
	name, file string
	works      bool
	entries    []entry
}{
	{"a release of the account's, the link root's", "/srv/app/current/.env", true,
		[]entry{{"/srv/app", "", 33, 0o755}, {"/srv/app/releases", "", 33, 0o755}, {"/srv/app/current", "releases", 0, 0}}},
	{"a release of root's, the link the account's", "/srv/app/current/.env", false,
		[]entry{{"/srv/app", "", 33, 0o755}, {"/srv/app/releases", "", 0, 0o755}, {"/srv/app/current", "releases", 33, 0}}},
	{"a release of root's, the link root's", "/srv/app/current/.env", false,
		[]entry{{"/srv/app", "", 33, 0o755}, {"/srv/app/releases", "", 0, 0o755}, {"/srv/app/current", "releases", 0, 0}}},
	{"a release of root's, in a folder of root's", "/srv/app/current/.env", true,
		[]entry{{"/srv/app", "", 0, 0o755}, {"/srv/app/releases", "", 0, 0o755}, {"/srv/app/current", "releases", 0, 0}}},
	{"the site of a user, at home by a link of root's", "/home/alice/www/x", true,
		[]entry{{"/home/alice", "", 1000, 0o755}, {"/var/www/alice", "", 1000, 0o755}, {"/home/alice/www", "/var/www/alice", 0, 0}}},
	{"the site of root's, at home by a link of root's", "/home/alice/www/x", false,
		[]entry{{"/home/alice", "", 1000, 0o755}, {"/var/www/alice", "", 0, 0o755}, {"/home/alice/www", "/var/www/alice", 0, 0}}},
	{"the site of another, at home by a link of root's", "/home/alice/www/x", false,
		[]entry{{"/home/alice", "", 1000, 0o755}, {"/var/www/bob", "", 1001, 0o755}, {"/home/alice/www", "/var/www/bob", 0, 0}}},
	{"by the home of another", "/home/alice/bob/www/x", false,
		[]entry{{"/home/alice", "", 1000, 0o755}, {"/home/bob", "", 1001, 0o755}, {"/var/www/alice", "", 1000, 0o755},
			{"/home/alice/bob", "/home/bob", 0, 0}, {"/home/bob/www", "/var/www/alice", 0, 0}}},
	{"back from the account's own to root's", "/srv/app/current/etc/x", false,
		[]entry{{"/srv/app", "", 33, 0o755}, {"/srv/app/releases", "", 33, 0o755}, {"/srv/app/current", "releases", 0, 0},
			{"/etc", "", 0, 0o755}, {"/srv/app/releases/etc", "/etc", 0, 0}}},
	{"/var/run", "/var/run/x", true, []entry{{"/run", "", 0, 0o755}, {"/var/run", "/run", 0, 0}}},
	{"/lib", "/lib/x", true, []entry{{"/usr/lib", "", 0, 0o755}, {"/lib", "usr/lib", 0, 0}}},
	{"below /run, in the folder of a service", "/etc/dns/x", true,
		[]entry{{"/run/systemd/resolve", "", 101, 0o755}, {"/etc/dns", "../run/systemd/resolve", 0, 0}}},
	{"a group's folder, the link root's", "/var/www/current/x", true,
		[]entry{{"/var/www", "", 0, 0o775 | fs.ModeSetgid}, {"/opt/site", "", 0, 0o755}, {"/var/www/current", "/opt/site", 0, 0}}},
	{"a group's folder, the link and the site a member's", "/var/www/current/x", true,
		[]entry{{"/var/www", "", 0, 0o775 | fs.ModeSetgid}, {"/home/alice/site", "", 1000, 0o755}, {"/var/www/current", "/home/alice/site", 1000, 0}}},
	{"a group's folder, the link a member's", "/var/www/current/x", false,
		[]entry{{"/var/www", "", 0, 0o775 | fs.ModeSetgid}, {"/opt/site", "", 0, 0o755}, {"/var/www/current", "/opt/site", 1000, 0}}},
}

func TestOrdinaryLayouts(t *testing.T) {
	for _, l := range layouts {
		hosts := map[string]host.Host{"memory": host.NewMemory(), "shadow": host.NewShadow(host.NewMemory())}
		if os.Geteuid() == 0 { // who may give folders away
			slow := local(t, t.TempDir())
			slow.Componentwise()
			hosts["local"], hosts["componentwise"] = local(t, t.TempDir()), slow
		}
		for name, h := range hosts {
			for _, e := range l.entries {
				lay(t, h, e)
			}
			err := h.WriteFile(t.Context(), l.file, host.Text("x"), host.Meta{})
			if refused := host.IsLink(err); refused == l.works || !refused && err != nil {
				t.Errorf("%s, on %s: %v", l.name, name, err)
			}
		}
	}
}

// lay makes an entry, and the folders above it for root.
func lay(t *testing.T, h host.Host, e entry) {
	t.Helper()
	for at := 1; ; {
		next := strings.Index(e.path[at:], "/")
		if next < 0 {
			break
		}
		at += next + 1
		if _, err := h.Lstat(e.path[:at-1]); err != nil {
			if err := h.Mkdir(filepath.Clean(e.path[:at]), host.Meta{UID: new(0), GID: new(0), Mode: new(fs.FileMode(0o755))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	meta, err := host.Meta{UID: &e.uid, GID: &e.uid}, error(nil)
	if _, statErr := h.Lstat(e.path); statErr == nil && e.target == "" {
		meta.Mode = &e.mode
		err = h.SetMeta(e.path, meta)
	} else if e.target == "" {
		meta.Mode = &e.mode
		err = h.Mkdir(e.path, meta)
	} else {
		err = h.Symlink(e.target, e.path, meta)
	}
	if err != nil {
		t.Fatal(err)
	}
}
