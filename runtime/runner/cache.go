package runner

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
)

// cacheDir gives the folder of a runner that was brought to the machine, named after its
// digest; empty: this program is none.
func cacheDir() string {
	dir := filepath.Dir(ownPath())
	if !isDigest(filepath.Base(dir)) {
		return ""
	}
	return dir
}

func isDigest(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == 32
}

// touchRunner notes that the cached runner is in use.
func touchRunner() {
	if dir := cacheDir(); dir != "" {
		now := time.Now()
		_ = os.Chtimes(dir, now, now) // else it may be removed early, and is brought again
	}
}

// keepHalves is how long a runner may be on its way.
const keepHalves = 24 * time.Hour

// cleanRunners removes the cached runners beside the one in dir that were not used for so
// long, and what is left of some that did not arrive.
func cleanRunners(dir string, unused time.Duration) (removed []string, err error) {
	if dir == "" {
		return nil, nil
	}
	cache := filepath.Dir(dir)
	entries, err := os.ReadDir(cache)
	if err != nil {
		return nil, err
	}
	limit := time.Now().Add(-unused)
	for _, e := range entries {
		info, gone := e.Info()
		if gone != nil || !e.IsDir() || !isDigest(e.Name()) {
			continue
		}
		this := filepath.Join(cache, e.Name())
		if this == dir || info.ModTime().After(limit) {
			err = journal.Join(err, cleanHalves(this))
			continue
		}
		if failed := os.RemoveAll(this); failed != nil {
			err = journal.Join(err, failed)
			continue
		}
		removed = append(removed, e.Name())
	}
	return removed, err
}

// cleanHalves removes what is left of a runner that did not arrive.
func cleanHalves(dir string) (err error) {
	halves, _ := filepath.Glob(filepath.Join(dir, "new.*")) // the error is of the pattern
	for _, half := range halves {
		info, gone := os.Lstat(half)
		if gone == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > keepHalves {
			err = journal.Join(err, os.Remove(half))
		}
	}
	return err
}
