// Package star is the front-end for Starlark. It runs the scripts of a
// directory for one host, and gives what they declare as the same tree that
// the other front-ends make of their sources: the words of the language are
// functions, and each call of one is a block.
//
// What scripts cannot know (results of other parts, secrets) are opaque values
// that hold an expression of the HCL library; the evaluator that all languages
// share computes it.
package star

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// DefaultMaxSteps is how many steps the scripts of one directory may take for
// one host: a few seconds of work.
const DefaultMaxSteps = 100_000_000

// Options say how scripts are parsed and run. Registry and Site are required.
type Options struct {
	// Registry holds the modules, each of which is a function.
	Registry *states.Registry
	// Site is the directory of the scripts, where load finds further files.
	Site fs.FS
	// Std is where load("std/…") finds its files; nil: there are none.
	Std fs.FS
	// Collections are where load("NAME/…") finds its files, by that name.
	Collections map[string]Library
	// Dir is the name of that directory in messages; "": ".".
	Dir string
	// MaxNesting is how deep a source may nest; 0: expr.DefaultMaxNesting.
	MaxNesting int
	// MaxSteps ends scripts that run for too long; 0: DefaultMaxSteps.
	MaxSteps uint64
}

// Library is a folder of files that scripts load by its name.
type Library struct {
	Dir   string // its name in messages
	Files fs.FS
}

// Source is the text of a script.
type Source struct {
	Name string // relative to the directory
	Data []byte
}

// Scripts are the parsed scripts of one directory. They do not change, and may
// be run by several goroutines at once.
type Scripts struct {
	options     Options
	roots       []*file
	files       map[string]*file // by name, what is loaded included
	sortedFiles []*file          // the same, sorted
}

var _ syntax.Scripts = (*Scripts)(nil)

// IsSource reports whether a file of that name is for this front-end.
func IsSource(name string) bool { return strings.HasSuffix(name, ".star") }

// Parse reads scripts, in their order, and all that they load. What is wrong
// whatever the host is in the list; the Scripts hold what could be read.
func Parse(sources []Source, o Options) (*Scripts, diag.List) {
	if o.MaxNesting == 0 {
		o.MaxNesting = expr.DefaultMaxNesting
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	p := newParser(o)
	for _, src := range sources {
		p.sources[src.Name] = src.Data
	}
	s := &Scripts{options: o, files: p.files}
	for _, src := range sources {
		f := p.file(src.Name, src.Data, nil)
		f.root = true
		s.roots = append(s.roots, f)
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		s.sortedFiles = append(s.sortedFiles, s.files[name])
	}
	return s, p.list.Sorted()
}

// Run runs the scripts for a host.
func (s *Scripts) Run(ctx context.Context, w syntax.World) ([]syntax.Script, diag.List) {
	r := newRun(ctx, s.options, s.files, w)
	var out []syntax.Script
	for _, f := range s.roots {
		r.exec(f)
	}
	r.finish()
	for _, f := range r.order {
		out = append(out, syntax.Script{Name: f.name, Body: r.bodies[f], Unknown: r.unknown[f]})
	}
	return out, r.list
}

// Texts gives the text of each file, with those that are loaded, for snippets.
func (s *Scripts) Texts() map[string][]byte {
	out := map[string][]byte{}
	for _, f := range s.sortedFiles {
		out[f.name] = f.src
	}
	return out
}

// file is a parsed script.
type file struct {
	name  string // in messages
	rel   string // in its directory
	shelf *shelf // nil: it is one of the directory
	src   []byte
	lines []int // where each line begins
	root  bool  // it is one of the sources, not only loaded

	program     *starlark.Program // nil: it is wrong
	calls       map[point]*starsyntax.CallExpr
	staticCalls []*starsyntax.CallExpr // of words, in their order
	loads       map[string]*file       // by the names in its load statements
	requests    syntax.Requests
}

// point is a place in a file.
type point struct{ line, column int32 }
