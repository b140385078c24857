package host_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMayWrite(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "shut"), 0o555); err != nil {
		t.Fatal(err)
	}
	root := os.Geteuid() == 0
	for name, l := range map[string]interface{ MayWrite(string) bool }{"machine": local(t, ""), "root": local(t, dir)} {
		at := func(path string) string {
			if name == "machine" {
				return filepath.Join(dir, path)
			}
			return "/" + path
		}
		for path, want := range map[string]bool{"f": true, "missing/f": true, "shut": true, "shut/f": root} {
			if got := l.MayWrite(at(path)); got != want {
				t.Errorf("%s: %s: %v", name, path, got)
			}
		}
	}
}
