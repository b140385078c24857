package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

const execution = "20260101-000000-abcdef"

// What was withdrawn is not begun on that host, nor gone on with; elsewhere it is.
func TestWithdrawn(t *testing.T) {
	f := open(t, t.TempDir())
	withdraw := func(execution string) {
		t.Helper()
		if err := f.Withdraw(execution, run().Host); err != nil {
			t.Fatal(err)
		}
	}
	withdraw(execution)
	r, err := f.Start(t.Context(), journal.Meta{Run: run(), Execution: execution})
	if _, ok := errors.AsType[*journal.WithdrawnError](err); !ok || r != nil {
		t.Fatalf("%v, %v", r, err)
	}
	if list, err := f.List(); err != nil || len(list) > 0 {
		t.Errorf("a run is recorded: %+v, %v", list, err)
	}
	elsewhere := run()
	elsewhere.Host = "another"
	for _, m := range []journal.Meta{{Run: elsewhere, Execution: execution}, {Run: run(), Execution: "20260101-000001-abcdef"}, {Run: run()}} {
		r, err := f.Start(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Append(states.Event{Seq: 1, Type: states.EventRun, Format: states.EventFormat}); err != nil {
			t.Fatal(err)
		}
		if err := r.Finish(journal.End{State: journal.Interrupted}); err != nil {
			t.Fatal(err)
		}
	}
	withdraw("20260101-000002-abcdef")
	if _, err := f.Resume(t.Context(), "", journal.Meta{Execution: "20260101-000002-abcdef"}); !errors.As(err, new(*journal.WithdrawnError)) {
		t.Errorf("it goes on: %v", err)
	}
	runs, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, was := range runs {
		if len(was.Resumptions) > 0 {
			t.Errorf("it is recorded that it goes on: %+v", was)
		}
	}
	if r, err := f.Resume(t.Context(), "", journal.Meta{Execution: "20260101-000003-abcdef"}); err != nil {
		t.Error(err)
	} else if err := r.Finish(journal.End{State: journal.Done}); err != nil {
		t.Error(err)
	}
}

// It is withdrawn after it was looked at whether it is, and before the run is recorded: who
// withdraws it finds no run then. What has begun in between does nothing.
func TestWithdrawnAsItBegins(t *testing.T) {
	dir := t.TempDir()
	f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
		if op.Kind == journal.OpMkdir && strings.HasSuffix(op.Path, "output") {
			return open(t, dir).Withdraw(execution, run().Host)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Start(t.Context(), journal.Meta{Run: run(), Execution: execution}); !errors.As(err, new(*journal.WithdrawnError)) {
		t.Fatal(err)
	}
	list, err := f.List()
	if err != nil || len(list) != 1 || list[0].State != journal.Interrupted || f.Holder() != nil {
		t.Errorf("%+v, %v, held by %v", list, err, f.Holder())
	}
}

// What was withdrawn long ago is forgotten at the end of a run.
func TestWithdrawnIsForgotten(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	for _, id := range []string{"old", "new", "yet to come"} {
		if err := f.Withdraw(id, "h"); err != nil {
			t.Fatal(err)
		}
	}
	marks, err := filepath.Glob(filepath.Join(dir, "withdrawn", "*"))
	if err != nil || len(marks) != 3 {
		t.Fatal(marks, err)
	}
	for _, mark := range marks {
		if info, err := os.Stat(mark); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		text, err := os.ReadFile(mark)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]time.Time{"old\n": time.Now().AddDate(0, 0, -100), "new\n": time.Now(), "yet to come\n": time.Now().AddDate(1, 0, 0)}[string(text)]
		if err := os.Chtimes(mark, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := oneRun(t, f); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "withdrawn", "*")); len(left) != 2 {
		t.Errorf("%q are left", left)
	}
}
