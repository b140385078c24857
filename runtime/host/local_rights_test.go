package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

func TestAccess(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "shut"), 0o555); err != nil {
		t.Fatal(err)
	}
	root := os.Geteuid() == 0
	for name, l := range map[string]host.Permissions{"machine": local(t, ""), "root": local(t, dir)} {
		if c := l.Credentials(); c.UID != os.Geteuid() || c.GID != os.Getegid() || c.Privileged != root {
			t.Errorf("%s: %+v", name, c)
		}
		for path, names := range map[string]bool{".": true, "missing": true, "shut": root} {
			at := "/" + path
			if name == "machine" {
				at = filepath.Join(dir, path)
			}
			if got := l.Access(at); got != (host.Access{Names: names}) {
				t.Errorf("%s: %s: %+v", name, path, got)
			}
		}
	}
	if got := local(t, "").Access("/proc/self"); !got.Names {
		t.Errorf("a link is %+v", got)
	}
}

// Root tunes the kernel by files in folders that nobody may write to.
func TestAccessToTheKernel(t *testing.T) {
	if got := local(t, "").Access("/proc/sys/net/ipv4"); os.Geteuid() == 0 && !got.Names {
		t.Errorf("%+v", got)
	}
}
