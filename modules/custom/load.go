package custom

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/sandbox"
)

// loader reads the files of one directory, each once.
type loader struct {
	dir       string
	name      string // of the directory, for messages
	files     *expr.Files
	options   Options
	set       *Set
	libraries map[string]*library // by path
	chain     []string            // the chain of files that load each other
	list      diag.List
}

// library is a file that was executed.
type library struct {
	file      string
	program   *sandbox.Program
	globals   starlark.StringDict // nil: it is broken
	uses      map[string]bool     // itself, and all files that it loads
	readError error               // it cannot be read, which who loads it tells
}

// load executes a file, or gives what came of that before.
func (l *loader) load(name string) *library {
	file := path.Join(l.name, name)
	if done := l.libraries[file]; done != nil {
		return done
	}
	lib := &library{file: file, uses: map[string]bool{file: true}}
	l.libraries[file] = lib
	src, err := l.files.Bytes(l.dir, name)
	if err != nil {
		lib.readError = err
		if len(l.chain) == 0 {
			d := diag.Diagnose(err, diag.Range{File: file})
			d.Hint = cmp.Or(d.Hint, "check that it is a file, and may be read")
			l.list.Add(d)
		}
		return lib
	}
	l.set.sources[file] = src
	program, list := sandbox.Compile(file, src, sandbox.Options{Names: names(), Dialect: dialect(), Hints: hints()})
	l.list.Add(list...)
	if program == nil {
		return lib
	}
	lib.program = program
	l.execute(lib)
	return lib
}

func dialect() syntax.FileOptions { return syntax.FileOptions{Set: true} }

// maxTopLevel is how many steps the top level of a file may make: it declares,
// and does nothing yet.
const maxTopLevel = 1_000_000

// execute runs the top level of a file.
func (l *loader) execute(lib *library) {
	ctx := context.Background()
	limits := l.options.Limits
	if limits.Steps == 0 || limits.Steps > maxTopLevel {
		limits.Steps = maxTopLevel
	}
	thread, stop := sandbox.NewThread(ctx, lib.file, limits)
	defer stop()
	known := false // the mistake is in another file, and was told there
	thread.Load = func(_ *starlark.Thread, name string) (starlark.StringDict, error) {
		other, err := l.require(name)
		if err != nil {
			return nil, err
		}
		if other.readError != nil {
			return nil, other.readError
		}
		if other.globals == nil {
			known = true
			return nil, fmt.Errorf("%s has mistakes", other.file)
		}
		maps.Copy(lib.uses, other.uses)
		return other.globals, nil
	}
	l.chain = append(l.chain, lib.file)
	globals, err := lib.program.Run(thread)
	l.chain = l.chain[:len(l.chain)-1]
	if err == nil {
		lib.globals = globals
		return
	}
	if !known {
		l.list.Add(lib.program.Diagnose(sandbox.Cause(ctx, thread, err))...)
	}
}

// require gives what a load statement names.
func (l *loader) require(name string) (*library, error) {
	base := strings.TrimPrefix(name, "./")
	if base == "" || strings.ContainsAny(base, "/\\\x00") || path.Ext(base) != ".star" {
		return nil, fmt.Errorf("%q cannot be loaded: a module loads *.star files of its own directory, such as %q", name, "_lib.star")
	}
	file := path.Join(l.name, base)
	if i := slices.Index(l.chain, file); i >= 0 {
		return nil, fmt.Errorf("files load each other in a circle: %s", strings.Join(append(l.chain[i:], file), " → "))
	}
	return l.load(base), nil
}

// hints are about mistakes that authors of modules make.
func hints() []sandbox.Hint {
	const host = "a module reaches the machine through the host that its functions are given: host.read_file(PATH), host.run(ARGV)"
	return []sandbox.Hint{
		{Text: "undefined: open", Hint: host},
		{Text: "undefined: os", Hint: host},
		{Text: "undefined: subprocess", Hint: host},
		{Text: "undefined: host", Hint: "the functions get the host as their first argument: def read(host, want)"},
		{Text: "undefined: module", Hint: "modules run on hosts: what can be known of one is asked of host"},
		{Text: "undefined: re", Hint: "search(PATTERN, TEXT) looks for a regular expression"},
		{Text: "undefined: fact", Hint: "a module knows no facts: take them as attributes, or ask the host"},
		{Text: "undefined: var", Hint: "a module knows no variables: take them as attributes"},
	}
}
