package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// managedHost is a machine in memory with a state folder.
type managedHost struct {
	*host.Memory
	folder *journal.Folder
}

func newManaged(t testing.TB) *managedHost {
	t.Helper()
	dir := stateDir(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left in memory is only untidy
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &managedHost{host.NewMemory(), folder}
}

// apply applies a site of one file. One that dies is not seen to end.
func (m *managedHost) apply(t testing.TB, site string, dies bool) outcome {
	t.Helper()
	run := compile(t, modules.Standard(), site).Run
	record, err := m.folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	o := carry(t, runtime.Apply, run, runtime.Options{Host: m.Memory, Journal: record})
	if dies {
		err = errors.Join(record.Flush(), record.Abandon())
	} else {
		err = record.Finish(journal.End{State: journal.Done})
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (m *managedHost) plan(t testing.TB, site string) outcome {
	t.Helper()
	managed, err := m.folder.Managed()
	if err != nil {
		t.Fatal(err)
	}
	return carry(t, runtime.Plan, compile(t, modules.Standard(), site).Run, runtime.Options{Host: m.Memory, Managed: managed})
}

// holds lists what a site has created, claims in parentheses.
func (m *managedHost) holds(t testing.TB, site string) string {
	t.Helper()
	managed, err := m.folder.Managed()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, c := range managed.Holding(site).Entries() {
		key := c.Key
		if c.Claim {
			key = "(" + key + ")"
		}
		list = append(list, key)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// orphanList lists the orphans that events name: those that are removed with a minus,
// those that stay with the reason.
func (o outcome) orphanList() string {
	var list []string
	for _, ev := range o.events {
		if ev.Type != states.EventOrphan {
			continue
		}
		text := ev.Key
		if ev.Action == states.Remove {
			text = "-" + text
		}
		if ev.Reason != "" {
			text += " (" + ev.Reason + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

const shop = "site {\n name = \"shop\"\n prune = true\n}\n"

// file declares a file in a state of its own.
func fileState(name, path string, more ...string) string {
	return fmt.Sprintf("state %q {\n %s\n file \"f\" {\n path = %q\n content = \"x\"\n }\n}\n", name, strings.Join(more, "\n"), path)
}

func TestOrphansInReverseOfTheirRequirements(t *testing.T) {
	m := newManaged(t)
	all := shop + fileState("a", "/a") + fileState("b", "/b", "require = [state.a]") + fileState("c", "/c", "require = [state.b]")
	m.apply(t, all, false)
	// What the others required is made anew, and so the youngest.
	if err := m.Remove("/a"); err != nil {
		t.Fatal(err)
	}
	m.apply(t, all, false)
	o := m.plan(t, shop)
	if got, want := o.orphanList(), "-/c, -/b, -/a"; got != want {
		t.Errorf("removed %s, want %s", got, want)
	}
	if row := o.row(`orphan.file["/c"]`); !strings.HasPrefix(row, "remove (was state.c.file.f, created by run 00000001-") {
		t.Errorf("row %q", row)
	}
	m.apply(t, shop, false)
	if m.holds(t, "shop") != "" {
		t.Errorf("holds %s", m.holds(t, "shop"))
	}
}

func TestDeclaredThoughNotInTheRun(t *testing.T) {
	m := newManaged(t)
	all := shop + fileState("a", "/a") + fileState("b", "/b") + fileState("h", "/h", "lazy = true")
	m.apply(t, strings.Replace(all, "lazy = true", "", 1), false)
	for name, site := range map[string]string{
		"left out":    strings.Replace(all, "state \"a\" {", "state \"a\" {\n when = false", 1),
		"a part":      strings.Replace(all, "path = \"/a\"", "path = \"/a\"\n when = false", 1),
		"idle":        all,
		"absent":      strings.Replace(all, "state \"a\" {", "state \"a\" {\n ensure = \"absent\"", 1),
		"needs a run": strings.Replace(all, "state \"a\" {", "state \"a\" {\n param \"p\" {}\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.plan(t, site).orphanList(); got != "" {
				t.Errorf("no longer declared: %s", got)
			}
		})
	}
}

// A key that only the host knows may be that of what the part has made before, and
// that of a part that has just got its name.
func TestLateKeysAreDeclared(t *testing.T) {
	m := newManaged(t)
	m.Handle("name", func(_ context.Context, _ host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte("late")}, nil
	})
	late := `command "name" {
		argv = ["name"]
		plan = true
	}
	`
	part := func(name string) string {
		return fmt.Sprintf("file %q {\n path = \"/${command.name.stdout}\"\n content = \"x\"\n}\n", name)
	}
	m.apply(t, shop+late+part("one")+fileState("b", "/b"), false)
	if got := m.holds(t, "shop"); got != "/b /late" {
		t.Fatalf("holds %s", got)
	}
	if got := m.plan(t, shop+late+part("one")+fileState("b", "/b")).orphanList(); got != "" {
		t.Errorf("the same: %s", got)
	}
	if got := m.plan(t, shop+late+part("one")).orphanList(); got != "-/b" {
		t.Errorf("without b: %s", got)
	}
	if got := m.plan(t, shop+late+part("two")).orphanList(); got != "" {
		t.Errorf("renamed: %s", got)
	}
	m.apply(t, shop+late+part("two"), false) // now it is known
	if got := m.plan(t, shop+late+part("two")).orphanList(); got != "-/b" {
		t.Errorf("renamed, and applied: %s", got)
	}
}

func TestWhatIsDeclaredNeedsAnOrphan(t *testing.T) {
	const line = "line \"l\" {\n path = \"/conf/a\"\n line = \"x = 1\"\n create = true\n}\n"
	dir := "state \"d\" {\n directory \"d\" {\n path = \"/conf\"\n }\n}\n"
	for name, c := range map[string]struct{ before, after, told string }{
		"the directory of a file":  {dir + fileState("a", "/conf/a"), fileState("a", "/conf/a"), "/conf (state.a.file.f is in it)"},
		"the file of a line":       {dir + fileState("a", "/conf/a"), dir + line, "/conf/a (line.l needs it)"},
		"a line in a whole file":   {dir + line, dir + fileState("a", "/conf/a"), ""},
		"another type in place":    {dir + fileState("a", "/conf/a"), dir + "symlink \"/conf/a\" {\n target = \"b\"\n}\n", "-/conf/a"},
		"an act that makes a file": {dir + fileState("a", "/conf/a"), dir + "command \"c\" {\n argv = [\"c\"]\n creates = \"/conf/a\"\n}\n", "/conf/a (command.c needs it)"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManaged(t)
			m.apply(t, shop+c.before, false)
			o := m.plan(t, shop+c.after)
			if got := o.orphanList(); got != c.told {
				t.Errorf("told %q, want %q", got, c.told)
			}
			if o.Failed {
				t.Error("the plan fails")
			}
			if o := m.apply(t, shop+c.after, false); o.Failed {
				t.Error("the apply fails")
			}
		})
	}
}

// What a part was told to do with what others have is not done once it is no longer
// declared.
func TestOrphansAreRemovedNarrowly(t *testing.T) {
	m := newManaged(t)
	mkdir(t, m, "/etc")
	write(t, m, "/etc/conf", "b = 1\n")
	m.apply(t, shop+"directory \"/d\" {\n force = true\n}\nline \"a\" {\n path = \"/etc/conf\"\n line = \"a = 1\"\n match = \"^a\"\n}\n", false)
	write(t, m, "/d/theirs", "")
	write(t, m, "/etc/conf", "b = 1\na = 1\na = 2\n")
	o := m.apply(t, shop, false)
	if row := o.row(`orphan.directory["/d"]`); !strings.HasPrefix(row, "failed") {
		t.Errorf("the directory: %s", row)
	}
	if got := content(t, m, "/etc/conf"); got != "b = 1\na = 2\n" {
		t.Errorf("the file: %q", got)
	}
}

// What stands in the place of something that the site had made is not its own.
func TestWhatIsSomethingElseStays(t *testing.T) {
	m := newManaged(t)
	m.apply(t, shop+fileState("a", "/a"), false)
	if err := m.Remove("/a"); err != nil {
		t.Fatal(err)
	}
	mkdir(t, m, "/a")
	for range 2 {
		o := m.apply(t, shop, false)
		if got, want := o.orphanList(), "/a (it cannot be looked at: /a is a directory, not a file)"; got != want || o.Failed {
			t.Errorf("told %q, failed %t", got, o.Failed)
		}
	}
	if info, err := m.Lstat("/a"); err != nil || info.Kind != host.Directory {
		t.Errorf("%v, %v", info, err)
	}
}

// A secret is not recorded, and what cannot be named without one is not managed.
func TestManagedHasNoSecrets(t *testing.T) {
	m := newManaged(t)
	o := m.apply(t, shop+"variable \"p\" {\n default = \"hunter22\"\n sensitive = true\n}\nfile \"/s\" {\n content = var.p\n validate = [\"true\", var.p]\n sensitive = true\n}\n", false)
	_ = o
	managed, err := m.folder.Managed()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range managed.Holding("shop").Entries() {
		if fmt.Sprint(c.Values) != "map[path:/s]" {
			t.Errorf("%v", c.Values)
		}
	}
}

// A run of a revision that is known to declare all that its site holds reads none of
// that, however much it is.
func TestSettledRunsDoNotReadWhatIsManaged(t *testing.T) {
	m := newManaged(t)
	m.apply(t, shop+fileState("a", "/a"), false)
	path := filepath.Join(m.folder.Dir(), "managed", "shop.jsonl")
	if err := os.WriteFile(path, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if o := m.apply(t, shop+fileState("a", "/a"), false); o.Counts.Unchanged != 1 {
			t.Errorf("%+v", o.Counts)
		}
	}
	m.plan(t, shop+fileState("a", "/a"))
	managed, err := m.folder.Managed()
	if err != nil {
		t.Fatal(err)
	}
	_, err = runtime.Plan(t.Context(), compile(t, modules.Standard(), shop).Run,
		runtime.Options{Host: m.Memory, Registry: modules.Standard(), Managed: managed})
	if err == nil || !strings.Contains(err.Error(), "what the site shop has created cannot be read") {
		t.Errorf("another revision: %v", err)
	}
}

// model is what is expected of files that sites and people make and remove.
type model struct {
	exists  map[string]bool
	created map[string]map[string]bool // by site and path
	claims  map[string]map[string]bool
}

// apply says what an apply of a site does.
func (m *model) apply(site string, declared []string, prune, dies bool) {
	for path := range maps.Clone(m.created[site]) {
		if slices.Contains(declared, path) {
			continue
		}
		other := map[string]string{"a": "b", "b": "a"}[site]
		switch {
		case m.created[other][path], !m.exists[path] && !m.claims[other][path]:
			delete(m.created[site], path)
		case m.claims[other][path]:
		case prune:
			delete(m.created[site], path)
			m.exists[path] = false
		}
	}
	for _, path := range declared {
		if !m.exists[path] {
			m.exists[path], m.created[site][path] = true, true
			delete(m.claims[site], path)
		}
	}
	if dies {
		return
	}
	m.claims[site] = map[string]bool{}
	for _, path := range declared {
		if other := map[string]string{"a": "b", "b": "a"}[site]; m.created[other][path] && !m.created[site][path] {
			m.claims[site][path] = true
		}
	}
}

// TestOrphansProperty: whatever sites declare and drop one after the other, and
// whatever people do between, what a site has created and nobody declares is gone
// after it was pruned, and nothing else.
func TestOrphansProperty(t *testing.T) {
	rapidtest.For(t, "20")
	paths := []string{"/p", "/q", "/r"}
	rapid.Check(t, func(rt *rapid.T) {
		m := newManaged(t)
		want := &model{map[string]bool{}, map[string]map[string]bool{"a": {}, "b": {}}, map[string]map[string]bool{"a": {}, "b": {}}}
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			switch path := rapid.SampledFrom(paths).Draw(rt, "path"); rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0: // somebody makes a file
				if !want.exists[path] {
					write(t, m, path, "theirs")
					want.exists[path] = true
				}
			case 1: // somebody removes one
				if want.exists[path] {
					if err := m.Remove(path); err != nil {
						rt.Fatal(err)
					}
					want.exists[path] = false
				}
			default:
				site := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "site")
				declared := rapid.SliceOfDistinct(rapid.SampledFrom(paths), func(p string) string { return p }).Draw(rt, "declared")
				prune, dies := rapid.Bool().Draw(rt, "prune"), rapid.IntRange(0, 3).Draw(rt, "dies") == 0
				source := fmt.Sprintf("site {\n name = %q\n prune = %t\n}\n", site, prune)
				for i, path := range declared {
					source += fmt.Sprintf("file \"f%d\" {\n path = %q\n content = \"x\"\n}\n", i, path)
				}
				m.apply(t, source, dies)
				want.apply(site, declared, prune, dies)
			}
			for _, path := range paths {
				if _, err := m.Lstat(path); (err == nil) != want.exists[path] {
					rt.Fatalf("%s: %v, want it to be there: %t", path, err, want.exists[path])
				}
			}
			for _, site := range []string{"a", "b"} {
				list := slices.Collect(maps.Keys(want.created[site]))
				for path := range want.claims[site] {
					list = append(list, "("+path+")")
				}
				slices.Sort(list)
				if got := m.holds(t, site); got != strings.Join(list, " ") {
					rt.Fatalf("%s holds %q, want %q", site, got, list)
				}
			}
		}
	})
}
