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
	for name, test := range map[string]func(s *suite){
		"same": testSame, "another": testAnother, "what is there stays": testStays, "broken": testBroken, "cancelled": testCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			s := &suite{T: t, place: place(t)}
			s.place.Put(one())
			s.source = s.place.Source()
			s.first = s.look(s.source, source.Revision{})
			test(s)
		})
	}
}

// suite is one test of a source whose place has the files that one gives.
type suite struct {
	*testing.T
	place  Place
	source source.Source
	first  source.Revision
}

func one() map[string]string {
	return map[string]string{"site.hcl": "site {}\n", "a/b/text": "text", "a/run": "#!/bin/sh\n", "vendor/oci/x@1/main.hcl": ""}
}

func (s *suite) look(from source.Source, known source.Revision) source.Revision {
	s.Helper()
	r, err := from.Look(s.Context(), known)
	if err != nil || r.IsZero() {
		s.Fatalf("look: %+v, %v", r, err)
	}
	return r
}

// fetch brings a revision, whose files have to be these.
func (s *suite) fetch(r source.Revision, former source.Former, want map[string]string) {
	s.Helper()
	dir := filepath.Join(s.TempDir(), "files")
	if _, err := s.source.Fetch(s.Context(), r, former, dir); err != nil {
		s.Fatalf("fetch: %v", err)
	}
	if got := filesIn(s.T, dir); !maps.Equal(got, want) {
		s.Fatalf("there is %q, and not %q", got, want)
	}
}

func testSame(s *suite) {
	if again := s.look(s.source, s.first); !again.Is(s.first) {
		s.Errorf("%v became %v, and nothing has changed", s.first, again)
	}
	if again := s.look(s.place.Source(), s.first); !again.Is(s.first) {
		s.Errorf("%v became %v in another process", s.first, again)
	}
	s.fetch(s.first, source.Former{}, one())
	s.fetch(s.first, source.Former{Revision: s.first, HasFiles: true}, one())
	s.fetch(s.first, source.Former{Revision: s.first}, one())
}

func testAnother(s *suite) {
	s.fetch(s.first, source.Former{}, one())
	two := map[string]string{"site.hcl": "site {}\n", "a/b/text": "other"}
	s.place.Put(two)
	second := s.look(s.source, s.first)
	if second.Is(s.first) {
		s.Fatal("other files are the same revision")
	}
	s.fetch(second, source.Former{Revision: s.first, HasFiles: true}, two)
	s.fetch(second, source.Former{Revision: s.first}, two)
}

func testStays(s *suite) {
	dir := s.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		s.Fatal(err)
	}
	if _, err := s.source.Fetch(s.Context(), s.first, source.Former{}, dir); err == nil {
		s.Error("it was fetched over a folder that is there")
	}
	if got := filesIn(s.T, dir); len(got) != 1 {
		s.Errorf("the folder has %v", got)
	}
}

func testBroken(s *suite) {
	s.place.Break(true)
	if again, err := s.source.Look(s.Context(), s.first); err == nil {
		s.Fatalf("what cannot be read is %v", again)
	} else if source.IsRefused(err) || err.Error() == "" {
		s.Errorf("a look refuses a revision: %v", err)
	}
	s.place.Break(false)
	if again := s.look(s.source, s.first); !again.Is(s.first) {
		s.Errorf("after it is put right it is %v", again)
	}
}

func testCancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	around := s.TempDir()
	if _, err := s.source.Fetch(ctx, s.first, source.Former{}, filepath.Join(around, "files")); err == nil {
		s.Error("it was fetched all the same")
	}
	if entries, err := os.ReadDir(around); err != nil || len(entries) > 0 {
		s.Errorf("there is left %v, %v", entries, err)
	}
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
