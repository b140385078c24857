package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// secretRun has a sensitive value, and one of which a part is computed.
func secretRun() *states.StateRun {
	return &states.StateRun{Format: states.Format, Site: "site", Host: "host", Revision: "sha256:1", Secrets: []string{"hush"},
		Invocations: []states.Invocation{{Address: "file.a", State: "file.a", Parts: []states.Part{{
			Address: "file.a", Type: "file", Key: "/a", Ensure: states.Present,
			Values:    map[string]any{"path": "/a", "content": "hush", "mode": "0600"},
			Sensitive: []string{"content"},
		}}}}}
}

func begin(t *testing.T, f *journal.Folder, run *states.StateRun) *journal.Run {
	t.Helper()
	r, err := f.Start(t.Context(), journal.Meta{Run: run, Origin: "/site", Sources: map[string]journal.Source{"file.a": {File: "site.hcl", Line: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func add(t *testing.T, r *journal.Run, events ...states.Event) {
	t.Helper()
	for i, ev := range events {
		ev.Seq = int64(i + 1)
		if ev.Type == states.EventRun {
			ev.Format = states.EventFormat
		}
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
}

// What a run was about comes back whole, secrets included, whatever was torn; the
// record is written on.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	r := begin(t, f, secretRun())
	add(t, r, states.Event{Type: states.EventRun},
		states.Event{Type: states.EventBegin, Address: "file.a"},
		states.Event{Type: states.EventPart, Address: "file.a", Outcome: states.Changed, Output: "long"},
		states.Event{Type: states.EventRetry, Address: "file.b"},
		states.Event{Type: states.EventBegin, Address: "file.b", Part: "file", Handlers: []string{"state.h"}},
		states.Event{Type: states.EventInvocation, Address: "state.x", Outcome: states.Changed})
	if err := r.Result(journal.Result{Address: "file.a", Values: map[string]any{"mode": "0600"}}); err != nil {
		t.Fatal(err)
	}
	id := r.ID()
	if err := errors.Join(r.Sync(), r.Abandon()); err != nil {
		t.Fatal(err)
	}
	for name, torn := range map[string]string{"events.jsonl": `{"seq":7,"type":"pa`, "results.jsonl": `{"address":"file.b","val`} {
		out, err := os.OpenFile(filepath.Join(dir, "runs", id, name), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = out.WriteString(torn)
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again, err := f.Resume(t.Context(), id[:8], journal.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	got := again.Resumed()
	if !reflect.DeepEqual(got.Run.Invocations, secretRun().Invocations) || got.Run.Revision != "sha256:1" || !slices.Equal(got.Run.Secrets, []string{"hush"}) {
		t.Errorf("the run is %+v", got.Run)
	}
	switch {
	case len(got.Parts) != 1 || got.Parts["file.a"].Outcome != states.Changed,
		len(got.Begun) != 1 || got.Begun["file.b"].Handlers[0] != "state.h",
		got.Ended["state.x"] != states.Changed, got.Retried != 1, got.Last != 6,
		len(got.Results) != 1 || got.Results["file.a"].Values["mode"] != "0600",
		got.Sources["file.a"].Line != 7, got.Status.Origin != "/site":
		t.Errorf("it tells %+v", got)
	}
	// What the process before had begun is owed, as it is of any dead run.
	if l := again.Ledger(); len(l.Unknown) != 1 || len(l.Debts) != 1 || l.Debts[0].Handler != "state.h" {
		t.Errorf("the ledger is %+v", l)
	}
	if s, err := f.Status(id); err != nil || s.State != journal.Running {
		t.Errorf("status %+v, %v", s, err)
	}
	if err := again.Append(states.Event{Seq: 7, Type: states.EventPart, Address: "file.b", Outcome: states.Changed, Owes: []string{"state.h"}}); err != nil {
		t.Fatal(err)
	}
	// This process dies, too: its events count, though owed.json has the run.
	if err := errors.Join(again.Sync(), again.Abandon()); err != nil {
		t.Fatal(err)
	}
	if l, err := f.Ledger(); err != nil || len(l.Unknown) != 0 || len(l.Debts) != 1 || l.Debts[0].Why != states.Unknown {
		t.Errorf("the ledger is %+v, %v", l, err)
	}
	next := begin(t, f, secretRun())
	if l := next.Ledger(); len(l.Unknown) != 0 || len(l.Debts) != 1 || len(l.Open) != 0 {
		t.Errorf("the ledger of the next run is %+v", l)
	}
	finish(t, next, journal.End{State: journal.Done})
}

func TestResumeIsRefused(t *testing.T) {
	refused := func(t *testing.T, f *journal.Folder, id, reason string) {
		t.Helper()
		_, err := f.Resume(t.Context(), id, journal.Meta{})
		not, ok := errors.AsType[*journal.NotResumableError](err)
		if !ok || !strings.Contains(not.Message, reason) {
			t.Errorf("error %v, want one with %q", err, reason)
		}
		if f.Holder() != nil {
			t.Error("the lock is kept")
		}
	}
	for name, c := range map[string]struct {
		end    journal.State
		spoil  func(dir string) error
		reason string
	}{
		"done":                 {journal.Done, nil, "nothing failed"},
		"failed, with secrets": {journal.Failed, nil, "was removed when it ended"},
		"no StateRun":          {journal.Interrupted, func(dir string) error { return os.Remove(dir + "/run.json") }, "is not whole"},
		"no secrets":           {journal.Interrupted, func(dir string) error { return os.Remove(dir + "/secrets.json") }, "is not recorded"},
		"damaged secrets":      {journal.Interrupted, func(dir string) error { return os.WriteFile(dir+"/secrets.json", []byte("{"), 0o600) }, "is not whole"},
		"damaged events":       {journal.Interrupted, func(dir string) error { return os.WriteFile(dir+"/events.jsonl", []byte("x\n"), 0o600) }, "is not whole"},
		"damaged results":      {journal.Interrupted, func(dir string) error { return os.WriteFile(dir+"/results.jsonl", []byte("x\n"), 0o600) }, "is not whole"},
		"another format": {journal.Interrupted, func(dir string) error {
			return os.WriteFile(dir+"/events.jsonl", []byte(`{"seq":1,"type":"run","format":"tenet.events/1"}`+"\n"), 0o600)
		}, "tenet.events/1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir)
			r := begin(t, f, secretRun())
			add(t, r, states.Event{Type: states.EventRun})
			id := r.ID()
			finish(t, r, journal.End{State: c.end, Changed: true})
			if c.spoil != nil {
				if err := c.spoil(filepath.Join(dir, "runs", id)); err != nil {
					t.Fatal(err)
				}
			}
			refused(t, f, id, c.reason)
		})
	}
	t.Run("applied since", func(t *testing.T) {
		dir := t.TempDir()
		f := open(t, dir)
		r := begin(t, f, secretRun())
		add(t, r, states.Event{Type: states.EventRun})
		first := r.ID()
		finish(t, r, journal.End{State: journal.Interrupted, Changed: true})
		other := secretRun()
		other.Site = "another"
		finish(t, begin(t, f, other), journal.End{State: journal.Done})
		secrets := filepath.Join(dir, "runs", first, "secrets.json")
		if _, err := os.Stat(secrets); err != nil {
			t.Errorf("another site's run has ended: %v", err)
		}
		finish(t, begin(t, f, secretRun()), journal.End{State: journal.Done})
		if _, err := os.Stat(secrets); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("nobody goes on with it, and its secrets are there: %v", err)
		}
		refused(t, f, first, "has applied the site since")
	})
	t.Run("in progress", func(t *testing.T) {
		f := open(t, t.TempDir())
		r := begin(t, f, secretRun())
		_, err := f.Resume(t.Context(), r.ID(), journal.Meta{})
		if _, locked := errors.AsType[*journal.LockedError](err); !locked {
			t.Errorf("error %v", err)
		}
		finish(t, r, journal.End{State: journal.Done})
	})
}

// Nobody knows where a run acted whose status was lost.
func TestResumeWithoutStatus(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	id := dies(t, f, meta(), begun()...)
	if err := os.WriteFile(filepath.Join(dir, "runs", id, "status.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := f.Resume(t.Context(), id, journal.Meta{})
	if not, ok := errors.AsType[*journal.NotResumableError](err); !ok || !strings.Contains(not.Message, "status was lost") {
		t.Errorf("resumed: %v", err)
	}
	same(t, "left", ledger(t, f), left()...)
}
