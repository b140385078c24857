package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What an edit that was killed has left is removed by the next one; what one in progress
// uses, and what others have, is not.
func TestAbandonedSecretsAreWiped(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	for pid, stays := range map[int]bool{gone.Process.Pid: false, os.Getpid(): true} {
		dir := filepath.Join(parent, fmt.Sprintf("tenet-secrets-%d-1", pid))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secrets.txt"), []byte("db = hunter2"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := wipeStale(parent); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) == stays {
			t.Errorf("%s: stays is to be %v: %v", dir, stays, err)
		}
	}
}
