package daemon_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
)

// Who leaves keeps the records of runs; who has joined nowhere is told so.
func TestLeave(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"runs", "agent/identity"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := daemon.Leave(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "runs" {
		t.Error(left, err)
	}
	if err := daemon.Leave(dir); err == nil || diag.HintOf(err) == "" {
		t.Errorf("it leaves where it has not joined: %v", err)
	}
}
