package star

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	hcl2 "github.com/hashicorp/hcl/v2"
	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/sandbox"
)

// dialect is what scripts may use of Starlark. There is no while and no
// recursion, so that what they do is bounded by their data.
func dialect() *starsyntax.FileOptions {
	return &starsyntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}
}

// parser reads scripts and what they load.
type parser struct {
	options Options
	files   map[string]*file
	sources map[string][]byte // the scripts that run anyhow
	known   map[string]bool   // the names that scripts may use; nil until the first is parsed
	site    *expr.Files
	chain   []string // the files that load one another, outermost first
	list    diag.List
}

func newParser(o Options) *parser {
	return &parser{options: o, files: map[string]*file{}, sources: map[string][]byte{}, site: expr.NewFiles(o.Site)}
}

// names gives the names that scripts may use.
func (p *parser) names() map[string]bool {
	if p.known == nil {
		p.known = map[string]bool{}
		for _, name := range predeclaredNames(p.options.Registry) {
			p.known[name] = true
		}
		for name := range sandbox.Environment(nil) {
			p.known[name] = true
		}
	}
	return p.known
}

// earlyWords are those whose calls are looked at before anything runs.
func earlyWords() []string {
	return []string{"site", "role", "output", "variable", "host", "host_group", "cluster", "inventory", "rollout"}
}

// stdPrefix begins the names of files that are part of the program. A file of
// the site may stand in a directory "std".
const stdPrefix = "std:"

// file parses a script once. Its name is that in its directory.
func (p *parser) file(rel string, src []byte, in *shelf) *file {
	name := path.Join(p.options.Dir, rel)
	if in != nil {
		name = in.fileName(rel)
	}
	if f := p.files[name]; f != nil {
		return f
	}
	f := &file{name: name, rel: rel, shelf: in, src: src, calls: map[point]*starsyntax.CallExpr{}, loads: map[string]*file{}}
	f.lines = diag.LineStarts(src)
	p.files[name] = f
	if err := expr.CheckUTF8(name, src); err != nil {
		p.list.Add(*err)
		return f
	}
	if err := checkNesting(f, p.options.MaxNesting); err != nil {
		p.list.Add(*err)
		return f
	}
	tree, err := dialect().Parse(name, src, 0)
	if err != nil {
		p.list.Add(f.syntaxError(err))
		return f
	}
	starsyntax.Walk(tree, func(n starsyntax.Node) bool {
		if call, ok := n.(*starsyntax.CallExpr); ok {
			f.calls[point{call.Lparen.Line, call.Lparen.Col}] = call
			if fn, ok := call.Fn.(*starsyntax.Ident); ok && slices.Contains(earlyWords(), fn.Name) {
				f.staticCalls = append(f.staticCalls, call)
			}
		}
		return true
	})
	f.requests = requestsIn(tree)
	p.loads(f, tree)
	if list := sandbox.Guard(name, src, tree); len(list) > 0 {
		p.list.Add(list...)
		return f
	}
	known := p.names()
	program, err := starlark.FileProgram(tree, func(name string) bool { return known[name] })
	if err != nil {
		p.list.Add(f.resolveErrors(err, known)...)
		return f
	}
	f.program = program
	return f
}

// loads reads the files that a script loads.
func (p *parser) loads(f *file, tree *starsyntax.File) {
	p.chain = append(p.chain, f.name)
	defer func() { p.chain = p.chain[:len(p.chain)-1] }()
	starsyntax.Walk(tree, func(n starsyntax.Node) bool {
		load, ok := n.(*starsyntax.LoadStmt)
		if !ok {
			return true
		}
		at := f.span(load.Module)
		loaded, err := p.load(f, load.ModuleName())
		switch {
		case err != nil:
			p.list.Add(diag.Diagnose(err, expr.Range(at)))
		case slices.Contains(p.chain, loaded.name):
			circle := append(p.chain[slices.Index(p.chain, loaded.name):], loaded.name)
			p.list.Add(diag.Diagnostic{Summary: "files load one another: " + strings.Join(circle, " → "), Range: expr.Range(at),
				Hint: "move what both need into a file of its own, and load that"})
		}
		f.loads[load.ModuleName()] = loaded
		return true
	})
}

// load finds and parses the file that another names.
func (p *parser) load(from *file, name string) (*file, error) {
	const hint = `write load("./lib.star", "name") for a file beside this one, load("std/NAME.star", "name"), or load("COLLECTION/NAME.star", "name")`
	first, rest, _ := strings.Cut(name, "/")
	library, isCollection := p.options.Collections[first]
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return nil, &diag.HintError{Message: fmt.Sprintf("%q is no file that could be loaded", name), Hint: hint}
	case !IsSource(name):
		return nil, &diag.HintError{Message: fmt.Sprintf("only files named *.star can be loaded, not %q", name), Hint: hint}
	case first == "std":
		return p.take(&shelf{word: "std", files: p.options.Std}, rest)
	case isCollection && from.shelf == nil:
		return p.take(&shelf{word: first, dir: library.Dir, files: library.Files}, rest)
	case !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") && !path.IsAbs(name):
		return nil, &diag.HintError{Message: fmt.Sprintf("%q names no place", name), Hint: hint}
	}
	if from.shelf != nil {
		return p.take(from.shelf, path.Join(path.Dir(from.rel), name))
	}
	at, err := p.site.Locate(path.Dir(from.rel), name)
	if err != nil {
		return nil, err
	}
	data, ok := p.sources[at]
	if !ok && p.files[path.Join(p.options.Dir, at)] == nil {
		if data, err = p.site.Bytes(".", at); err != nil {
			return nil, err
		}
	}
	return p.file(at, data, nil), nil
}

// shelf is where files lie that are loaded by a word: those of the program, or of a collection.
type shelf struct {
	word  string
	dir   string // in messages; empty: they are part of the program
	files fs.FS  // nil: there are none
}

// fileName is how a file is called in messages.
func (s *shelf) fileName(rel string) string {
	if s.dir == "" {
		return stdPrefix + rel
	}
	return path.Join(s.dir, rel)
}

// take loads a file of a shelf.
func (p *parser) take(in *shelf, name string) (*file, error) {
	missing := &diag.HintError{Message: fmt.Sprintf("there is no file %q", in.word+"/"+name),
		Hint: "the program's own files are listed by tenet doc; a file of the site is named \"./lib.star\""}
	if in.dir != "" {
		missing.Hint = "look into the directory of the collection"
	}
	if in.files == nil || !fs.ValidPath(name) {
		return nil, missing
	}
	data, err := fs.ReadFile(in.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	return p.file(name, data, in), nil
}

// pos gives a place in the file in the HCL library's form.
func (f *file) pos(p starsyntax.Position) hcl2.Pos {
	out := hcl2.Pos{Line: int(p.Line), Column: int(p.Col)}
	if out.Line < 1 || out.Line > len(f.lines) {
		return out
	}
	out.Byte = f.lines[out.Line-1]
	for range out.Column - 1 {
		if out.Byte >= len(f.src) {
			break
		}
		_, size := utf8.DecodeRune(f.src[out.Byte:])
		out.Byte += size
	}
	return out
}

// span is the range of a piece of syntax.
func (f *file) span(n starsyntax.Node) hcl2.Range {
	start, end := n.Span()
	return hcl2.Range{Filename: f.name, Start: f.pos(start), End: f.pos(end)}
}

// rangeAt is the range of one character.
func (f *file) rangeAt(p starsyntax.Position) hcl2.Range {
	start := f.pos(p)
	end := start
	end.Column++
	end.Byte = min(end.Byte+1, len(f.src))
	return hcl2.Range{Filename: f.name, Start: start, End: end}
}

// line gives the text of a line, from 1.
func (f *file) line(number int) string {
	if number < 1 || number > len(f.lines) {
		return ""
	}
	end := len(f.src)
	if number < len(f.lines) {
		end = f.lines[number] - 1
	}
	return string(f.src[f.lines[number-1]:end])
}

// resolveErrors gives all names that are not known, and the like.
func (f *file) resolveErrors(err error, known map[string]bool) diag.List {
	var list diag.List
	all, ok := errors.AsType[resolve.ErrorList](err)
	if !ok {
		return diag.List{f.syntaxError(err)}
	}
	for _, e := range all {
		list.Add(f.resolveError(e, known))
	}
	return list
}

// checkNesting refuses a source that nests too deep before it is parsed.
func checkNesting(f *file, limit int) *diag.Diagnostic {
	x := sandbox.CheckNesting(f.name, f.src, limit)
	if x == nil {
		return nil
	}
	d := &diag.Diagnostic{Severity: diag.Error, Range: expr.Range(f.rangeAt(x.Position)),
		Summary: fmt.Sprintf("the source nests deeper than %d levels", limit),
		Detail:  "Brackets, indentation, operators and conditionals within one another are limited.",
		Hint:    "give parts of the expression names, or move them into functions"}
	switch x.Chain {
	case "operators":
		d.Summary, d.Detail = fmt.Sprintf("the expression has more than %d operators", sandbox.MaxChain), ""
	case "branches":
		d.Summary, d.Detail = fmt.Sprintf("conditions have more than %d branches", sandbox.MaxChain), ""
		d.Hint = "look the value up in a dict"
	}
	return d
}
