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
	s, c, out := asked(t, path, &answers{})
	s.globals.StateDir = t.TempDir()
	rows, _, err := s.planEvents(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.mustFit(t.Context(), c, rows); err != nil {
		t.Fatalf("it does not fit at once: %v", err)
	}
	if err := os.WriteFile(path, []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := journal.Open(s.globals.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	c.Rows = rows
	_, err = s.apply(t.Context(), c, s.renderer, s.fitsNoMore)
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
