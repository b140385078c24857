package runner

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A run whose disk becomes full ends with an error of one line, which tells that once:
// more lines would be shown as "\n" within the line that they are part of.
func TestFullDiskIsOneLine(t *testing.T) {
	var full atomic.Bool
	folder, err := journal.OpenWith(t.TempDir(), journal.Options{Intercept: func(op journal.Op) error {
		if full.Load() {
			return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	run := &states.StateRun{Format: states.Format, Host: "x"}
	record, err := folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	r := &Runner{Host: h, Registry: states.NewRegistry()}
	_, err = r.carry(t.Context(), &Job{Run: run}, record, before{past: record.Ledger()}, func(states.Event) {})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the run ends with %v", err)
	}
	if text := err.Error(); strings.Contains(text, "\n") || strings.Count(text, "no space left") != 1 {
		t.Errorf("it ends with %q", text)
	}
}
