package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

func run() *states.StateRun {
	return &states.StateRun{Format: states.Format, Host: "host", Revision: "sha256:1", Invocations: []states.Invocation{{
		Address: "file.a", State: "file.a", Parts: []states.Part{{
			Address: "file.a", Type: "file", Key: "/a", Ensure: states.Present, Sensitive: []string{"content"},
			Values: map[string]any{"path": "/a", "content": "the <secret>"},
		}},
	}}}
}

func start(t *testing.T, f *journal.Folder, m journal.Meta) *journal.Run {
	t.Helper()
	m.Run = run()
	r, err := f.Start(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t *testing.T, dir string) *journal.Folder {
	t.Helper()
	f, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func finish(t *testing.T, r *journal.Run, e journal.End) {
	t.Helper()
	if err := r.Finish(e); err != nil {
		t.Fatal(err)
	}
}

func events(t *testing.T, f *journal.Folder, id string) (out []states.Event) {
	t.Helper()
	for ev, err := range f.Events(id) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

func TestRunIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "state")
	f := open(t, dir)
	r := start(t, f, journal.Meta{Sources: map[string]journal.Source{"file.a": {File: "site.hcl", Line: 3, Column: 1}}})
	if s, err := f.Status(""); err != nil || s.State != journal.Running || s.Run != r.ID() || s.PID != os.Getpid() {
		t.Errorf("while running: %+v, %v", s, err)
	}
	for _, ev := range []states.Event{{Seq: 1, Type: states.EventRun, Format: states.EventFormat}, {Seq: 2, Type: states.EventSummary}} {
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := events(t, f, r.ID()[:8]); len(got) != 2 || got[1].Seq != 2 {
		t.Errorf("events after Sync: %+v", got)
	}
	if err := r.Output("file.a", "stdout", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "runs", r.ID())
	secrets, err := os.ReadFile(filepath.Join(folder, "secrets.json"))
	if err != nil || !strings.HasPrefix(string(secrets), `{"values":{"file.a":{"content":"the <secret>"}},"sum":"`) {
		t.Errorf("secrets %s, %v", secrets, err)
	}
	finish(t, r, journal.End{State: journal.Done, Counts: states.Counts{Changed: 1}, Report: &states.Report{Ready: true}})
	if _, err := os.Stat(filepath.Join(folder, "secrets.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("secrets.json after a clean end: %v", err)
	}
	s, err := f.Status("")
	if err != nil || s.State != journal.Done || s.Counts.Changed != 1 || !s.Report.Ready || s.Ended.Before(s.Started) {
		t.Errorf("at the end: %+v, %v", s, err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "run.json"))
	if err != nil || strings.Contains(string(data), "secret>") {
		t.Errorf("run.json: %s, %v", data, err)
	}
	var back states.StateRun
	want := run()
	want.Invocations[0].Parts[0].Values["content"] = journal.Masked
	if err := json.Unmarshal(data, &back); err != nil || back.Invocations[0].Parts[0].Values["content"] != journal.Masked || back.Revision != want.Revision {
		t.Errorf("run.json read back: %+v, %v", back, err)
	}
	if out, err := os.ReadFile(filepath.Join(folder, "output", journal.OutputName("file.a", "stdout"))); string(out) != "hello" {
		t.Errorf("output %q, %v", out, err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if info, statErr := d.Info(); err == nil && statErr == nil && info.Mode().Perm()&0o077 != 0 && path != dir {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOneApplyAtATime(t *testing.T) {
	dir := t.TempDir()
	r := start(t, open(t, dir), journal.Meta{})
	_, err := open(t, dir).Start(t.Context(), journal.Meta{Run: run()})
	var locked *journal.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Run != r.ID() {
		t.Fatalf("a second start: %v", err)
	}
	if _, err := open(t, dir).Clean(r.ID()); err == nil {
		t.Error("a run in progress was cleaned")
	}
	finish(t, r, journal.End{State: journal.Done})
	finish(t, start(t, open(t, dir), journal.Meta{}), journal.End{State: journal.Done})
}

// IDs go on counting, whatever was removed.
func TestIDsSort(t *testing.T) {
	f := open(t, t.TempDir())
	var ids []string
	for range 4 {
		r := start(t, f, journal.Meta{Keep: 2})
		ids = append(ids, r.ID())
		finish(t, r, journal.End{State: journal.Failed})
	}
	if !slices.IsSorted(ids) {
		t.Errorf("ids %v", ids)
	}
	list, err := f.List()
	if err != nil || len(list) != 2 || list[1].Run != ids[3] {
		t.Errorf("kept %+v, %v", list, err)
	}
	for _, id := range ids[2:] {
		if _, err := f.Clean(id); err != nil {
			t.Error(err)
		}
	}
	r := start(t, f, journal.Meta{})
	if r.ID() <= ids[3] {
		t.Errorf("%s does not come after %s", r.ID(), ids[3])
	}
	finish(t, r, journal.End{State: journal.Done})
}

// A run that is the same as the one before shares its run.json; another does
// not, nor one that a crash may have torn.
func TestSameRunIsShared(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	inode := func(change func(*states.StateRun)) fs.FileInfo {
		m := journal.Meta{Run: run()}
		change(m.Run)
		r, err := f.Start(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, r, journal.End{State: journal.Done, Changed: true})
		path := filepath.Join(dir, "runs", r.ID(), "run.json")
		data, err := os.ReadFile(path)
		var back states.StateRun
		if err != nil || json.Unmarshal(data, &back) != nil || back.Revision != m.Run.Revision {
			t.Fatalf("run.json: %s, %v", data, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := inode(func(*states.StateRun) {})
	if !os.SameFile(first, inode(func(*states.StateRun) {})) {
		t.Error("the same run is written twice")
	}
	other := inode(func(r *states.StateRun) { r.Revision = "sha256:2" })
	if os.SameFile(first, other) {
		t.Error("another revision shares the file")
	}
	lock := filepath.Join(dir, "lock")
	data, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	data = regexp.MustCompile(`"boot":"[^"]*"`).ReplaceAll(data, []byte(`"boot":"another"`))
	if err := os.WriteFile(lock, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.SameFile(other, inode(func(r *states.StateRun) { r.Revision = "sha256:2" })) {
		t.Error("shared over a boot")
	}
}

// What a crash leaves can be read: no status, a torn last event, a dead holder.
func TestAfterACrash(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	r := start(t, f, journal.Meta{})
	finish(t, r, journal.End{State: journal.Running}) // the process is gone without a word
	file := filepath.Join(dir, "runs", r.ID(), "events.jsonl")
	if err := os.WriteFile(file, []byte("{\"seq\":1,\"type\":\"run\"}\n{\"seq\":2,\"ty"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := events(t, f, ""); len(got) != 1 {
		t.Errorf("events %+v", got)
	}
	if s, err := f.Status(""); err != nil || s.State != journal.Interrupted {
		t.Errorf("status %+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runs", r.ID(), "status.json"), []byte("{\"run\": 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := f.List(); err != nil || len(list) != 1 || list[0].State != journal.Damaged || list[0].Run != r.ID() {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := os.Remove(filepath.Join(dir, "runs", r.ID(), "status.json")); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Status(""); err != nil || s.State != journal.Interrupted || s.Run != r.ID() {
		t.Errorf("status %+v, %v", s, err)
	}
}

func TestOtherFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "format"), []byte("tenet.state/99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(dir); err == nil || !strings.Contains(err.Error(), "tenet.state/99") {
		t.Errorf("opened: %v", err)
	}
}

func TestNoRun(t *testing.T) {
	f := open(t, t.TempDir())
	for _, id := range []string{"", "00000001", "../../etc"} {
		if _, err := f.Status(id); !errors.Is(err, journal.ErrNoRun) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func ExampleFolder_Start() {
	dir, err := os.MkdirTemp("", "tenet")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	folder, err := journal.Open(dir)
	if err != nil {
		panic(err)
	}
	record, err := folder.Start(context.Background(), journal.Meta{Run: run()})
	if err != nil {
		panic(err)
	}
	// Hand record to runtime.Apply as Options.Journal, then:
	if err := record.Finish(journal.End{State: journal.Done}); err != nil {
		panic(err)
	}
	status, err := folder.Status("")
	if err != nil {
		panic(err)
	}
	fmt.Println(status.State)
	// Output: done
}
