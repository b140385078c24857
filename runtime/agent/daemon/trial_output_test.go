package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that is tried may print without end: no more is kept of it than may be, and what comes after that is not looked for.
func TestEndlessTrial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	text := "#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x\necho\necho '{\"format\": \"" + trialFormat + "\", \"version\": \"2\"}'\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	d := &daemon{Options: Options{Argv: []string{"program"}}}
	if err := d.try(t.Context(), path, "2"); err == nil || !strings.Contains(err.Error(), "nothing that is understood") {
		t.Errorf("it says %v", err)
	}
}
