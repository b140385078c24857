package runner

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// cached gives the folder of a runner that was brought to the machine, named after its
// digest; empty: this program is none.
func cached() string {
	dir := filepath.Dir(own())
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
	if dir := cached(); dir != "" {
		now := time.Now()
		_ = os.Chtimes(dir, now, now) // else it may be removed early, and is brought again
	}
}

// cleanRunners removes the cached runners beside this one that were not used for so long.
func cleanRunners(unused time.Duration) (removed []string, err error) {
	dir := cached()
	if dir == "" {
		return nil, nil
	}
	cache := filepath.Dir(dir)
	entries, err := os.ReadDir(cache)
	limit := time.Now().Add(-unused)
	for _, e := range entries {
		info, gone := e.Info()
		if gone != nil || !e.IsDir() || !isDigest(e.Name()) || e.Name() == filepath.Base(dir) || info.ModTime().After(limit) {
			continue
		}
		if failed := os.RemoveAll(filepath.Join(cache, e.Name())); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed = append(removed, e.Name())
	}
	return removed, err
}
