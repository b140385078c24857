package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// sharedMachine is a machine on which somebody else owns a folder, /home/app, and does
// something as soon as a check is tried.
type sharedMachine struct {
	*host.Local
	root    string
	passes  bool
	onCheck func()
}

// newShared makes one: what is to be kept from them is /etc/conf, and the folder that it
// is in. Their home is writable for all, as far as the host can tell.
func newShared(t *testing.T) *sharedMachine {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"home/app/conf": "theirs", "home/app/sub/conf": "theirs", "home/roots/conf": "root's", "home/roots/sub/conf": "root's", "etc/conf": "root's", "etc/sub/conf": "root's",
	} {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	local, err := host.NewLocal(host.LocalOptions{Root: root})
	if err = errors.Join(err, os.Chmod(root+"/home", 0o777)); err != nil {
		t.Fatal(err)
	}
	return &sharedMachine{Local: local, root: root}
}

func (s *sharedMachine) ForRun(string) host.Host { return s }

func (s *sharedMachine) Query(ctx context.Context, q host.Query) (host.Result, error) {
	return s.Run(ctx, q.Command)
}

func (s *sharedMachine) Run(context.Context, host.Command) (host.Result, error) {
	if do := s.onCheck; do != nil {
		s.onCheck = nil
		do()
	}
	if s.passes {
		return host.Result{}, nil
	}
	return host.Result{ExitCode: 1}, nil
}

// swaps are what they do with what they own, and how it is undone.
func (s *sharedMachine) swaps(t *testing.T) map[string][2]func() {
	at := func(name string) string { return filepath.Join(s.root, name) }
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	away := func() { must(os.Rename(at("home/app"), at("home/was"))) }
	back := func() { must(os.Rename(at("home/was"), at("home/app"))) }
	return map[string][2]func(){
		"a link to a folder": {
			func() { away(); must(os.Symlink("../etc", at("home/app"))) },
			func() { must(os.Remove(at("home/app"))); back() },
		},
		"an absolute link": {
			func() { away(); must(os.Symlink("/etc", at("home/app"))) },
			func() { must(os.Remove(at("home/app"))); back() },
		},
		"another folder of root's": {
			func() { away(); must(os.Rename(at("home/roots"), at("home/app"))) },
			func() { must(os.Rename(at("home/app"), at("home/roots"))); back() },
		},
	}
}

// untouched wants what is root's to be as it was.
func (s *sharedMachine) untouched(t *testing.T) {
	t.Helper()
	for _, name := range []string{"etc/conf", "etc/sub/conf", "home/roots/conf", "home/roots/sub/conf", "home/app/conf", "home/app/sub/conf"} {
		data, err := os.ReadFile(filepath.Join(s.root, name))
		if strings.HasPrefix(name, "home/app") && (err != nil || string(data) != "root's") {
			continue // their own
		}
		if err == nil && string(data) != "root's" || err != nil && strings.HasPrefix(name, "etc/") {
			t.Errorf("%s holds %q (%v)", name, data, err)
		}
	}
}

// theirSite changes what is theirs in each way in which it is put back.
const theirSite = `block "app" {
	confirm {
		timeout = "1ms"
		command = ["check"]
	}
	file "/home/app/conf" { content = "managed" }
	file "/home/app/new" { content = "managed" }
	file "/home/app/sub/conf" { ensure = "absent" }
	symlink "/home/app/link" { target = "managed" }
	directory "/home/app/made" {}
}
`

// apply carries out a site with a journal; it dies as soon as the check is tried.
func (s *sharedMachine) apply(t *testing.T, folder *journal.Folder, site string, dies bool) outcome {
	t.Helper()
	run := compile(t, modules.Standard(), site).Run
	record, err := folder.Start(t.Context(), journal.Meta{Run: run, Origin: "/site"})
	if err != nil {
		t.Fatal(err)
	}
	o := runtime.Options{Host: s, Journal: record, Past: record.Ledger(), Origin: "/site", Registry: modules.Standard()}
	if dies { // from then on it finds nothing that it could change, and records nothing
		home, away := s.root+"/home", s.root+"/away"
		s.onCheck = func() {
			if err := errors.Join(record.Flush(), record.Abandon(), os.Rename(home, away)); err != nil {
				t.Error(err)
			}
		}
		_, _ = runtime.Apply(t.Context(), run, o)
		if err := os.Rename(away, home); err != nil {
			t.Fatal(err)
		}
		return outcome{}
	}
	out := carry(t, runtime.Apply, run, o)
	if err := record.Finish(journal.End{State: journal.Failed, Changed: true}); err != nil {
		t.Error(err)
	}
	return out
}

// While a check fails, whoever owns a folder puts another in its place: nothing goes
// there; what was theirs goes back when the folder is there again.
func TestNothingIsPutBackElsewhere(t *testing.T) {
	for name := range newShared(t).swaps(t) {
		for _, dies := range []bool{false, true} {
			t.Run(map[bool]string{false: name, true: name + ", after a kill"}[dies], func(t *testing.T) {
				s := newShared(t)
				swap, back := s.swaps(t)[name][0], s.swaps(t)[name][1]
				folder, err := journal.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				var o outcome
				if dies {
					s.apply(t, folder, theirSite, true)
					swap()
					o = s.apply(t, folder, "file \"/other\" {}\n", false)
				} else {
					s.onCheck = swap
					o = s.apply(t, folder, theirSite, false)
				}
				s.untouched(t)
				end := o.confirmed()[len(o.confirmed())-1]
				if end.Outcome != "" || end.Error == nil || strings.Count(end.Error.Message, "somebody has put another directory") < 4 {
					t.Errorf("%+v %+v", end, end.Error)
				}
				if ledger, err := folder.Ledger(); err != nil || len(ledger.Unconfirmed) != 1 {
					t.Errorf("left %+v, %v", ledger, err)
				}
				back()
				s.apply(t, folder, "file \"/other\" {}\n", false)
				s.untouched(t)
				got := map[string]string{}
				for _, name := range []string{"conf", "new", "sub/conf", "link", "made"} {
					data, err := os.ReadFile(filepath.Join(s.root, "home/app", name))
					if got[name] = string(data); err != nil {
						got[name] = "-"
					}
				}
				if want := (map[string]string{"conf": "theirs", "new": "-", "sub/conf": "theirs", "link": "-", "made": "-"}); pretty(got) != pretty(want) {
					t.Errorf("their folder holds %v", got)
				}
				if ledger, err := folder.Ledger(); err != nil || len(ledger.Unconfirmed) > 0 {
					t.Errorf("left %+v, %v", ledger, err)
				}
			})
		}
	}
}

// What root alone may have put in the place of a folder is as good as that: it was, say,
// copied to another disk.
func TestPutBackIntoAFolderOfRoots(t *testing.T) {
	s := newShared(t)
	s.onCheck = func() {
		if err := errors.Join(os.Rename(s.root+"/etc/sub", s.root+"/etc/was"), os.Mkdir(s.root+"/etc/sub", 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := s.apply(t, folder, strings.ReplaceAll(theirSite, "/home/app", "/etc"), false)
	if end := o.confirmed()[2]; end.Outcome != states.Failed {
		t.Errorf("%+v %+v", end, end.Error)
	}
	s.untouched(t)
}

// A folder that the block itself has removed is another one when it is back.
func TestPutBackOfARemovedFolder(t *testing.T) {
	s := newShared(t)
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := s.apply(t, folder, `block "app" {
		confirm {
			timeout = "1ms"
			command = ["check"]
		}
		directory "/home/app" {
			ensure = "absent"
			force  = true
		}
	}
	`, false)
	if end := o.confirmed()[2]; end.Outcome != states.Failed {
		t.Errorf("%+v %+v", end, end.Error)
	}
	for _, name := range []string{"conf", "sub/conf"} {
		if data, err := os.ReadFile(filepath.Join(s.root, "home/app", name)); err != nil || string(data) != "theirs" {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
}

// givenAway is a shared machine on which the folder belongs to somebody else once the
// check is tried, as the block's own program may have it.
type givenAway struct {
	*sharedMachine
	owner   int  // 0: as it is
	ageless bool // its file system keeps no births
}

func (g *givenAway) ForRun(string) host.Host { return g }

func (g *givenAway) NoFollow() host.Host { return &givenAwayNoFollow{g.Local.NoFollow(), g} }

type givenAwayNoFollow struct {
	host.Host
	m *givenAway
}

func (s *givenAwayNoFollow) OpenDir(path string) (host.Dir, error) {
	d, err := s.Host.OpenDir(path)
	return &givenAwayDir{d, s.m, strings.TrimSuffix(path, "/.") == "/home/app"}, err
}

type givenAwayDir struct {
	host.Dir
	m     *givenAway
	isOne bool
}

func (d *givenAwayDir) Lstat(name string) (host.Info, error) {
	info, err := d.Dir.Lstat(name)
	info.Birth = time.Time{}
	if !d.m.ageless {
		info.Birth = time.Unix(0, int64(info.ID.Inode)) // this file system may keep none
	}
	if d.isOne && name == "." && d.m.owner != 0 {
		info.UID = d.m.owner
	}
	return info, err
}

// A folder that the block gave to somebody else is the same one. Where nobody knows when
// it was made, it may be another that has got its number.
func TestPutBackIntoAFolderGivenAway(t *testing.T) {
	for _, ageless := range []bool{false, true} {
		s := newShared(t)
		g := &givenAway{sharedMachine: s, ageless: ageless}
		s.onCheck = func() { g.owner = 4711 }
		run := compile(t, modules.Standard(), theirSite).Run
		end := carry(t, runtime.Apply, run, runtime.Options{Host: g, Origin: "/site"}).confirmed()[2]
		data, err := os.ReadFile(s.root + "/home/app/conf")
		if back := string(data) == "theirs"; err != nil || back == ageless || (end.Outcome == states.Failed) == ageless {
			t.Errorf("ageless %t: it holds %q, %v; %+v %+v", ageless, data, err, end, end.Error)
		}
	}
}

// moving is a shared machine on which something happens once a directory was listed.
type moving struct {
	*sharedMachine
	onList func()
}

func (m *moving) ForRun(string) host.Host { return m }

func (m *moving) NoFollow() host.Host { return &movingNoFollow{m.Local.NoFollow(), m} }

func (m *moving) ReadDir(path string) ([]host.Entry, error) { return m.listed(m.Local, path) }

func (m *moving) listed(h host.Host, path string) ([]host.Entry, error) {
	entries, err := h.ReadDir(path)
	if do := m.onList; do != nil && path == "/home/app" {
		m.onList = nil
		do()
	}
	return entries, err
}

type movingNoFollow struct {
	host.Host
	m *moving
}

func (s *movingNoFollow) ReadDir(path string) ([]host.Entry, error) { return s.m.listed(s.Host, path) }

// What a dead run has left in a folder of somebody else is removed there or nowhere.
func TestNothingIsCleanedElsewhere(t *testing.T) {
	m := &moving{sharedMachine: newShared(t)}
	const dead = "00000001-abcdef"
	temp := "/" + host.TempName(m.Local.ForRun(dead))
	for _, dir := range []string{"/home/app", "/etc"} {
		if err := os.WriteFile(m.root+dir+temp, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swapped := false
	m.onList = func() { swapped = true; m.swaps(t)["a link to a folder"][0]() }
	past := &journal.Ledger{Format: journal.LedgerFormat, Unknown: []states.Begun{
		{Site: "/site", Address: "file.conf", Type: "file", Key: "/home/app/conf", Action: states.Update, Run: dead},
	}}
	run := compile(t, modules.Standard(), "file \"/other\" {}\n").Run
	carry(t, runtime.Apply, run, runtime.Options{Host: m, Past: past, Origin: "/site"})
	if _, err := os.Stat(m.root + "/etc" + temp); err != nil || !swapped {
		t.Errorf("swapped %t; what is root's is gone: %v", swapped, err)
	}
}

// What is no longer declared is removed where it was made, or not at all.
func TestNothingIsPrunedElsewhere(t *testing.T) {
	s := newShared(t)
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const site = "site { name = \"shop\" }\n"
	applies := func(text string, prune bool) outcome {
		t.Helper()
		run := compile(t, modules.Standard(), site+text).Run
		run.Prune = prune
		record, err := folder.Start(t.Context(), journal.Meta{Run: run, Origin: "/site"})
		if err != nil {
			t.Fatal(err)
		}
		managed, err := record.Managed()
		if err != nil {
			t.Fatal(err)
		}
		o := carry(t, runtime.Apply, run, runtime.Options{Host: s, Journal: record, Past: record.Ledger(), Managed: managed, Origin: "/site"})
		if err := record.Finish(journal.End{State: journal.Done, Changed: true}); err != nil {
			t.Fatal(err)
		}
		return o
	}
	if err := os.Remove(s.root + "/home/app/conf"); err != nil {
		t.Fatal(err)
	}
	applies("file \"/home/app/conf\" { content = \"managed\" }\n", false)
	s.swaps(t)["a link to a folder"][0]()
	o := applies("file \"/other\" {}\n", true)
	if data, err := os.ReadFile(s.root + "/etc/conf"); err != nil || string(data) != "root's" {
		t.Errorf("/etc/conf holds %q, %v\n%s", data, err, pretty(o.events))
	}
	if text := pretty(o.events); !strings.Contains(text, "the link /home/app on the way to it") {
		t.Errorf("it is not told: %s", text)
	}
	s.swaps(t)["a link to a folder"][1]()
	applies("file \"/other\" {}\n", true)
	if _, err := os.Stat(s.root + "/home/app/conf"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was made is there still: %v", err)
	}
}
