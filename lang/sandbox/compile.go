package sandbox

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// MaxSource is the size of the largest source, in bytes.
const MaxSource = 1 << 20

// Options say how a source is compiled.
type Options struct {
	// Names are those that the program may use beside Starlark's own.
	Names starlark.StringDict
	// Dialect says what the source may use; the zero value is Starlark as it is
	// specified, without sets.
	Dialect syntax.FileOptions
	// Hints are said about mistakes of the parser and the resolver, before
	// those that hold for all Starlark.
	Hints []Hint
}

// Program is a compiled source.
type Program struct {
	// File is the syntax of the source as it was parsed: its declarations in
	// their order. What is within them was rewritten.
	File *syntax.File

	compiled *starlark.Program
	env      starlark.StringDict
	src      *source
}

// Compile parses and checks a source. The program is nil where the list holds
// an error.
func Compile(name string, src []byte, o Options) (*Program, diag.List) {
	p := &Program{src: newSource(name, src), env: Environment(o.Names)}
	p.src.hints = o.Hints
	if len(src) > MaxSource {
		return nil, diag.List{{Severity: diag.Error, Range: diag.Range{File: name},
			Summary: fmt.Sprintf("the source is larger than %d MiB", MaxSource>>20), Hint: "split it, and load the pieces"}}
	}
	if !utf8.Valid(src) {
		return nil, diag.List{{Severity: diag.Error, Range: diag.Range{File: name},
			Summary: "the source is not UTF-8 text", Hint: "save it as UTF-8"}}
	}
	if x := CheckNesting(name, src, maxNesting); x != nil {
		return nil, diag.List{{Severity: diag.Error, Range: p.src.rangeAt(x.Position),
			Summary: fmt.Sprintf("brackets or operators nest deeper than %d, or follow each other %d times", maxNesting, MaxChain),
			Hint:    "give the inner parts names"}}
	}
	var err error
	if p.File, err = o.Dialect.Parse(name, src, 0); err != nil {
		return nil, p.Diagnose(err)
	}
	list := guardFile(p.src, p.File)
	p.compiled, err = starlark.FileProgram(p.File, p.env.Has)
	list = append(list, p.Diagnose(err)...)
	if list.HasErrors() {
		return nil, list.Sorted()
	}
	return p, nil
}

// Guard does to a parsed file what Compile does, for who parses and resolves
// files by other means: the file then runs with the names of Environment, on
// a thread of NewThread. It must not have been resolved yet. CheckNesting is to be
// asked before the file is parsed.
func Guard(name string, src []byte, f *syntax.File) diag.List {
	return guardFile(newSource(name, src), f)
}

func guardFile(src *source, f *syntax.File) diag.List {
	g := guard{src: src}
	g.stmts(f.Stmts)
	return g.list
}

// Run executes the program's top level, and gives its globals, frozen. The
// error is one for Diagnose.
func (p *Program) Run(thread *starlark.Thread) (starlark.StringDict, error) {
	globals, err := p.compiled.Init(thread, p.env)
	globals.Freeze()
	return globals, err
}

// At gives the range of a position in the program's source.
func (p *Program) At(pos syntax.Position) diag.Range { return p.src.rangeAt(pos) }

// Diagnose turns an error of parsing, resolving or executing into diagnostics
// with their places. Diagnostics that the error wraps are kept.
func (p *Program) Diagnose(err error) diag.List {
	var syntaxError syntax.Error
	var unresolved resolve.ErrorList
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntaxError):
		return diag.List{p.src.mistake(syntaxError.Pos, syntaxError.Msg)}
	case errors.As(err, &unresolved):
		var list diag.List
		for _, e := range unresolved {
			list.Add(p.src.mistake(e.Pos, e.Msg))
		}
		return list
	}
	var own diag.List
	var one diag.Diagnostic
	if errors.As(err, &own) || errors.As(err, &one) {
		return diag.From(err)
	}
	return diag.List{p.failure(err)}
}

// failure describes what went wrong while the program ran.
func (p *Program) failure(err error) diag.Diagnostic {
	d := diag.Diagnose(err, diag.Range{})
	d.Summary = Message(err)
	for i, frame := range Frames(err) {
		at := p.src.atPosition(frame.Pos)
		if i == 0 {
			d.Range = at
		} else {
			d.Related = append(d.Related, diag.Related{Message: "called from " + frame.Name, Range: at})
		}
	}
	if d.Range.IsZero() {
		d.Range.File = p.src.name
	}
	return d
}

// maxFrames is how many calls are shown.
const maxFrames = 10

// Frames gives the places in sources at which an error happened: where it did,
// and then where that was called from.
func Frames(err error) []starlark.CallFrame {
	var failed *starlark.EvalError
	if !errors.As(err, &failed) {
		return nil
	}
	for { // the innermost knows best
		var inner *starlark.EvalError
		if !errors.As(failed.Unwrap(), &inner) {
			break
		}
		failed = inner
	}
	var frames []starlark.CallFrame
	for i := len(failed.CallStack) - 1; i >= 0 && len(frames) < maxFrames; i-- {
		if f := failed.CallStack[i]; f.Pos.IsValid() && f.Pos.Filename() != "<builtin>" {
			frames = append(frames, f)
		}
	}
	return frames
}

// Message is an error's text without the names of what Compile has put in.
func Message(err error) string {
	var stopped *stopError
	if errors.As(err, &stopped) {
		return stopped.Error()
	}
	return removePrefix(err.Error())
}
