package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// keepsSecrets tells whether the secrets of a run are there.
func keepsSecrets(t *testing.T, dir, id string) bool {
	t.Helper()
	_, err := os.Lstat(filepath.Join(dir, "runs", id, "secrets.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// A run with which nobody goes on, since a later one of its site is there, keeps no
// secrets, however that one has ended.
func TestLaterRunForgetsEarlier(t *testing.T) {
	for _, end := range []journal.State{journal.Done, journal.Failed, journal.Interrupted} {
		t.Run(string(end), func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir)
			other := secretRun()
			other.Site = "another"
			var ids []string
			for _, run := range []*states.StateRun{secretRun(), other} {
				r := begin(t, f, run)
				ids = append(ids, r.ID())
				finish(t, r, journal.End{State: journal.Interrupted})
			}
			later := begin(t, f, secretRun())
			ids = append(ids, later.ID())
			finish(t, later, journal.End{State: end})
			for i, want := range []bool{false, true, end == journal.Interrupted} {
				if keepsSecrets(t, dir, ids[i]) != want {
					t.Errorf("run %d of 3 keeps its secrets: %v, want %v", i+1, !want, want)
				}
			}
			if s, err := f.Status(ids[0]); err != nil || !s.Forgotten {
				t.Errorf("the first run is %+v, %v", s, err)
			}
		})
	}
}

// hideFile puts a link that leads nowhere, round in a circle, in place of a file, so that the
// system does not open it, and gives what takes that back.
func hideFile(t *testing.T, path string) (show func()) {
	t.Helper()
	if err := errors.Join(os.Rename(path, path+".aside"), os.Symlink(path, path)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(os.Remove(path), os.Rename(path+".aside", path)); err != nil {
			t.Fatal(err)
		}
	}
}

// What the system does not let be read for the moment is not lost: the secrets stay, and the run
// can be gone on with.
func TestRunThatCannotBeReadNowIsNotForgotten(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	r := begin(t, f, secretRun())
	kept := r.ID()
	finish(t, r, journal.End{State: journal.Interrupted})
	show := hideFile(t, filepath.Join(dir, "runs", kept, "status.json"))
	other := secretRun()
	other.Site = "another"
	err := begin(t, f, other).Finish(journal.End{State: journal.Interrupted})
	if err == nil || !strings.Contains(err.Error(), "the status of run "+kept+" cannot be read, and its secrets are kept: ") {
		t.Errorf("the other run ends with %v", err)
	}
	show()
	if !keepsSecrets(t, dir, kept) {
		t.Fatal("its secrets are gone")
	}
	again, err := f.Resume(t.Context(), kept, journal.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, again, journal.End{State: journal.Done})
}

// Without a file of what is sensitive, a run that cannot be read for the moment does not count as
// one that has told nothing.
func TestSensitiveInRunsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	r := begin(t, f, secretRun())
	finish(t, r, journal.End{State: journal.Done})
	if err := os.Remove(filepath.Join(dir, "sensitive.json")); err != nil {
		t.Fatal(err)
	}
	known, err := f.Sensitive()
	if err != nil || len(known) == 0 {
		t.Fatalf("%v, %v", known, err)
	}
	show := hideFile(t, filepath.Join(dir, "runs", r.ID(), "run.json"))
	if all, err := f.Sensitive(); err == nil {
		t.Errorf("it says %v", all)
	}
	show()
}

// Of a run whose status is lost nobody knows the site, and nobody can go on with it.
func TestRunWithoutStatusIsForgotten(t *testing.T) {
	for name, spoil := range map[string]func(status string) error{
		"damaged": func(status string) error { return os.WriteFile(status, []byte("{"), 0o600) },
		"missing": os.Remove,
		"without a revision": func(status string) error {
			return os.WriteFile(status, []byte(`{"format":"tenet.status/1","state":"interrupted"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir)
			r := begin(t, f, secretRun())
			lost := r.ID()
			finish(t, r, journal.End{State: journal.Interrupted})
			if err := spoil(filepath.Join(dir, "runs", lost, "status.json")); err != nil {
				t.Fatal(err)
			}
			other := secretRun()
			other.Site = "another"
			finish(t, begin(t, f, other), journal.End{State: journal.Interrupted})
			if keepsSecrets(t, dir, lost) {
				t.Error("its secrets are there")
			}
			if _, err := os.Lstat(filepath.Join(dir, "runs", "status.json")); err == nil {
				t.Error("a status was written that belongs to no run")
			}
		})
	}
}

// The record is still being written when it turns out that the journal cannot be: what is
// removed at the end does not come back after it.
func TestSecretsAreNotSavedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		full := errors.New("no space is left")
		f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
			switch {
			case op.Kind == journal.OpOpen && filepath.Base(op.Path) == "secrets.json":
				time.Sleep(time.Hour) // until all others wait or have ended
			case op.Kind == journal.OpWrite && filepath.Base(op.Path) == "events.jsonl":
				return full
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := begin(t, f, secretRun())
		if err := r.Append(states.Event{Seq: 1, Type: states.EventRun, Format: states.EventFormat}); err != nil {
			t.Fatal(err)
		}
		if err := r.Flush(); !errors.Is(err, full) {
			t.Fatal(err)
		}
		if err := r.Finish(journal.End{State: journal.Failed, Changed: true}); !errors.Is(err, full) {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		if keepsSecrets(t, dir, r.ID()) {
			t.Error("the run has ended, and its secrets are there")
		}
	})
}

// What was withdrawn as it began has done nothing, and nobody goes on with it. One that was
// begun earlier can go on in another execution.
func TestWithdrawnRunKeepsNoSecrets(t *testing.T) {
	dir := t.TempDir()
	withdrawn := func(execution string, at journal.OpKind, suffix string, begin func(*journal.Folder, journal.Meta) error) {
		t.Helper()
		f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
			if op.Kind == at && strings.HasSuffix(op.Path, suffix) {
				return open(t, dir).Withdraw(execution, run().Host)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := begin(f, journal.Meta{Run: run(), Execution: execution}); !errors.As(err, new(*journal.WithdrawnError)) {
			t.Fatal(err)
		}
	}
	r := start(t, open(t, dir), journal.Meta{})
	add(t, r, states.Event{Type: states.EventRun})
	finish(t, r, journal.End{State: journal.Interrupted})
	withdrawn("first", journal.OpRename, "status.json", func(f *journal.Folder, m journal.Meta) error {
		_, err := f.Resume(t.Context(), r.ID(), m)
		return err
	})
	if !keepsSecrets(t, dir, r.ID()) {
		t.Error("a run that can go on has lost its secrets")
	}
	withdrawn("second", journal.OpMkdir, "output", func(f *journal.Folder, m journal.Meta) error {
		_, err := f.Start(t.Context(), m)
		return err
	})
	list, err := open(t, dir).List()
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, s := range list {
		if keepsSecrets(t, dir, s.Run) {
			t.Errorf("the secrets of run %+v are there", s)
		}
	}
}

// Whenever a run dies as it forgets the secrets of an earlier one, no temporary file stays in that one's folder, at which nobody looks again.
func TestDyingAsSecretsAreForgottenLeavesNothing(t *testing.T) {
	dead := errors.New("this process is dead")
	for at := 1; ; at++ {
		dir := t.TempDir()
		finish(t, begin(t, open(t, dir), secretRun()), journal.End{State: journal.Interrupted})
		count, ends := 0, false
		f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
			if !ends {
				return nil
			}
			if count++; count == at && op.Kind == journal.OpWrite {
				return &journal.Torn{N: len(op.Data) / 2, Err: dead}
			}
			if count >= at {
				return dead
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := begin(t, f, secretRun())
		if err := r.Sync(); err != nil { // what is written beside the first steps is there
			t.Fatal(err)
		}
		ends = true
		if err := r.Finish(journal.End{State: journal.Done}); err == nil {
			return
		}
		ends = false
		finish(t, begin(t, open(t, dir), secretRun()), journal.End{State: journal.Done})
		if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(filepath.Base(path), ".tenet-") {
				t.Errorf("after operation %d of the end, %s is there", at, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
