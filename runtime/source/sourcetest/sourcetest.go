// Package sourcetest is the suite that every source passes.
package sourcetest

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/source"
)

// Place is where a source looks.
type Place interface {
	// Source gives a source, as a process does that begins anew.
	Source() source.Source
	// Put makes the files of the place those, by their names; the text of an executable one begins with "#!".
	Put(files map[string]string)
	// Break has nobody find anything there, or puts it right again.
	Break(broken bool)
}

// Run runs the suite.
func Run(t *testing.T, place func(t *testing.T) Place) {
	one := map[string]string{"site.hcl": "site {}\n", "a/b/text": "text", "a/run": "#!/bin/sh\n", "vendor/oci/x@1/main.hcl": ""}
	two := map[string]string{"site.hcl": "site {}\n", "a/b/text": "other"}
	look := func(t *testing.T, s source.Source, known source.Revision) source.Revision {
		t.Helper()
		r, err := s.Look(t.Context(), known)
		if err != nil || r.IsZero() {
			t.Fatalf("look: %+v, %v", r, err)
		}
		return r
	}
	fetch := func(t *testing.T, s source.Source, r, held source.Revision, want map[string]string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "files")
		if _, err := s.Fetch(t.Context(), r, held, dir); err != nil {
			t.Fatalf("fetch: %v", err)
		}
		if got := filesIn(t, dir); !maps.Equal(got, want) {
			t.Fatalf("there is %q, and not %q", got, want)
		}
	}
	t.Run("same", func(t *testing.T) {
		p := place(t)
		p.Put(one)
		s := p.Source()
		first := look(t, s, source.Revision{})
		if again := look(t, s, first); !again.Is(first) {
			t.Errorf("%v became %v, and nothing has changed", first, again)
		}
		if again := look(t, p.Source(), first); !again.Is(first) {
			t.Errorf("%v became %v in another process", first, again)
		}
		fetch(t, s, first, source.Revision{}, one)
		fetch(t, s, first, first, one)
	})
	t.Run("another", func(t *testing.T) {
		p := place(t)
		p.Put(one)
		s := p.Source()
		first := look(t, s, source.Revision{})
		fetch(t, s, first, source.Revision{}, one)
		p.Put(two)
		second := look(t, s, first)
		if second.Is(first) {
			t.Fatal("other files are the same revision")
		}
		fetch(t, s, second, first, two)
	})
	t.Run("what is there stays", func(t *testing.T) {
		p := place(t)
		p.Put(one)
		s := p.Source()
		r := look(t, s, source.Revision{})
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Fetch(t.Context(), r, source.Revision{}, dir); err == nil {
			t.Error("it was fetched over a folder that is there")
		}
		if got := filesIn(t, dir); len(got) != 1 {
			t.Errorf("the folder has %v", got)
		}
	})
	t.Run("broken", func(t *testing.T) {
		p := place(t)
		p.Put(one)
		s := p.Source()
		r := look(t, s, source.Revision{})
		p.Break(true)
		if again, err := s.Look(t.Context(), r); err == nil {
			t.Fatalf("what cannot be read is %v", again)
		} else if source.IsRefused(err) || err.Error() == "" {
			t.Errorf("a look refuses a revision: %v", err)
		}
		p.Break(false)
		if again := look(t, s, r); !again.Is(r) {
			t.Errorf("after it is put right it is %v", again)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		p := place(t)
		p.Put(one)
		s := p.Source()
		r := look(t, s, source.Revision{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		around := t.TempDir()
		if _, err := s.Fetch(ctx, r, source.Revision{}, filepath.Join(around, "files")); err == nil {
			t.Error("it was fetched all the same")
		}
		if entries, err := os.ReadDir(around); err != nil || len(entries) > 0 {
			t.Errorf("there is left %v, %v", entries, err)
		}
	})
}

// filesIn reads all files, and checks their modes.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if executable := info.Mode()&0o111 != 0; executable != strings.HasPrefix(string(data), "#!") {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		out[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
