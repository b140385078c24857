package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// What is kept of a sparse file takes no more place than that, and comes back so.
func TestBackupKeepsHoles(t *testing.T) {
	root := t.TempDir()
	local, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	place := func(name string) (size, bytes int64) {
		t.Helper()
		var st syscall.Stat_t
		if err := syscall.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		return st.Size, st.Blocks * 512
	}
	file := filepath.Join(root, "disk")
	if err := errors.Join(os.WriteFile(file, []byte("begin"), 0o600), os.Truncate(file, 8<<20)); err != nil {
		t.Fatal(err)
	}
	b, err := journal.NewBackup(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(t, b, local, "/disk", "block.a"); err != nil {
		t.Fatal(err)
	}
	kept := b.Of("block.a")[0]
	if size, bytes := place(filepath.Join(b.Dir(), kept.Sum)); size != 8<<20 || bytes > 1<<20 {
		t.Errorf("%d bytes are kept in %d", size, bytes)
	}
	if err := local.WriteFile(t.Context(), "/disk", b.Content(kept), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	if size, bytes := place(file); size != 8<<20 || bytes > 1<<20 {
		t.Errorf("%d bytes are back in %d", size, bytes)
	}
}
