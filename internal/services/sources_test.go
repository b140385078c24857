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
	t.Parallel()
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

// A source tells how each component stands over all hosts that have it, what has failed in it, and what goes with a revision; and in a downtime, that it is not looked at.
func TestSourceComponentsByAgents(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "", 2, "127.0.0.1")
	f.connected(2)
	d := newDesk(f)
	folder := filepath.Join(t.TempDir(), "followed")
	put := func(components string) {
		t.Helper()
		blocker := filepath.Join(f.dir, "blocker")
		files := map[string]string{
			"site.hcl": "site {\n  name = \"farm\"\n  prune = true\n}\nhost_group \"all\" {\n  hosts = \"*\"\n  reconcile = { attempts = 1 }\n}\n" +
				"host \"h1\" {\n  executor = \"agent\"\n}\nhost \"h2\" {\n  executor = \"agent\"\n}\n" + components,
			"page/component.hcl":   fmt.Sprintf("file \"page\" {\n  path = \"%s/${host.name}/page\"\n  content = \"page\"\n}\n", f.dir),
			"data/component.hcl":   fmt.Sprintf("file \"data\" {\n  path = \"%s/${host.name}/data\"\n  content = \"data\"\n}\n", f.dir),
			"broken/component.hcl": fmt.Sprintf("file \"broken\" {\n  path = \"%s/${host.name}\"\n  content = \"x\"\n}\n", blocker),
		}
		if err := os.WriteFile(blocker, nil, 0o644); err != nil { // where a folder would have to be
			t.Fatal(err)
		}
		for name, text := range files {
			path := filepath.Join(folder, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	shows := func(want ...string) {
		t.Helper()
		eventually(t, func() error {
			out := d.must("server", "source", "show", "shop")
			for _, w := range want {
				if !strings.Contains(out, w) {
					return fmt.Errorf("%q is not in it:\n%s", w, out)
				}
			}
			return nil
		})
	}
	use := func(name string) string { return fmt.Sprintf("component %q {\n  source = \"./%s\"\n}\n", name, name) }
	put(use("page") + use("data"))
	d.must("server", "source", "add", "shop", folder, "--site", "farm", "--poll-window", "00:00-24:00", "--downtime", "2020-01-01T00:00:00Z/2020-01-02T00:00:00Z moving house")
	shows("shop  farm  installed\n", "component page  installed", "component data  installed", "window 00:00-24:00", ": moving house")

	put(use("page") + use("broken"))
	d.must("server", "source", "look", "shop")
	shows("shop  farm  failed: component.broken.file.", "component broken  failed: component.broken.file.", "component page  installed", "component data  ")
	put(use("page"))
	d.must("server", "source", "look", "shop")
	shows("shop  farm  installed\n", "component page  installed", "component data  removed")
	if got := d.read("h2/data"); got != "" {
		t.Errorf("what goes is there still: %q", got)
	}
	if out := d.must("server", "source", "list", "--json"); !strings.Contains(out, `"removed"`) || !strings.Contains(out, `"next"`) {
		t.Errorf("the list has not all of it: %s", out)
	}

	d.must("server", "source", "remove", "shop")
	d.must("server", "source", "add", "shop", folder, "--site", "farm", "--downtime", "2020-01-01T00:00:00Z/2999-01-02T00:00:00Z moving house")
	shows("shop  farm  pending", "not looked at now: moving house, until 2999-01-02")
	if _, said, code := d.tenet("server", "source", "add", "other", folder, "--site", "farm", "--downtime", "2020-01-02T00:00:00Z/2020-01-01T00:00:00Z"); code != 64 || !strings.Contains(said, "no time from one instant to a later one") {
		t.Errorf("a downtime that ends before it begins: %d %s", code, said)
	}
}
