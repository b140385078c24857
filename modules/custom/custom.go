// Package custom makes modules of Starlark sources, which a site or a component
// brings along in its directory "modules": one module a file, named like it.
//
//	"""One setting of a file of NAME=VALUE lines."""
//	attributes = {
//	    "path":  attr("string", key = True, path = True, doc = "The file."),
//	    "name":  attr("string", key = True, doc = "The setting's name."),
//	    "value": attr("string", required = True, doc = "Its value."),
//	}
//
//	def read(host, want):   # a dict of what is there, or None
//	def write(host, have, want):
//	def remove(host, have):
//
// A module reaches the machine through the same host.Host as those written in
// Go, so it plans on a Shadow as truthfully as they do, and errors of the host
// pass through it as they are. It reaches nothing else, and runs within the
// limits of lang/sandbox.
//
// A file whose name begins with "_" is no module: others load it.
package custom

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/sandbox"
	"github.com/tenetcm/tenet/states"
)

// Dir is the directory of a site or of a component that holds its modules.
const Dir = "modules"

// Options say how modules are loaded. The zero value works.
type Options struct {
	// Registry holds the modules that are there already, whose names are
	// taken.
	Registry *states.Registry
	// Name is that of the site's root among all that a run opens, for messages;
	// empty for ".".
	Name string
	// Limits bound each call of a module's functions.
	Limits sandbox.Limits
}

// Set is the modules of one directory.
type Set struct {
	modules map[string]*states.Module
	sources map[string][]byte
	digests map[string]string
	files   map[string]string // of modules, the broken ones too
}

// Load reads the modules in a directory of a site; "." is its root. There are
// none where the directory is missing. All that is wrong is in the list, and
// the Set holds the modules that are good.
func Load(site fs.FS, dir string, o Options) (*Set, diag.List) {
	s := &Set{modules: map[string]*states.Module{}, sources: map[string][]byte{}, digests: map[string]string{}, files: map[string]string{}}
	names, err := sourceNames(site, dir)
	if err != nil {
		return s, diag.List{{Severity: diag.Error, Range: diag.Range{File: path.Join(o.Name, dir)},
			Summary: "the directory of modules cannot be read: " + err.Error(),
			Hint:    "make it a directory that may be read, or remove it"}}
	}
	l := &loader{dir: dir, name: path.Join(o.Name, dir), files: expr.NewFilesOf(site, o.Name), options: o, set: s, libraries: map[string]*library{}}
	for _, name := range names {
		l.module(name)
	}
	return s, l.list.Sorted()
}

// sourceNames lists the modules' files, sorted.
func sourceNames(site fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(site, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) == ".star" && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	return names, nil
}

// Modules lists the modules, sorted by name.
func (s *Set) Modules() []*states.Module {
	var all []*states.Module
	for _, name := range slices.Sorted(maps.Keys(s.modules)) {
		all = append(all, s.modules[name])
	}
	return all
}

// Broken lists the modules that have mistakes, sorted by name.
func (s *Set) Broken() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if s.modules[name] == nil {
			all = append(all, name)
		}
	}
	return all
}

// File is the file that declares a module; empty for one that is not here.
func (s *Set) File(module string) string { return s.files[module] }

// Files lists the files that were read, modules and what they load, sorted:
// what a host needs to have the modules too.
func (s *Set) Files() []string { return slices.Sorted(maps.Keys(s.sources)) }

// Source gives the text of a file that was read.
func (s *Set) Source(file string) ([]byte, bool) {
	src, ok := s.sources[file]
	return src, ok
}

// Digest is the SHA-256, in lower-case hex, of the sources of a module: its
// own file and all that it loads. It is empty for a module that is not here.
func (s *Set) Digest(module string) string { return s.digests[module] }

// digest sums up files with their names, whatever directory they are in.
func digest(sources map[string][]byte, files []string) string {
	sum := sha256.New()
	for _, name := range files {
		part := sha256.Sum256(sources[name])
		sum.Write([]byte(path.Base(name) + "\x00"))
		sum.Write(part[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}
