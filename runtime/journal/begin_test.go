package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A run that cannot be begun, since the disk is full, leaves no record that would
// stand for a run that was interrupted; the one after it works.
func TestRunThatNeverBegan(t *testing.T) {
	for _, file := range []string{"status", "events.jsonl"} {
		dir, full := t.TempDir(), true
		f, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
			name := filepath.Base(op.Path)
			if full && strings.Contains(op.Path, "/runs/0") && op.Kind != journal.OpRemove && (name == file || file == "status" && strings.HasPrefix(name, ".tenet-")) {
				return syscall.ENOSPC
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Start(t.Context(), meta()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: started: %v", file, err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "runs")); err != nil || len(left) > 0 {
			t.Errorf("%s: left: %v, %v", file, left, err)
		}
		if _, err := f.Status(""); !errors.Is(err, journal.ErrNoRun) {
			t.Errorf("%s: status: %v", file, err)
		}
		full = false
		finish(t, start(t, f, meta()), journal.End{State: journal.Done})
	}
}

// What stands before a run's report is read whole, however long it is.
func TestLongStatus(t *testing.T) {
	f := open(t, t.TempDir())
	sizes := []int{0, 3500, 3600, 3650, 3700, 3750, 3800, 3900, 4096, 60000, 65000, 65500, 70000}
	for i, size := range sizes {
		m := meta()
		m.Execution = fmt.Sprintf("20260101-0000%02d-abcdef", i)
		m.Modules = []journal.Modules{{Dir: strings.Repeat("m", size), Digest: "x"}}
		finish(t, start(t, f, m), journal.End{State: journal.Done, Report: &states.Report{Host: "web1"}})
	}
	list, err := f.List()
	if err != nil || len(list) != len(sizes) {
		t.Fatalf("%d runs, %v", len(list), err)
	}
	for i, s := range list {
		if s.State != journal.Done || len(s.Modules) != 1 || len(s.Modules[0].Dir) != sizes[i] || s.Counts == nil {
			t.Errorf("%d: %s %s", sizes[i], s.State, s.Error)
		}
		if run, err := f.Begun(s.Execution, s.Host); err != nil || run != s.Run {
			t.Errorf("%d: begun %q, %v", sizes[i], run, err)
		}
	}
}
