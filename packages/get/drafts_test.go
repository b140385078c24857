package get_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a process that was killed has left in the cache is removed by a later one; what may be under way is not.
func TestLeftDrafts(t *testing.T) {
	p := newPlace(t, map[string]string{"site.hcl": "site {\n name = \"s\"\n}\ncomponent \"web\" {\n source = \"oci://REGISTRY/acme/web:1\"\n}\n"})
	p.push("acme/web:1", map[string]string{"main.hcl": "file \"/page\" {\n content = \"one\"\n}\n"})
	old, young := filepath.Join(p.cache, ".draft-old"), filepath.Join(p.cache, ".draft-young")
	for dir, at := range map[string]time.Time{old: time.Now().Add(-25 * time.Hour), young: time.Now().Add(-time.Hour)} {
		p.must(os.MkdirAll(filepath.Join(dir, "files"), 0o755))
		p.must(os.Chtimes(dir, at, at))
	}
	_, _, err := p.get(false, false)
	p.must(err)
	if _, err := os.Stat(old); err == nil {
		t.Error("an old draft is there still")
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("one that may be under way is gone: %v", err)
	}
}
