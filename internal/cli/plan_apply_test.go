package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
)

// What changes between the comparison and the lock is seen with the lock held:
// nothing is applied, nor is there a run to go on with.
func TestPlanIsComparedWithTheLockHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	v, out := newFileRun(t, path, &answers{})
	v.keepEvents = true
	if _, err := v.plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.rows, v.isSavedPlan = v.events, true
	if err := os.WriteFile(path, []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := journal.Open(v.globals.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	err = v.applyAll(t.Context(), true, false, nil)
	if err == nil || !strings.Contains(err.Error(), "nothing was applied") {
		t.Errorf("applied: %v", err)
	}
	if !strings.Contains(out.String(), "planned: create; now: update") {
		t.Errorf("shown: %s", out)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "by hand\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if runs, err := folder.List(); err != nil || len(runs) > 0 {
		t.Errorf("it is recorded, so that it could be resumed: %+v, %v", runs, err)
	}
}
