package star

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/foreign"
	"github.com/tenetcm/tenet/lang/sandbox"
)

type diagnostic = diag.Diagnostic

// errReported ends a script whose mistake is in the list already.
var errReported = errors.New("reported already")

// report makes diagnostics of why a script failed: at the innermost place in a
// script, with the calls that led there.
func (r *run) report(err error, stack starlark.CallStack) diag.List {
	if errors.Is(err, errReported) {
		return nil
	}
	if inner, ok := errors.AsType[*starlark.EvalError](err); ok && len(stack) < len(inner.CallStack) {
		stack = inner.CallStack
	}
	var at diag.Range
	var related []diag.Related
	for i := range len(stack) {
		frame := stack.At(i)
		f := r.files[frame.Pos.Filename()]
		if f == nil {
			continue // a function of the language
		}
		src := expr.Range(f.rangeAt(frame.Pos))
		if call := f.calls[point{frame.Pos.Line, frame.Pos.Col}]; call != nil {
			src = expr.Range(f.span(call))
		}
		if at.IsZero() {
			at = src
			continue
		}
		related = append(related, diag.Related{Message: "called here", Range: src})
	}
	if p, ok := errors.AsType[*placedError](err); ok {
		at = expr.Range(p.at)
	}
	if d, ok := errors.AsType[*diagnosticsError](err); ok {
		list := append(diag.List(nil), d.list...)
		for i := range list {
			list[i].Related = append(append([]diag.Related(nil), list[i].Related...), related...)
			if list[i].Range.IsZero() {
				list[i].Range = at
			}
		}
		return list
	}
	d := diag.Diagnose(cmp.Or(cause(err), err), at)
	if hinted, ok := errors.AsType[*diag.HintError](err); ok {
		d.Summary, d.Hint = hinted.Error(), hinted.Hint
	}
	d.Summary, d.Hint = clarify(d.Summary, d.Hint)
	d.Related = related
	return diag.List{d}
}

// cause is the error that a script's function gave.
func cause(err error) error {
	for {
		inner, ok := errors.AsType[*starlark.EvalError](err)
		if !ok || inner.Unwrap() == nil {
			return err
		}
		err = inner.Unwrap()
	}
}

// clarify finds words for a message of Starlark.
func clarify(summary, hint string) (string, string) {
	summary = strings.TrimPrefix(summary, "Starlark computation cancelled: ")
	if hint != "" {
		return summary, hint
	}
	for _, b := range betterMessages() {
		pattern := regexp.MustCompile(b.pattern)
		m := pattern.FindStringSubmatchIndex(summary)
		if m == nil {
			continue
		}
		expand := func(template string) string {
			return string(pattern.ExpandString(nil, template, summary, m))
		}
		text := summary
		if b.summary != "" {
			text = expand(b.summary)
		}
		return text, expand(b.hint)
	}
	if message, hint := sandbox.SplitSuggestion(summary); hint != "" {
		return message, hint
	}
	return summary, "docs/starlark.md describes the language"
}

// syntaxError explains what cannot be parsed.
func (f *file) syntaxError(err error) diag.Diagnostic {
	e, ok := errors.AsType[starsyntax.Error](err)
	if !ok {
		if r, isResolve := errors.AsType[resolve.Error](err); isResolve {
			e, ok = starsyntax.Error(r), true
		}
	}
	if !ok {
		return diag.Diagnostic{Severity: diag.Error, Summary: err.Error(), Range: diag.Range{File: f.name}, Hint: "check the syntax of the file"}
	}
	if e.Pos.Col == 1 && e.Pos.Line > 1 && regexp.MustCompile(`^got (newline|end of file|outdent|indent)`).MatchString(e.Msg) {
		e.Pos.Line--
		e.Pos.Col = int32(len([]rune(codeOf(f.line(int(e.Pos.Line)))))) + 1
	}
	d := diag.Diagnostic{Severity: diag.Error, Summary: e.Msg, Range: expr.Range(f.rangeAt(e.Pos))}
	line := f.line(int(e.Pos.Line))
	if strings.Contains(e.Msg, `\ufeff`) {
		d.Summary, d.Hint = "the file begins with a byte order mark", "save it as UTF-8 without one"
		return d
	}
	if strings.Contains(e.Msg, "escape") {
		d.Hint = "text is UTF-8; bytes of any kind go into a file of their own, which the attribute source names"
		return d
	}
	if f.mixesTabs(int(e.Pos.Line)) && (strings.Contains(e.Msg, "indent") || strings.Contains(e.Msg, "outdent")) {
		d.Summary, d.Detail = "the indentation mixes tabs and spaces", "A tab counts as far as the next column that is a multiple of eight, whatever an editor shows."
		d.Hint = "indent with spaces alone, four for each level, as tenet fmt writes it"
		return d
	}
	line = codeOf(line)
	for _, h := range syntaxHints() {
		if regexp.MustCompile(h.pattern).MatchString(line) {
			d.Summary, d.Hint = cmp.Or(h.summary, e.Msg), h.hint
			return d
		}
	}
	if m := gotWant().FindStringSubmatch(e.Msg); m != nil {
		d.Summary = fmt.Sprintf("%s is expected here, not %s", tokenName(m[2]), tokenName(m[1]))
	}
	switch {
	case strings.HasPrefix(e.Msg, "obsolete form of octal"):
		d.Summary = "a whole number does not begin with 0"
		d.Hint = `a mode is text, in quotes: mode = "0644"`
	case strings.Contains(e.Msg, "want indent"):
		d.Hint = "indent the lines below def, if and for by four spaces"
	default:
		d.Hint = "look for a bracket, quote, comma or colon that is missing here or in the line before"
	}
	return d
}

// gotWant is how the parser says that something else stands at a place.
var gotWant = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^got (.+), want (.+)$`) })

// tokenName says in words what the parser expects, or has found.
func tokenName(token string) string {
	names := map[string]string{"identifier": "a name", "newline": "the end of the line", "end of file": "the end of the file",
		"indent": "an indented line", "outdent": "a line that is indented less", "primary expression": "a value",
		"string literal": "text", "int literal": "a number", "float literal": "a number"}
	return cmp.Or(names[token], token)
}

// mixesTabs reports whether of a line and those before it that are not empty, as far as the begin of
// the statement around them, some are indented with tabs and others with spaces.
func (f *file) mixesTabs(number int) bool {
	tabs, spaces := false, false
	for ; number > 0; number-- {
		line := f.line(number)
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if indent == line {
			continue
		}
		tabs, spaces = tabs || strings.Contains(indent, "\t"), spaces || strings.Contains(indent, " ")
		if indent == "" {
			break
		}
	}
	return tabs && spaces
}

// codeOf is a line without its comment, and without what stands in quotes.
func codeOf(line string) string {
	var out strings.Builder
	quote := rune(0)
	for _, c := range line {
		switch {
		case quote == 0 && c == '#':
			return out.String()
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		case quote != 0:
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

// foreignName gives advice on a name that other tools have.
func foreignName(name string) (foreign.Advice, bool) {
	for _, find := range []func(string) (foreign.Advice, bool){
		func(name string) (foreign.Advice, bool) { return foreign.Block(name, "") },
		foreign.Function,
		func(name string) (foreign.Advice, bool) { return foreign.Value(name, "") },
	} {
		if a, ok := find(name); ok {
			return foreign.Starlark(a), true
		}
	}
	return foreign.Advice{}, false
}

// resolveError explains a name that is not known, and the like.
func (f *file) resolveError(e resolve.Error, known map[string]bool) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Error, Summary: e.Msg, Range: expr.Range(f.rangeAt(e.Pos)), Hint: "docs/starlark.md describes the language"}
	m := regexp.MustCompile(`^undefined: (\S+)`).FindStringSubmatch(e.Msg)
	if m == nil {
		switch {
		case strings.Contains(e.Msg, "while loops"):
			d.Summary, d.Hint = "there are no while loops", "write for x in range(N): …, and break"
		case strings.Contains(e.Msg, "return statement not within"):
			d.Hint = "return belongs into a def"
		case strings.Contains(e.Msg, "load statement"):
			d.Hint = "load at the top level of the file"
		case strings.Contains(e.Msg, "not in a loop"):
			d.Hint = "it belongs into a for loop"
		}
		return d
	}
	name := m[1]
	d.Summary = fmt.Sprintf("there is nothing named %q", name)
	d.Range.End = d.Range.Start
	d.Range.End.Column += len(name)
	d.Range.End.Byte += len(name)
	if hint, ok := replacements()[name]; ok {
		d.Hint = hint
		return d
	}
	if a, ok := foreignName(name); ok {
		d.Detail, d.Hint = a.Detail, a.Hint
		return d
	}
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	for n := range starlark.Universe {
		names = append(names, n)
	}
	slices.Sort(names)
	if _, hint := sandbox.SplitSuggestion(e.Msg); hint != "" {
		d.Hint = hint
	} else if near := diag.Nearest(name, names); near != "" {
		d.Hint = fmt.Sprintf("did you mean %s?", near)
	} else {
		d.Hint = "define it above, load it, or name what an HCL file declares: ref(\"state.NAME\"), var.NAME"
	}
	return d
}
