package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/source/folder"
	"github.com/tenetcm/tenet/runtime/source/sourcetest"
)

type place struct {
	*testing.T
	dir string
}

func (p *place) Source() source.Source { return &folder.Source{Dir: p.dir} }

func (p *place) Put(files map[string]string) {
	p.Helper()
	if err := os.RemoveAll(p.dir); err != nil {
		p.Fatal(err)
	}
	for name, text := range files {
		path, mode := filepath.Join(p.dir, name), os.FileMode(0o640)
		if strings.HasPrefix(text, "#!") {
			mode = 0o750
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) Break(broken bool) {
	from, to := p.dir, p.dir+".away"
	if !broken {
		from, to = to, from
	}
	if err := os.Rename(from, to); err != nil {
		p.Fatal(err)
	}
}

func newPlace(t *testing.T) *place { return &place{t, filepath.Join(t.TempDir(), "site")} }

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Place { return newPlace(t) })
}

// What is written at the same time as before, and to the same size, is seen all the same.
func TestSameTimeAndSize(t *testing.T) {
	p := newPlace(t)
	p.Put(map[string]string{"site.hcl": "one"})
	s := p.Source()
	first, err := s.Look(t.Context(), source.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(p.dir, "site.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	p.Put(map[string]string{"site.hcl": "two"})
	if err := os.Chtimes(filepath.Join(p.dir, "site.hcl"), time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if second, err := s.Look(t.Context(), first); err != nil || second.Is(first) {
		t.Errorf("%v, %v", second, err)
	}
}

func TestLinksAreRefused(t *testing.T) {
	p := newPlace(t)
	p.Put(map[string]string{"site.hcl": "one"})
	if err := os.Symlink("/etc", filepath.Join(p.dir, "etc")); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Source().Look(t.Context(), source.Revision{}); err == nil || !strings.Contains(err.Error(), "etc is neither a plain file nor a directory") {
		t.Errorf("%v, %v", r, err)
	}
}
