package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source"
)

// A program that is told of revisions may say without end what it likes: its begin is shown, and it takes no memory.
func TestEndlessReportProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 'no token'; head -c 1000000 /dev/zero | tr '\\0' x; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &revisionReport{program: program}
	if err := r.hand(source.Report{}); err == nil || !strings.Contains(err.Error(), "no token") {
		t.Errorf("it says %v", err)
	}
	var said firstBytes
	for range 3 {
		if n, err := said.Write(make([]byte, 3000)); n != 3000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(said.kept) != 4096 {
		t.Errorf("%d bytes are kept", len(said.kept))
	}
}

// A program that hangs ends, with all that it has begun.
func TestHangingReportProgram(t *testing.T) {
	dir := t.TempDir()
	program, later := filepath.Join(dir, "program"), filepath.Join(dir, "later")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n(sleep 1; touch "+later+") &\nsleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &revisionReport{program: program, limit: 100 * time.Millisecond}
	if err := r.hand(source.Report{}); err == nil || !strings.Contains(err.Error(), "within 100ms") {
		t.Errorf("it says %v", err)
	}
	time.Sleep(1500 * time.Millisecond)
	if _, err := os.Stat(later); err == nil {
		t.Error("what it has begun goes on")
	}
}
