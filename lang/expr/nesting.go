package expr

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// DefaultMaxNesting is how deep brackets, unary operators and conditionals may
// nest: the parsers recurse, and cannot be stopped.
const DefaultMaxNesting = 250

// MaxChain is how many operators, calls, attributes and indexes one expression may
// have beside one another. They do not nest for a reader, but for all that walks
// its tree, which needs memory for each.
const MaxChain = 10_000

// CheckNesting refuses a source in native syntax, or a template, that nests
// deeper than limit or has an expression of more than MaxChain operators, before
// any parser runs. It knows just enough of the
// syntax: brackets, strings, templates, comments and the operators that make
// the parser recurse.
func CheckNesting(file string, src []byte, isTemplate bool, limit int) *diag.Diagnostic {
	n := nesting{src: src, limit: limit}
	if isTemplate {
		n.push(inTemplate)
		n.depth = 0 // the template itself is no nesting
	}
	return n.run(file)
}

// SplitSource is CheckNesting for a source in native syntax, which it also cuts into
// pieces of at least size bytes, at ends of lines where nothing is open. The
// HCL library holds all tokens of what it parses, which for a large source are
// many times its size; of pieces it holds few at a time.
func SplitSource(file string, src []byte, size, limit int) (pieces [][]byte, tooDeep *diag.Diagnostic) {
	n := nesting{src: src, limit: limit, size: size}
	if err := n.run(file); err != nil {
		return nil, err
	}
	return append(n.pieces, src[n.cut:]), nil
}

// StatementSize gives the size of what stands before the first end of a line where nothing is
// open, with that end; the whole, where there is none.
func StatementSize(src []byte) int {
	n := nesting{src: src, limit: math.MaxInt, size: 1}
	for n.at < len(src) && len(n.pieces) == 0 {
		n.step()
	}
	return min(n.at, len(src)) // after an escape at the end it is beyond
}

func (n *nesting) run(file string) *diag.Diagnostic {
	for n.at < len(n.src) && n.depth <= n.limit && n.top().chain <= MaxChain {
		n.step()
	}
	at := min(n.at, len(n.src)-1)
	switch {
	case n.depth > n.limit:
		return nestingError(placeOf(file, n.src, at), n.limit)
	case n.top().chain > MaxChain:
		return chainError(placeOf(file, n.src, at-1))
	}
	return nil
}

// step goes over what comes next.
func (n *nesting) step() {
	switch n.top().mode {
	case inQuotes, inHeredoc, inTemplate:
		n.text()
	case inRaw:
		n.rawText()
	default:
		n.code()
	}
}

// nesting counts how deep the parser's recursion is.
type nesting struct {
	src   []byte
	at    int
	limit int
	depth int // open brackets, strings, operators and template directives
	stack []level

	size   int // of pieces, in bytes; 0: no pieces
	cut    int // where the current piece starts
	pieces [][]byte
	raw    []rawHeredoc
}

// level is an open bracket or string, or the whole source.
type level struct {
	mode      mode
	operators int    // unary and conditional operators of the expression within
	chain     int    // operators, calls, attributes and indexes of the expression within
	end       []byte // a heredoc's marker
}

type mode byte

const (
	inBody     mode = iota // between braces, and at the top: a newline ends an expression
	inBrackets             // between brackets and parentheses, where it does not
	inInterpolation
	inQuotes
	inHeredoc
	inTemplate // a template file
	inRaw      // a heredoc whose marker stands in quotes
)

func (n *nesting) top() *level {
	if len(n.stack) == 0 {
		n.stack = append(n.stack, level{mode: inBody})
	}
	return &n.stack[len(n.stack)-1]
}

func (n *nesting) push(m mode) *level {
	n.top()
	n.stack = append(n.stack, level{mode: m})
	n.depth++
	return n.top()
}

func (n *nesting) pop() {
	n.endExpression()
	if len(n.stack) > 1 {
		n.stack = n.stack[:len(n.stack)-1]
		n.depth--
	}
}

func (n *nesting) endExpression() {
	n.depth -= n.top().operators
	n.top().operators = 0
	n.top().chain = 0
}

// code takes one step outside of strings.
func (n *nesting) code() {
	c := n.src[n.at]
	rest := n.src[n.at:]
	n.at++
	switch c {
	case '{':
		n.push(inBody)
	case '[', '(':
		n.top().chain++
		n.push(inBrackets)
	case '}', ']', ')':
		n.pop()
	case '"':
		n.push(inQuotes)
	case ',':
		n.endExpression()
	case '\n':
		if n.top().mode == inBody {
			n.endExpression()
		}
		if n.size > 0 && len(n.stack) == 1 && n.at-n.cut >= n.size {
			n.pieces, n.cut = append(n.pieces, n.src[n.cut:n.at]), n.at
		}
	case '!', '-', '?':
		n.top().operators++
		n.depth++
	case '#':
		n.skipTo("\n")
	case '/':
		if bytes.HasPrefix(rest, []byte("//")) {
			n.skipTo("\n")
		} else if bytes.HasPrefix(rest, []byte("/*")) {
			n.at++
			n.skipTo("*/")
		} else {
			n.top().chain++
		}
	case '<':
		n.top().chain++
		n.heredoc(rest)
	case '=', '&', '|':
		if len(rest) > 1 && rest[1] == c {
			n.top().chain++
			n.at++
		}
	case '+', '*', '%', '>', '.':
		n.top().chain++
	}
}

// skipTo moves before the text, or to the end. A newline is left to be seen.
func (n *nesting) skipTo(end string) {
	i := bytes.Index(n.src[n.at:], []byte(end))
	switch {
	case i < 0:
		n.at = len(n.src)
	case end == "\n":
		n.at += i
	default:
		n.at += i + len(end)
	}
}

// heredoc opens <<MARKER or <<-MARKER.
func (n *nesting) heredoc(rest []byte) {
	line, _, found := bytes.Cut(rest, []byte("\n"))
	marker, ok := bytes.CutPrefix(line, []byte("<<"))
	marker = bytes.TrimSuffix(bytes.TrimPrefix(marker, []byte("-")), []byte("\r"))
	isRaw := len(marker) > 2 && marker[0] == '\'' && marker[len(marker)-1] == '\''
	if isRaw {
		marker = marker[1 : len(marker)-1]
	}
	if !ok || !found || !hclsyntax.ValidIdentifier(string(marker)) {
		return
	}
	start := n.at - 1
	n.at += len(line)
	n.push(inHeredoc).end = marker
	if isRaw {
		n.top().mode = inRaw
		n.raw = append(n.raw, rawHeredoc{start: start, text: n.at, end: len(n.src), marker: string(marker)})
	}
	n.heredocEnd()
}

// rawText goes to the end of a line of a raw heredoc.
func (n *nesting) rawText() {
	n.skipTo("\n")
	if n.at < len(n.src) {
		n.at++
		n.heredocEnd()
	}
}

// heredocEnd leaves the heredoc if the line at n.at is its marker.
func (n *nesting) heredocEnd() {
	line, _, _ := bytes.Cut(n.src[n.at:], []byte("\n"))
	if bytes.Equal(bytes.TrimSpace(line), n.top().end) {
		if n.top().mode == inRaw {
			n.raw[len(n.raw)-1].end = n.at
		}
		n.at += len(line)
		n.pop()
	}
}

// text takes one step within a string or a template.
func (n *nesting) text() {
	m := n.top().mode
	stops := "$%\"\\\n"
	i := bytes.IndexAny(n.src[n.at:], stops)
	if i < 0 {
		n.at = len(n.src)
		return
	}
	n.at += i
	rest := n.src[n.at:]
	n.at++
	switch rest[0] {
	case '\\':
		if m == inQuotes {
			n.at++
		}
	case '"':
		if m == inQuotes {
			n.pop()
		}
	case '\n':
		if m == inHeredoc {
			n.heredocEnd()
		}
	default:
		n.sequence(rest)
	}
}

// sequence opens ${ or %{; a doubled sign escapes it.
func (n *nesting) sequence(rest []byte) {
	sign := rest[0]
	switch {
	case len(rest) > 2 && rest[1] == sign && rest[2] == '{':
		n.at += 2
	case len(rest) > 1 && rest[1] == '{':
		n.at++
		if sign == '%' {
			n.directive(rest[2:])
		}
		n.push(inInterpolation)
	}
}

// directive counts %{ if } and %{ for }, which end far from where they begin.
func (n *nesting) directive(rest []byte) {
	word := bytes.TrimLeft(rest, "~ \t\r\n")
	switch {
	case bytes.HasPrefix(word, []byte("if")), bytes.HasPrefix(word, []byte("for")):
		n.depth++
	case bytes.HasPrefix(word, []byte("endif")), bytes.HasPrefix(word, []byte("endfor")):
		n.depth--
	}
}

func nestingError(at diag.Range, limit int) *diag.Diagnostic {
	return &diag.Diagnostic{Severity: diag.Error,
		Summary: fmt.Sprintf("the source nests deeper than %d levels", limit),
		Detail:  "Brackets, operators and conditionals within one another are limited.",
		Hint:    "give parts of the expression names, in locals", Range: at}
}

func chainError(at diag.Range) *diag.Diagnostic {
	return &diag.Diagnostic{Severity: diag.Error,
		Summary: fmt.Sprintf("the expression has more than %d operators", MaxChain),
		Detail:  "Operators, calls, attributes and indexes of one expression are limited.",
		Hint:    "give parts of the expression names, in locals, or use a function over a list, such as sum or join", Range: at}
}

// placeOf is the range of one character of a source.
func placeOf(file string, src []byte, i int) diag.Range {
	i = max(i, 0)
	before := src[:i]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return diag.Range{File: file, Start: diag.Pos{Line: line, Column: column, Byte: i},
		End: diag.Pos{Line: line, Column: column + 1, Byte: min(i+1, len(src))}}
}

// CheckJSONNesting is CheckNesting for JSON. Its strings are checked when they
// are read as templates.
func CheckJSONNesting(file string, src []byte, limit int) *diag.Diagnostic {
	depth, quoted := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > limit {
			return nestingError(placeOf(file, src, i), limit)
		}
	}
	return nil
}

// CheckUTF8 reports the first byte of a source that is not UTF-8 text, or is NUL,
// which no text holds: a parser would have something to say about each.
func CheckUTF8(file string, src []byte) *diag.Diagnostic {
	if i := bytes.IndexByte(src, 0); i >= 0 && utf8.Valid(src) {
		return &diag.Diagnostic{Severity: diag.Error, Summary: "the file is not text",
			Detail: fmt.Sprintf("It holds a NUL byte; it has %d bytes.", len(src)),
			Hint:   "restore it from a copy, or name a file of any bytes in the attribute source of a part", Range: placeOf(file, src, i)}
	}
	if utf8.Valid(src) {
		return nil
	}
	i := 0
	for {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	detail := "A source is UTF-8; this byte begins no character."
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		detail = "It looks like UTF-16."
	}
	return &diag.Diagnostic{Severity: diag.Error, Summary: "the file is not UTF-8 text",
		Detail: detail,
		Hint:   "save the file as UTF-8; bytes of any kind go into a file of their own, which the attribute source names",
		Range:  placeOf(file, src, i)}
}
