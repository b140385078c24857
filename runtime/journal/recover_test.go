package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// meta is of a site with a place.
func meta() journal.Meta { return journal.Meta{Run: run(), Origin: "/srv/site"} }

// begun are the events of a run which dies in a part.
func begun() []states.Event {
	return []states.Event{
		{Seq: 1, Type: states.EventRun, Format: states.EventFormat, Boot: "boot"},
		{Seq: 2, Type: states.EventBegin, Address: "file.a", Part: "file", Key: "/a", Action: states.Update, Handlers: []string{"command.h"}},
		{Seq: 3, Type: states.EventPart, Address: "file.a", Outcome: states.Changed, Owes: []string{"command.h"}},
		{Seq: 4, Type: states.EventBegin, Address: "file.b", Part: "file", Key: "/b", Handlers: []string{"command.i"}},
	}
}

// dies starts a run, appends the events, and leaves it as a dead process does.
func dies(t *testing.T, f *journal.Folder, m journal.Meta, list ...states.Event) string {
	t.Helper()
	r, err := f.Start(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range list {
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.Flush(), r.Abandon()); err != nil {
		t.Fatal(err)
	}
	return r.ID()
}

func ledger(t *testing.T, f *journal.Folder) *journal.Ledger {
	t.Helper()
	l, err := f.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// names gives what a Ledger holds, in short.
func names(l *journal.Ledger) (out []string) {
	for _, d := range l.Debts {
		out = append(out, d.Site+" owes "+d.Handler+" to "+d.Notifier+", "+string(d.Why))
	}
	for _, b := range l.Unknown {
		out = append(out, b.Site+" began "+b.Address)
	}
	return out
}

func same(t *testing.T, what string, got any, want ...string) {
	t.Helper()
	list, ok := got.([]string)
	if l, isLedger := got.(*journal.Ledger); isLedger {
		list, ok = names(l), true
	}
	if !ok || strings.Join(list, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
}

// left is what begun leaves.
func left() []string {
	return []string{
		"/srv/site owes command.h to file.a, changed",
		"/srv/site owes command.i to file.b, unknown",
		"/srv/site began file.b",
	}
}

// A run whose process has died is closed by the next one: it was interrupted, its
// torn event is cut, and what it has left is known from then on.
func TestDeadRunIsClosed(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	id := dies(t, f, meta(), begun()...)
	path := filepath.Join(dir, "runs", id, "events.jsonl")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, `{"seq":5,"type":"part","addr`...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		".tenet-0123456789abcdef", "runs/.tenet-00000009-abcdef/x", "runs/" + id + "/run.json.new", "runs/" + id + "/.tenet-00000000000000ff",
		// What is another's stays.
		"site.hcl.new", "backup.new/x", ".tenet-notes/x", ".tenet-0123456789abcdef.txt", "runs/.tenet-mine/x",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "before", ledger(t, f), left()...)
	r, err := f.Start(t.Context(), meta())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "at the start", r.Ledger(), left()...)
	if got, err := os.ReadFile(path); err != nil || string(got) != string(whole) {
		t.Errorf("events are %q, %v", got, err)
	}
	s, err := f.Status(id)
	if err != nil || s.State != journal.Interrupted || s.Error != "its process was gone" || s.Origin != "/srv/site" || s.Started.IsZero() {
		t.Errorf("status %+v, %v", s, err)
	}
	finish(t, r, journal.End{State: journal.Done})
	same(t, "afterwards", ledger(t, f), left()...)
	var stays []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), ".tenet-") || strings.HasSuffix(d.Name(), ".new") {
			stays = append(stays, d.Name())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	same(t, "temporary", stays, ".tenet-0123456789abcdef.txt", ".tenet-notes", "backup.new", ".tenet-mine", "site.hcl.new")
}

// What a run makes up for is cleared; that of another site stays.
func TestDebtsArePaid(t *testing.T) {
	f := open(t, t.TempDir())
	dies(t, f, meta(), begun()...)
	other := meta()
	other.Origin = "/srv/other"
	dies(t, f, other, begun()[:3]...)
	r, err := f.Start(t.Context(), meta())
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []states.Event{
		{Seq: 1, Type: states.EventRun, Format: states.EventFormat},
		{Seq: 2, Type: states.EventPart, Address: "file.b", Outcome: states.Unchanged},
		{Seq: 3, Type: states.EventStart, Address: "command.h"},
		{Seq: 4, Type: states.EventInvocation, Address: "command.h", Outcome: states.Changed},
	} {
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, r, journal.End{State: journal.Done, Changed: true})
	want := []string{"/srv/site owes command.i to file.b, unknown", "/srv/other owes command.h to file.a, changed"}
	same(t, "left", ledger(t, f), want...)
	same(t, "of one", ledger(t, f).Of("/srv/other"), want[1:]...)
}

// A run in progress may still end what it has begun.
func TestLedgerOfARunInProgress(t *testing.T) {
	f := open(t, t.TempDir())
	r, err := f.Start(t.Context(), meta())
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range begun() {
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	same(t, "while running", ledger(t, f), left()[0])
	finish(t, r, journal.End{State: journal.Interrupted})
	same(t, "at the end", ledger(t, f), left()...)
}

// Without the sum, or with a damaged one, what is kept is added up again.
func TestDamagedSum(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	dies(t, f, meta(), begun()...)
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
	owed := filepath.Join(dir, "owed.json")
	whole, err := os.ReadFile(owed)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole)-1; n += 7 {
		if err := os.WriteFile(owed, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		same(t, "torn", ledger(t, f), left()...)
	}
	if err := os.Remove(owed); err != nil {
		t.Fatal(err)
	}
	r := start(t, f, meta())
	same(t, "removed", r.Ledger(), left()...)
	finish(t, r, journal.End{State: journal.Done})
	if err := os.WriteFile(owed, []byte(`{"format":"tenet.owed/9"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Ledger(); err == nil || !strings.Contains(err.Error(), "tenet.owed/9") {
		t.Errorf("of a newer format: %v", err)
	}
	if _, err := f.Start(t.Context(), meta()); err == nil || !strings.Contains(err.Error(), "tenet.owed/9") {
		t.Errorf("started on a newer format: %v", err)
	}
}

// Where an event cannot be read, what was begun before is unknown, and that is
// said once.
func TestDamagedEvents(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	id := dies(t, f, meta(), begun()...)
	path := filepath.Join(dir, "runs", id, "events.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	lines[2] = "{\"seq\":3,\x00\n"
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"/srv/site owes command.h to file.a, unknown", "/srv/site began file.a"}
	l := ledger(t, f)
	same(t, "left", l, want...)
	if len(l.Damaged) != 1 || !strings.Contains(l.Damaged[0], id) {
		t.Errorf("said %q", l.Damaged)
	}
	r := start(t, f, meta())
	if l := r.Ledger(); len(l.Damaged) != 1 {
		t.Errorf("said at the start: %q", l.Damaged)
	}
	finish(t, r, journal.End{State: journal.Done})
	if l := ledger(t, f); len(l.Damaged) != 0 {
		t.Errorf("said again: %q", l.Damaged)
	}
	same(t, "at last", ledger(t, f), want...)
}

// However long what stands in a status before the report, none of it is lost.
func TestLongStatusIsRead(t *testing.T) {
	f := open(t, t.TempDir())
	m := meta()
	m.Modules = []journal.Modules{{Dir: "/srv/site", Files: slices.Repeat([]string{"modules/a.star"}, 10000)}}
	id := dies(t, f, m, begun()...)
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
	if s, err := f.Status(id); err != nil || s.State != journal.Interrupted || s.Origin != "/srv/site" || len(s.Modules) != 1 {
		t.Errorf("%s of %s, %v", s.State, s.Origin, err)
	}
}

// Whose debts they are is known though the status is lost: it is not synced before
// the first act, and the events are.
func TestLostStatus(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	id := dies(t, f, meta(), begun()...)
	for _, text := range []string{"", "\x00\x00\x00", `{"run":`} {
		if err := os.WriteFile(filepath.Join(dir, "runs", id, "status.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		same(t, "left", ledger(t, f), left()...)
	}
	r := start(t, f, meta())
	same(t, "at the start", r.Ledger(), left()...)
	finish(t, r, journal.End{State: journal.Done})
	if s, err := f.Status(id); err != nil || s.State != journal.Interrupted {
		t.Errorf("status %+v, %v", s, err)
	}
}
