package services

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// followedSite has a file on a host, with a text.
func followedSite(dir, text string) string {
	return fmt.Sprintf("site {\n  name = \"farm\"\n}\nhost \"h1\" {\n  executor = \"agent\"\n}\nfile \"%s/h1/followed\" {\n  content = %q\n}\n", dir, text)
}

// A server follows a folder: what is new and right is deployed, what is wrong is told with its place and changes nothing, and a server that was killed goes on.
func TestSourceByAgents(t *testing.T) {
	f := newFarm(t, "", 1, "127.0.0.1")
	f.connected(1)
	d := newDesk(f)
	folder := filepath.Join(t.TempDir(), "followed")
	put := func(text string) {
		t.Helper()
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "site.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want string) {
		t.Helper()
		eventually(t, func() error {
			if got := d.read("h1/followed"); got != want {
				return fmt.Errorf("h1 has %q: %s", got, d.must("server", "source", "list"))
			}
			return nil
		})
	}
	lists := func(want ...string) {
		t.Helper()
		eventually(t, func() error {
			out := d.must("server", "source", "list")
			for _, w := range want {
				if !strings.Contains(out, w) {
					return errors.New(out)
				}
			}
			return nil
		})
	}
	put(followedSite(f.dir, "one"))
	d.must("server", "source", "add", "shop", folder, "--site", "farm")
	has("one")
	lists("shop  farm  installed", "deployment 1")
	put(followedSite(f.dir, "two"))
	d.must("server", "source", "look", "shop")
	has("two")

	put(followedSite(f.dir, "three") + "file \"x\" {\n")
	d.must("server", "source", "look", "shop")
	lists("is not taken: the site is wrong: site.hcl:", "deployment 2", "installed")
	has("two")
	put(strings.Replace(followedSite(f.dir, "three"), `"farm"`, `"other"`, 1))
	d.must("server", "source", "look", "shop")
	lists("the archive is the site \"other\"")
	has("two")

	f.servers[0].end()
	put(followedSite(f.dir, "four"))
	f.servers[0].start()
	f.connected(1)
	d.must("server", "source", "look", "shop")
	has("four")
	lists("installed", "deployment 3")

	d.must("server", "source", "remove", "shop")
	if out := d.must("server", "source", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("it is listed still: %s", out)
	}
	if out := d.must("audit", "list"); !strings.Contains(out, "source.add") || !strings.Contains(out, "source.remove") || !strings.Contains(out, "source/shop") {
		t.Errorf("the audit has not all of it:\n%s", out)
	}
}
