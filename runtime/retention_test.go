package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

const plainShop = "site {\n name = \"shop\"\n}\n"

// version declares one of several releases: a folder, and a file of another part in it.
func version(name, retain string) string {
	return fmt.Sprintf(`
		directory "release" {
			path   = "/srv/%[1]s"
			retain = %[2]s
		}
		file "config" {
			path    = "/srv/%[1]s/config"
			content = "%[1]s"
			require = [directory.release]
		}
		symlink "current" {
			path    = "/current"
			target  = "/srv/%[1]s"
			require = [directory.release]
		}
	`, name, retain)
}

// list names what is in /srv.
func (m *managedHost) list(t testing.TB) string {
	t.Helper()
	entries, err := m.ReadDir("/srv")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		name := e.Name
		if _, err := m.Lstat("/srv/" + name + "/config"); err != nil {
			name += " without config"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestRetainNumber(t *testing.T) {
	for _, prune := range []string{"", "prune"} {
		t.Run(prune, func(t *testing.T) {
			site := plainShop
			if prune != "" {
				site = shop
			}
			m := newManaged(t)
			mkdir(t, m, "/srv")
			for _, step := range []struct{ version, want string }{
				{"1", "1"}, {"2", "1 2"}, {"3", "2 3"}, {"3", "2 3"},
				{"2", "2 3"}, // back
				{"4", "2 4"}, {"2", "2 4"}, {"5", "2 5"},
			} {
				planned := m.plan(t, site+version(step.version, "2"))
				o := m.apply(t, site+version(step.version, "2"), false)
				if o.Failed {
					t.Fatalf("%s fails: %v", step.version, o.events)
				}
				if a, b := planned.orphanList(), o.orphanList(); a != b {
					t.Errorf("%s: planned %s, and told %s", step.version, a, b)
				}
				if got := m.list(t); got != step.want {
					t.Errorf("after %s there is %s, want %s", step.version, got, step.want)
				}
			}
			o := m.plan(t, site+version("6", "2"))
			if got, want := o.orphanList(), "-/srv/2/config, -/srv/2"; got != want {
				t.Errorf("removed %s, want %s", got, want)
			}
			if row := o.row(`orphan.directory["/srv/2"]`); !strings.HasPrefix(row, "remove (was directory.release, created by run ") || !strings.HasSuffix(row, "; older than what retain = 2 keeps)") {
				t.Errorf("row %q", row)
			}
			last := ""
			for _, ev := range o.events {
				if ev.Type == states.EventPart {
					last = ev.Address
				}
			}
			if last != `orphan.directory["/srv/2"]` {
				t.Errorf("the last row is %s", last)
			}
		})
	}
}

func TestRetainNothingIfSomethingFails(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	for _, v := range []string{"1", "2"} {
		m.apply(t, plainShop+version(v, "1")+"command \"false\" {\n argv = [\"false\"]\n}\n", false)
	}
	if got := m.list(t); got != "1 2" {
		t.Errorf("there is %s", got)
	}
	m.apply(t, plainShop+version("2", "1")+"command \"false\" {\n argv = [\"false\"]\n ignore_failure = true\n}\n", false)
	if got := m.list(t); got != "2" {
		t.Errorf("there is %s", got)
	}
}

func TestRetainOfInstancesAndAbsence(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	instances := func(names string, more string) string {
		return plainShop + fmt.Sprintf("directory \"release\" {\n for_each = toset([%s])\n path = \"/srv/${each.key}\"\n retain = 2\n %s\n}\n", names, more)
	}
	apply := func(site, want string) {
		t.Helper()
		if o := m.apply(t, site, false); o.Failed {
			t.Fatal("it fails")
		}
		if got := strings.ReplaceAll(m.list(t), " without config", ""); got != want {
			t.Errorf("there is %s, want %s", got, want)
		}
	}
	apply(instances(`"a", "b", "c"`, ""), "a b c") // what is declared stays
	apply(instances(`"a"`, ""), "a c")
	apply(instances(`"d"`, ""), "a d")
	apply(plainShop, "a d") // not declared at all
	apply(shop, "a d")
	apply(instances(`"e"`, `ensure = "absent"`), "")
	if got := m.holds(t, "shop"); got != "" {
		t.Errorf("it holds %s", got)
	}
}

func TestRetainAll(t *testing.T) {
	m := newManaged(t)
	kept := plainShop + "directory \"data\" {\n path = \"/data\"\n retain = true\n}\n"
	m.apply(t, plainShop+"directory \"data\" {\n path = \"/data\"\n}\n", false)
	m.apply(t, kept, false) // it is to stay only since then
	const told = "/data (it is retained, until tenet forget lets go of it)"
	for range 2 {
		if got := m.apply(t, shop, false).orphanList(); got != told {
			t.Errorf("told %s", got)
		}
	}
	m.apply(t, kept, true) // which dies
	if got := m.plan(t, shop).orphanList(); got != told {
		t.Errorf("told %s", got)
	}
	m.apply(t, strings.Replace(kept, "retain = true", "", 1), false)
	if got := m.apply(t, shop, false).orphanList(); got != "-/data" {
		t.Errorf("retained no longer: told %s", got)
	}
}

// What an archive was made of is no place at which anything of it would be removed.
func TestOrphanOfASharedArchive(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/srv")
	write(t, m, "/app.tar", string(tarred(t, "a=a")))
	release := func(path string) string {
		return shop + fmt.Sprintf("archive \"release\" {\n path = %q\n file = \"/app.tar\"\n}\n", path)
	}
	m.apply(t, release("/srv/1"), false)
	if got := m.plan(t, release("/srv/2")).orphanList(); got != "-/srv/1" {
		t.Errorf("told %s", got)
	}
}

func TestRetainAllOfALateKey(t *testing.T) {
	m := newManaged(t)
	m.Handle("name", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte("late")}, nil
	})
	site := shop + `command "name" {
		argv = ["name"]
		plan = true
	}
	`
	part := func(more string) string {
		return "directory \"one\" {\n path = \"/${command.name.stdout}\"\n " + more + "\n}\n"
	}
	const told = "/late (it is retained, until tenet forget lets go of it)"
	m.apply(t, site+part("retain = true"), true) // which dies
	if got := m.plan(t, site).orphanList(); got != told {
		t.Errorf("told %s", got)
	}
	m.apply(t, site+part(""), false)
	if got := m.plan(t, site).orphanList(); got != "-/late" {
		t.Errorf("retained no longer: told %s", got)
	}
	m.apply(t, site+part("retain = true"), false)
	if got := m.plan(t, site).orphanList(); got != told {
		t.Errorf("retained again: told %s", got)
	}
}

func TestRetainWhatIsBelow(t *testing.T) {
	data := "directory \"data\" {\n path = \"/srv/%s/data\"\n retain = true\n require = [directory.release]\n}\n"
	m := newManaged(t)
	mkdir(t, m, "/srv")
	m.apply(t, plainShop+version("1", "1")+fmt.Sprintf(data, "1"), false)
	o := m.apply(t, plainShop+version("2", "1"), false)
	if got, want := o.orphanList(), "/srv/1/data (it is retained, until tenet forget lets go of it), -/srv/1/config, /srv/1 (directory.data is in it)"; got != want {
		t.Errorf("what is retained in an old release: told %s, want %s", got, want)
	}
	mkdir(t, m, "/srv/2/theirs")
	o = m.apply(t, plainShop+version("3", "1"), false)
	if got := o.orphanList(); o.Failed || !strings.Contains(got, "-/srv/2/config") || !strings.Contains(got, "/srv/2 (it cannot be removed: /srv/2 is not empty: it holds theirs") {
		t.Errorf("what others have in an old release: failed %t, told %s", o.Failed, got)
	}
}
