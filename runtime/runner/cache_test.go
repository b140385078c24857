package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What nobody has used for long goes, and nothing else.
func TestCleanRunners(t *testing.T) {
	cache := t.TempDir()
	old := time.Now().Add(-40 * 24 * time.Hour)
	put := func(name string, at time.Time) {
		t.Helper()
		path := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, filepath.Dir(path)} {
			if err := os.Chtimes(p, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine, unused, used, other := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64), "somebody"
	put(mine+"/new.123", old)
	put(mine+"/tenet-runner", old)
	put(unused+"/tenet-runner", old)
	put(used+"/new.456", time.Now())
	put(used+"/tenet-runner", time.Now())
	put(other+"/new.789", old)
	if err := os.Symlink(filepath.Join(cache, other), filepath.Join(cache, strings.Repeat("d", 64))); err != nil {
		t.Fatal(err)
	}
	removed, err := cleanRunners(filepath.Join(cache, mine), 30*24*time.Hour)
	if err != nil || !slices.Equal(removed, []string{unused}) {
		t.Errorf("%q, %v", removed, err)
	}
	for name, want := range map[string]bool{
		mine + "/new.123": false, mine + "/tenet-runner": true, unused: false, used + "/new.456": true, used + "/tenet-runner": true, other + "/new.789": true,
	} {
		if _, err := os.Lstat(filepath.Join(cache, name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	if removed, err := cleanRunners("", time.Hour); len(removed) > 0 || err != nil {
		t.Errorf("a program that lies nowhere special: %q, %v", removed, err)
	}
}
