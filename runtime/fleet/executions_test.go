package fleet_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
)

func record(hosts int) fleet.Record {
	r := fleet.Record{Command: "tenet apply", Site: "shop", Origin: "desk:/srv/site", User: "ann"}
	for i := range hosts {
		r.Hosts = append(r.Hosts, fleet.RecordHost{
			Name: fmt.Sprint("m", i), Executor: "ssh", Address: "192.0.2.7", Port: 2222, User: "deploy",
			Become: "root", BecomeMethod: "doas", Options: []string{"ProxyJump=gate"},
		})
	}
	return r
}

// A record is there before anything is sent, and tells what is known at any moment.
func TestExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fleet.Executions{Dir: filepath.Join(t.TempDir(), "state", "executions")}
		if list, err := e.List(); len(list) != 0 || err != nil {
			t.Fatal(list, err)
		}
		x, err := e.New(record(3))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{6}$`).MatchString(x.ID()) || !fleet.IsExecution(x.ID()) {
			t.Error(x.ID())
		}
		load := func() *fleet.Record {
			t.Helper()
			r, err := e.Load(x.ID()[:17])
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := load(); r.Hosts[1].Name != "m1" || r.Hosts[1].Options[0] != "ProxyJump=gate" || r.Site != "shop" || !r.Ended.IsZero() || r.Started.IsZero() {
			t.Errorf("%+v", r)
		}
		for path, mode := range map[string]os.FileMode{e.Dir: 0o700, filepath.Join(e.Dir, x.ID()+".json"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Error(path, info.Mode(), err)
			}
		}
		_, list := machines(3, func(i int, m *simulated) {
			if i == 2 {
				m.refuse = func(int) error { return &dialError{text: "refused"} }
			}
			if i == 1 { // long enough to look at the record
				m.cut = func(n int) int { return max(3, 2+n) }
			}
		})
		time.AfterFunc(200*time.Millisecond, func() {
			if h := load().Hosts; h[0].Run != "r0" || h[0].Status != fleet.Done || h[1].Run != "r1" || h[1].Status != "" {
				t.Errorf("while it runs: %+v", h)
			}
		})
		mustRun(t, list, apply(), fleet.Options{Execution: x})
		if err := errors.Join(x.Close(), x.Close()); err != nil {
			t.Fatal(err)
		}
		r := load()
		if h := r.Hosts; h[1].Status != fleet.Done || h[2].Status != fleet.Unreachable || h[2].Run != "" || r.Ended.IsZero() {
			t.Errorf("%+v", r)
		}
		if left, _ := filepath.Glob(filepath.Join(e.Dir, ".*")); len(left) != 0 {
			t.Error(left)
		}
		if err := errors.Join(e.Remove(x.ID()), e.Remove(x.ID())); err != nil {
			t.Error(err)
		}
		var none *fleet.NotFoundError
		if _, err := e.Load(x.ID()); !errors.As(err, &none) {
			t.Error(err)
		}
		if err := e.Remove("../../etc/passwd"); !errors.As(err, &none) {
			t.Error(err)
		}
	})
}

// What hundreds say at once is written in a few goes.
func TestExecutionWritesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fleet.Executions{Dir: t.TempDir()}
		x, err := e.New(record(200))
		if err != nil {
			t.Fatal(err)
		}
		_, list := machines(200, nil)
		name := filepath.Join(e.Dir, x.ID()+".json")
		before, _ := os.Stat(name)
		mustRun(t, list, apply(), fleet.Options{Execution: x}) // no time passes
		if now, _ := os.Stat(name); !os.SameFile(before, now) {
			t.Error("it was written while they ran")
		}
		time.Sleep(time.Second)
		r, err := e.Load(x.ID())
		if err != nil || r.Hosts[199].Run != "r199" {
			t.Error(r, err)
		}
		x.Close()
	})
}

// Executions are listed as they were begun, also those of one second.
func TestExecutionsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fleet.Executions{Dir: t.TempDir()}
		var want, got []string
		for range 8 {
			x, err := e.New(record(1))
			if err != nil {
				t.Fatal(err)
			}
			x.Close()
			want = append(want, x.ID())
			time.Sleep(time.Millisecond)
		}
		list, err := e.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			got = append(got, r.ID)
		}
		equal(t, "executions", got, want)
	})
}

// Records that are damaged, foreign or of another version are said to be, and do not
// hide the others.
func TestExecutionsDamaged(t *testing.T) {
	e := &fleet.Executions{Dir: t.TempDir()}
	x, err := e.New(record(1))
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(e.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("20200101-000000-aaaaaa.json", "{")
	write("20200101-000000-aaaaab.json", `{"format":"tenet.execution/9","id":"20200101-000000-aaaaab"}`)
	write("20200101-000000-aaaaac.json", `{"format":"tenet.execution/1","id":"20200101-000000-aaaaab"}`)
	write("notes.json", "{}")
	if err := os.Symlink("/etc/passwd", filepath.Join(e.Dir, "20200101-000000-aaaaad.json")); err != nil {
		t.Fatal(err)
	}
	list, err := e.List()
	if len(list) != 1 || list[0].ID != x.ID() || err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Error(list, err)
	}
	if _, err := e.Load("20200101-000000"); err == nil || !strings.Contains(err.Error(), "3 executions") {
		t.Error(err)
	}
	if _, err := e.Load("20200101-000000-aaaaaa"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	if _, err := e.Load(""); err == nil {
		t.Error("the beginning of all")
	}
}

// Old records go, and halves that were never finished.
func TestExecutionsPruned(t *testing.T) {
	e := &fleet.Executions{Dir: t.TempDir()}
	young := time.Now().UTC().Add(-24 * time.Hour)
	for i := range 1005 {
		name := young.Add(time.Duration(i)*time.Second).Format("20060102-150405") + "-aaaaaa.json"
		if err := os.WriteFile(filepath.Join(e.Dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"20200101-000000-aaaaaa.json", ".old.tmp", ".new.tmp", "mine"} {
		if err := os.WriteFile(filepath.Join(e.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(e.Dir, ".old.tmp"), young, young); err != nil {
		t.Fatal(err)
	}
	x, err := e.New(record(1))
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	records, _ := filepath.Glob(filepath.Join(e.Dir, "2*.json"))
	if len(records) != 1000 || strings.Contains(records[0], "20200101") {
		t.Error(len(records), records[0])
	}
	for name, want := range map[string]bool{".old.tmp": false, ".new.tmp": true, "mine": true} {
		if _, err := os.Stat(filepath.Join(e.Dir, name)); (err == nil) != want {
			t.Error(name, err)
		}
	}
}

func TestIsExecution(t *testing.T) {
	for id, want := range map[string]bool{
		"20261121-220045-3fa9c1": true, "20261121-220045-3f": true, "20261121-": true,
		"20261121": false, "": false, "000012-3fa9c1": false, "20261121-220045-3fa9c1a": false, "2026112a-220045": false,
		"20261121_220045": false, "20261121-220045-3FA9C1": false,
	} {
		if fleet.IsExecution(id) != want {
			t.Errorf("%q", id)
		}
	}
}

// What an older version has written is read, with the statuses as they are called now.
func TestRecordOfFormatOne(t *testing.T) {
	e := &fleet.Executions{Dir: t.TempDir()}
	const id = "20260102-030405-abcdef"
	text := `{"format":"tenet.execution/1","id":"` + id + `","hosts":[{"name":"a","status":"left"},{"name":"b","status":"spared"},{"name":"c","status":"wrong"},{"name":"d","status":"done"},{"name":"e"}]}`
	if err := os.WriteFile(filepath.Join(e.Dir, id+".json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := e.Load(id)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []fleet.Status{fleet.Detached, fleet.Skipped, fleet.Invalid, fleet.Done, ""} {
		if r.Hosts[i].Status != want {
			t.Errorf("%s is %q, not %q", r.Hosts[i].Name, r.Hosts[i].Status, want)
		}
	}
	if r.Format != fleet.RecordFormat {
		t.Error(r.Format)
	}
}
