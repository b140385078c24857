package runtime_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/journal"
)

var background = context.Background()

// process is one apply of the world's site, with what fate has for it. The error
// is what the user would be told; a run that ended well has none.
func (w *world) process(f *fate) (*runtime.Result, error) {
	w.lived++
	folder, err := journal.OpenWith(w.state, journal.Options{Intercept: w.intercept(f), Volatile: true})
	if err != nil {
		return nil, err
	}
	record, err := folder.Start(background, journal.Meta{Run: w.run, Origin: "/site"})
	if err != nil {
		return nil, err
	}
	result, err := runtime.Apply(background, w.run, runtime.Options{
		Host: &mortal{world: w, fate: f}, Registry: registry(), Parallel: w.parallel,
		Journal: record, Past: record.Ledger(), Runs: folder.StateRun, Origin: "/site",
	})
	if f.died() {
		w.must(record.Abandon())
		return result, errDead
	}
	end := journal.End{State: journal.Done, Err: err}
	if result != nil {
		end.Counts, end.Report = result.Counts, &result.Report
		end.Changed = result.Counts.Changed+result.Counts.Failed+result.Counts.Unknown > 0
	}
	if err != nil || result.Failed {
		end.State = journal.Failed
	}
	err = errors.Join(err, record.Finish(end))
	if f.died() {
		return result, errDead
	}
	if err == nil && result.Failed {
		err = errFailed
	}
	return result, err
}

// errFailed stands for a run in which parts have failed.
var errFailed = errors.New("parts have failed")

var registry = sync.OnceValue(modules.Standard)

// intercept lets a fate meet what the journal does on the disk.
func (w *world) intercept(f *fate) func(journal.Op) error {
	return func(op journal.Op) error {
		if f.watch != nil {
			f.watch(op, f.done())
		}
		e, err := f.decideFor(fmt.Sprint(op.Kind, " ", strings.TrimPrefix(op.Path, w.state)), true, op.Kind == journal.OpWrite)
		switch {
		case e == half && op.Kind == journal.OpWrite && f.torn > 0:
			return &journal.Torn{N: f.torn, Err: err}
		case e == half && op.Kind == journal.OpWrite:
			return &journal.Torn{N: len(op.Data) / 2, Err: err}
		case e == whole:
			w.platter.done(op)
		}
		return err
	}
}

// stateDir is a new state folder's place, in memory where there is such a place.
func stateDir(t failer) string {
	dir, err := os.MkdirTemp(volatile, "tenet-crash-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var volatile = func() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}()

// recovered carries the site out undisturbed, and then once more. Nothing is left behind.
func (w *world) recovered() error {
	if err := w.settled(); err != nil {
		return err
	}
	return w.tidy()
}

// settled carries the site out undisturbed, and then once more.
func (w *world) settled() error {
	if _, err := w.process(&fate{}); err != nil {
		return fmt.Errorf("the next apply: %w", err)
	}
	for _, r := range w.site.rules {
		if wrong := r.broken(w.history); wrong != "" {
			return errors.New(wrong)
		}
	}
	before := len(w.history)
	result, err := w.process(&fate{})
	switch {
	case err != nil:
		return fmt.Errorf("the apply after it: %w", err)
	case result.Counts.Changed > 0 || len(w.history) > before:
		return fmt.Errorf("the apply after it has changed something: %+v", result.Counts)
	case !result.Left.Empty():
		return fmt.Errorf("in the end there is left %+v", result.Left)
	}
	return nil
}

// tidy looks for temporary files of ours.
func (w *world) tidy() error {
	for path := range tree(w.t, w.Memory) {
		if strings.Contains(path, ".tenet-") && !w.untidy {
			return fmt.Errorf("%s was left behind", path)
		}
	}
	return filepath.WalkDir(w.state, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), ".tenet-") {
			err = fmt.Errorf("%s was left behind", path)
		}
		return err
	})
}

// same compares the host with that of an undisturbed run. The log of the
// handlers is not compared: they may run more often.
func (w *world) same(want map[string]string) error {
	got := tree(w.t, w.Memory)
	delete(got, "/log")
	loose := func(path, _ string) bool {
		return w.site.loose != "" && strings.HasPrefix(path, w.site.loose) || w.untidy && strings.Contains(path, ".tenet-")
	}
	maps.DeleteFunc(got, loose)
	want = maps.Clone(want)
	maps.DeleteFunc(want, loose)
	for path, text := range want {
		if got[path] != text {
			return fmt.Errorf("%s is %q, and was to be %q", path, got[path], text)
		}
		delete(got, path)
	}
	for path := range maps.Keys(got) {
		return fmt.Errorf("there is %s", path)
	}
	return nil
}

// undisturbed is the host as it is after runs that nothing has ended.
func (s *crashSite) undisturbed(t *testing.T) map[string]string {
	s.compile(t)
	w := s.world(t, 1)
	defer os.RemoveAll(w.state)
	if _, err := w.process(&fate{}); err != nil != s.fails {
		t.Fatalf("the first apply: %v", err)
	}
	w.run = cmp.Or(s.edit, s.run)
	if err := w.recovered(); err != nil {
		t.Fatalf("undisturbed: %v\n%s", err, w.story())
	}
	want := tree(t, w.Memory)
	delete(want, "/log")
	return want
}
