package cli

import (
	"errors"
	"fmt"
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
	r := &revisionReport{program: &reportProgram{path: program}}
	if err := errors.Join(r.hand(source.Report{}), r.close()); err == nil || !strings.Contains(err.Error(), "no token") {
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
	r := &revisionReport{program: &reportProgram{path: program, limit: 100 * time.Millisecond}}
	if err := errors.Join(r.hand(source.Report{}), r.close()); err == nil || !strings.Contains(err.Error(), "within 100ms") {
		t.Errorf("it says %v", err)
	}
	time.Sleep(1500 * time.Millisecond)
	if _, err := os.Stat(later); err == nil {
		t.Error("what it has begun goes on")
	}
}

// However slow a program is, who tells it something is not held up; it runs once at a time, and gets the newest report in the end.
func TestSlowReportProgram(t *testing.T) {
	dir := t.TempDir()
	program, got, running := filepath.Join(dir, "program"), filepath.Join(dir, "got"), filepath.Join(dir, "running")
	text := fmt.Sprintf("#!/bin/sh\nmkdir %[1]s || echo two >> %[2]s\ncat >> %[2]s\necho >> %[2]s\nsleep 0.3\nrmdir %[1]s\n", running, got)
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &revisionReport{program: &reportProgram{path: program}}
	begun := time.Now()
	for i := range 20 {
		if err := r.hand(source.Report{Reason: fmt.Sprintf("report %d", i)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("telling it took %v", took)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if !strings.Contains(lines[len(lines)-1], "report 19") || len(lines) > 10 || strings.Contains(string(data), "two\n") {
		t.Errorf("it got\n%s", data)
	}
}
