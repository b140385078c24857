package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
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
