package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/stdlib"
)

// testSite is a site with the files of cases that are taken; none: all.
type testSite struct {
	path     string // a directory, one file of a site, or std/NAME
	dir      string
	files    []string
	standard bool // a component that is part of the program
}

// standardTests finds the standard component, or all of them, with their cases;
// nil where the path is none.
func standardTests(path string) []testSite {
	if path != "std" && !strings.HasPrefix(path, "std/") {
		return nil
	}
	var out []testSite
	for _, dir := range fsDirectories(stdlib.FS) {
		files, err := fs.Sub(stdlib.FS, dir)
		if err == nil && testcase.Has(files) && (path == "std" || path == "std/"+dir) {
			out = append(out, testSite{path: "std/" + dir, dir: "std/" + dir, standard: true})
		}
	}
	return out
}

func fsDirectories(in fs.FS) []string {
	entries, err := fs.ReadDir(in, ".")
	if err != nil {
		return nil // of embedded files: there are none
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// openTest opens the site.
func (s *client) openTest(ctx context.Context, at testSite) (*lang.Site, error) {
	if !at.standard {
		return s.openSite(ctx, at.path)
	}
	files, err := fs.Sub(stdlib.FS, strings.TrimPrefix(at.path, "std/"))
	if err != nil {
		return nil, failure(err)
	}
	site, _ := lang.Load(files, lang.Options{Registry: modules.Standard()})
	return site, nil
}

// findTests finds the sites with cases at and below the given paths.
func findTests(paths []string) ([]testSite, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var out []testSite
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			if standard := standardTests(path); standard != nil {
				out = append(out, standard...)
				continue
			}
			return nil, newStatus(exitSite, err, "give a directory with cases in tests/*.hcl, or a file of cases")
		}
		dir := filepath.Dir(path)
		switch {
		case info.IsDir():
			found, err := findBelow(path)
			if err != nil {
				return nil, &status{code: exitSite, err: err}
			}
			out = append(out, found...)
			if len(found) == 0 {
				return nil, newStatus(exitSite, fmt.Errorf("there are no cases in %s", path),
					"write them into tests/*.hcl beside a site; docs/testing.md shows how")
			}
		case filepath.Base(dir) == testcase.Dir && strings.HasSuffix(path, ".hcl"):
			site := filepath.Dir(dir)
			out = append(out, testSite{path: site, dir: site, files: []string{filepath.Base(path)}})
		default:
			out = append(out, testSite{path: path, dir: dir})
		}
	}
	return out, nil
}

// findBelow finds the sites with cases in a directory and below it. What is
// within the cases' own directories is material of theirs.
func findBelow(dir string) ([]testSite, error) {
	var out []testSite
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == testcase.Dir) {
			return fs.SkipDir
		}
		if testcase.Has(os.DirFS(path)) {
			out = append(out, testSite{path: path, dir: path})
		}
		return nil
	})
	return out, err
}
