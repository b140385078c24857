//go:build lab

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/packages/git/gittest"
	"github.com/tenetcm/tenet/runtime/source"
)

// followed is a site in a repository, and what a watch of it does to a folder.
type followed struct {
	*testing.T
	repository *gittest.Repository
	out        string // where the site writes
	state      string
	program    string // that reports go to
	reports    string
	text       string // what the last watch has written
}

func newFollowed(t *testing.T) *followed {
	f := &followed{T: t, repository: gittest.New(t), out: t.TempDir(), state: t.TempDir(), program: filepath.Join(t.TempDir(), "report")}
	f.reports = f.program + ".log"
	if err := os.WriteFile(f.program, []byte("#!/bin/sh\ncat >> "+f.reports+"\necho >> "+f.reports+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return f
}

// commit makes the site that of these components, each of which writes a file.
func (f *followed) commit(components ...string) string {
	f.Helper()
	files := map[string]string{"sites/a/part/main.hcl": "variable \"path\" {}\nfile \"f\" {\n path = var.path\n content = \"x\"\n}\n"}
	text := "site {\n name = \"followed\"\n prune = true\n}\n"
	for _, c := range components {
		name, path, _ := strings.Cut(c, "=")
		if path == "" {
			path = filepath.Join(f.out, name)
		}
		text += fmt.Sprintf("component %q {\n source = \"./part\"\n vars = { path = %q }\n}\n", name, path)
	}
	files["sites/a/site.hcl"] = text
	return f.repository.Commit(gittest.Commit{Files: files, Time: time.Now()})
}

// watch watches for some rounds, and gives the exit status.
func (f *followed) watch(rounds int, more ...string) int {
	f.Helper()
	var out bytes.Buffer
	args := append([]string{"watch", "--yes", "--rounds", fmt.Sprint(rounds), "--interval", "1ms", "--poll", "1ms", "--state-dir", f.state, "--report", f.program}, more...)
	exit := Main(append(args, "git::"+f.repository.URL()+"//sites/a?ref=main"), Environment{In: strings.NewReader(""), Out: &out, Err: &out, Environ: os.Environ()})
	f.text = out.String()
	return exit
}

// reportPhases gives what the program was told since the last call: phases of all, and of components.
func (f *followed) reportPhases() (list []string) {
	f.Helper()
	data, err := os.ReadFile(f.reports)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		var r source.Record
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			f.Fatalf("%q: %v", line, err)
		}
		text := string(r.Phase) + ":"
		for _, c := range r.Components {
			text += " " + c.Name + "=" + string(c.Phase)
		}
		list = append(list, text)
	}
	if err := os.Remove(f.reports); err != nil {
		f.Fatal(err)
	}
	return list
}

func (f *followed) expect(has string, told ...string) {
	f.Helper()
	var names []string
	entries, err := os.ReadDir(f.out)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != has {
		f.Errorf("there is %q, and not %q\n%s", got, has, f.text)
	}
	if got := f.reportPhases(); !slices.Equal(got, told) {
		f.Errorf("told was\n%s\nand not\n%s\n%s", strings.Join(got, "\n"), strings.Join(told, "\n"), f.text)
	}
}

// A machine follows a repository: what is new is applied, what does not load is not, and what became of each revision is told.
func TestWatchRepository(t *testing.T) {
	f := newFollowed(t)
	f.commit("web", "db")
	if exit := f.watch(2); exit != exitDone {
		t.Fatalf("status %d\n%s", exit, f.text)
	}
	f.expect("db web", "pending: db=pending web=pending", "installing: db=installing web=installing", "installed: db=installed web=installed")

	// Another process, and nothing new.
	if exit := f.watch(2); exit != exitDone {
		t.Fatalf("status %d\n%s", exit, f.text)
	}
	f.expect("db web")

	// A component goes: its file is removed.
	f.commit("web")
	if exit := f.watch(2); exit != exitDone {
		t.Fatalf("status %d\n%s", exit, f.text)
	}
	f.expect("web", "removing: db=removing web=pending", "removing: db=removing web=installing", "installed: db=removed web=installed")

	// What does not load leaves the former one, and the error names file and line.
	f.repository.Commit(gittest.Commit{Files: map[string]string{"sites/a/site.hcl": "site {\n  name = \"followed\"\n}\nfile \"x\" {\n"}, Time: time.Now()})
	if exit := f.watch(2); exit == exitDone || !strings.Contains(f.text, "rejected") || !strings.Contains(f.text, "site.hcl:") {
		t.Errorf("status %d, and it tells\n%s", exit, f.text)
	}
	f.expect("web", "failed:")
	if r := f.record(); r.Phase != source.Installed || r.Rejected == nil || r.Rejected.Phase != source.Failed || !strings.Contains(r.Rejected.Message, "site.hcl:") {
		t.Errorf("the record is %+v", r)
	}

	// One that fails on the way is told with its place.
	f.commit("web", "bad=/proc/nowhere/file", "cache")
	f.watch(2)
	told := f.reportPhases()
	if len(told) == 0 || !strings.HasPrefix(told[len(told)-1], "failed:") || !strings.Contains(told[len(told)-1], "bad=failed") {
		t.Errorf("told was\n%s\n%s", strings.Join(told, "\n"), f.text)
	}
	if r := f.record(); r.Rejected != nil || !strings.HasPrefix(r.Source, "component.bad.file") {
		t.Errorf("the record is %+v", r)
	}
	if out := f.status(); !strings.Contains(out, "follows     git::") || !strings.Contains(out, "component bad: failed: component.bad.file") || !strings.Contains(out, "component web: ") {
		t.Errorf("tenet status tells\n%s", out)
	}
	f.commit("web", "cache")
	f.watch(3)
	if told := f.reportPhases(); len(told) == 0 || told[len(told)-1] != "installed: bad=removed cache=installed web=installed" {
		t.Errorf("told was\n%s\n%s", strings.Join(told, "\n"), f.text)
	}

	// Who only looks has installed nothing.
	f.commit("web", "cache", "more")
	f.watch(2, "--plan-only", "--yes=false")
	if told := f.reportPhases(); len(told) == 0 || !strings.HasPrefix(told[len(told)-1], "pending:") {
		t.Errorf("told was\n%s\n%s", strings.Join(told, "\n"), f.text)
	}
	f.expect("cache web")

	// In a downtime it is not asked, and that is told.
	downtime := "2020-01-01T00:00:00Z/2999-01-01T00:00:00Z moving house"
	f.commit("web")
	f.watch(2, "--downtime", downtime)
	if out := f.status("--json"); !strings.Contains(out, `"closed": "moving house"`) || strings.Contains(out, `"away"`) {
		t.Errorf("tenet status tells\n%s", out)
	}
	f.expect("cache more web", "installing: cache=installing more=installing web=installing", "installed: cache=installed more=installed web=installed")
}

// status is what tenet status says of it.
func (f *followed) status(more ...string) string {
	f.Helper()
	var out bytes.Buffer
	if exit := Main(append([]string{"status", "--state-dir", f.state}, more...), Environment{In: strings.NewReader(""), Out: &out, Err: &out, Environ: os.Environ()}); exit != exitDone {
		f.Errorf("tenet status: %d\n%s", exit, out.String())
	}
	return out.String()
}

// record is what the state folder says.
func (f *followed) record() (r source.Record) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join(f.state, "sources", "*", "report.json"))
	if err != nil || len(names) != 1 {
		f.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// A repository that cannot be asked, and of which nothing is there, is no success; and files are named from where the command is.
func TestWatchNothing(t *testing.T) {
	f := newFollowed(t)
	if exit := f.watch(1); exit == exitDone || !strings.Contains(f.text, "away") {
		t.Errorf("status %d\n%s", exit, f.text)
	}
	if exit := f.watch(1, "--signers", "nowhere"); exit != exitUsage || !strings.Contains(f.text, "--signers") {
		t.Errorf("status %d\n%s", exit, f.text)
	}
}

// A repository whose objects are named by SHA-256 is followed as any other one, with signatures; one that is made anew with the other hash is refused where signatures count.
func TestWatchSHA256(t *testing.T) {
	f := newFollowed(t)
	f.repository.Init("sha256")
	key, line := gittest.Key(t, "alice@example.org")
	signers := gittest.Signers(t, line)
	site := func(name string) map[string]string {
		return map[string]string{"sites/a/site.hcl": fmt.Sprintf("file %q {\n content = \"x\"\n}\n", filepath.Join(f.out, name))}
	}
	for n, name := range []string{"one", "two"} {
		commit := f.repository.Commit(gittest.Commit{Files: site(name), Key: key, Time: time.Now().Add(time.Duration(n) * time.Second)})
		if exit := f.watch(2, "--signers", signers); exit != exitDone || len(commit) != 64 || f.record().Revision.ID != commit {
			t.Fatalf("status %d, and %+v counts\n%s", exit, f.record(), f.text)
		}
	}
	f.repository.Commit(gittest.Commit{Files: site("unsigned")})
	if exit := f.watch(2, "--signers", signers); exit == exitDone || !strings.Contains(f.text, "is not signed") {
		t.Errorf("status %d\n%s", exit, f.text)
	}
	f.repository.Init("sha1")
	f.repository.Commit(gittest.Commit{Files: site("anew"), Key: key, Time: time.Now()})
	if exit := f.watch(2, "--signers", signers); exit == exitDone || !strings.Contains(f.text, "does not come after") {
		t.Errorf("status %d\n%s", exit, f.text)
	}
}
