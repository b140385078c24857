package star

import (
	"fmt"
	"unicode/utf8"

	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// checkNesting refuses a source that nests too deep before it is parsed: the
// parser and all that follows recurse, and cannot be stopped. It knows just
// enough of the syntax: brackets, indentation, strings, comments and operators.
func checkNesting(f *file, limit int) *diag.Diagnostic {
	n := &nesting{src: f.src, limit: limit, levels: []level{{}}, newline: true}
	for n.at < len(n.src) {
		n.step()
		chain := n.levels[len(n.levels)-1].chain
		if n.depth() <= limit && chain <= expr.MaxChain {
			continue
		}
		start := starsyntax.MakePosition(&f.name, 1, 1)
		for i, begin := range f.lines {
			if begin <= n.start {
				start.Line = int32(i + 1)
				start.Col = int32(utf8.RuneCount(f.src[begin:n.start]) + 1)
			}
		}
		d := &diag.Diagnostic{Severity: diag.Error, Range: expr.Range(f.at(start)),
			Summary: fmt.Sprintf("the source nests deeper than %d levels", limit),
			Detail:  "Brackets, indentation, operators and conditionals within one another are limited.",
			Hint:    "give parts of the expression names, or move them into functions"}
		if chain > expr.MaxChain {
			d.Summary, d.Detail = fmt.Sprintf("the expression has more than %d operators", expr.MaxChain), ""
		}
		return d
	}
	return nil
}

// nesting counts how deep the parser's recursion is.
type nesting struct {
	src     []byte
	at      int
	start   int // of the current token
	limit   int
	levels  []level // the statement, and each open bracket
	sum     int     // of the nesting of all levels but the last
	newline bool    // at the beginning of a line outside of brackets
	operand bool    // the last token ended an operand
	indents []indent
	chains  int // of elif, of all indents
}

// level is the statement, or an open bracket.
type level struct {
	unary int // operators before the operand that comes
	right int // lambdas and conditionals, which last to the expression's end
	chain int // operators, calls and the like
}

// indent is a block of statements that is open.
type indent struct{ column, elifs int }

func (n *nesting) depth() int {
	top := n.levels[len(n.levels)-1]
	return n.sum + len(n.levels) - 1 + top.unary + top.right + max(len(n.indents)-1, 0) + n.chains
}

func (n *nesting) top() *level { return &n.levels[len(n.levels)-1] }

func (n *nesting) step() {
	if n.newline && len(n.levels) == 1 {
		n.newline = false
		n.indentation()
		return
	}
	n.start = n.at
	c := n.src[n.at]
	n.at++
	switch {
	case c == '\n':
		if len(n.levels) == 1 {
			n.levels[0], n.newline, n.operand = level{}, true, false
		}
	case c == ' ' || c == '\t' || c == '\r':
	case c == '\\':
		n.at = min(n.at+1, len(n.src))
	case c == '#':
		for n.at < len(n.src) && n.src[n.at] != '\n' {
			n.at++
		}
	case c == '"' || c == '\'':
		n.text(c)
		n.operands()
	case c == '(' || c == '[' || c == '{':
		n.top().chain++
		top := n.top()
		n.sum += top.unary + top.right
		n.levels = append(n.levels, level{})
		n.operand = false
	case c == ')' || c == ']' || c == '}':
		if len(n.levels) > 1 {
			n.levels = n.levels[:len(n.levels)-1]
			top := n.top()
			n.sum -= top.unary + top.right
		}
		n.operands()
	case c == ',' || c == ';':
		*n.top() = level{}
		n.operand = false
	case isWord(c):
		for n.at < len(n.src) && isWord(n.src[n.at]) {
			n.at++
		}
		n.word(string(n.src[n.start:n.at]))
	default:
		n.operator(c)
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// operands ends the operators before an operand.
func (n *nesting) operands() {
	n.top().unary = 0
	n.operand = true
}

func (n *nesting) operator(c byte) {
	if !n.operand && (c == '-' || c == '+' || c == '~') {
		n.top().unary++
		return
	}
	if c != '.' && c != ':' && c != '=' {
		n.operand = false
	}
	n.top().chain++
}

func (n *nesting) word(w string) {
	top := n.top()
	switch w {
	case "not":
		if n.operand { // not in
			top.chain++
		} else {
			top.unary++
		}
		n.operand = false
	case "lambda":
		top.right++
		n.operand = false
	case "if":
		if n.operand || len(n.levels) > 1 {
			top.right++
		}
		n.operand = false
	case "for":
		top.chain++
		n.operand = false
	case "and", "or", "in":
		top.chain++
		n.operand = false
	case "else", "elif", "return", "def", "pass", "break", "continue":
		n.operand = false
	default:
		if len(w) <= 2 && n.at < len(n.src) && (n.src[n.at] == '"' || n.src[n.at] == '\'') && (w == "r" || w == "b" || w == "rb") {
			return // a string's prefix; what is escaped in it makes no difference
		}
		n.operands()
	}
}

// text goes to the end of a string.
func (n *nesting) text(quote byte) {
	triple := n.at+1 < len(n.src) && n.src[n.at] == quote && n.src[n.at+1] == quote
	if triple {
		n.at += 2
	}
	for n.at < len(n.src) {
		c := n.src[n.at]
		n.at++
		switch {
		case c == '\\':
			n.at = min(n.at+1, len(n.src))
		case c == '\n' && !triple:
			n.at-- // not closed: the parser will say so
			return
		case c == quote && !triple:
			return
		case c == quote && n.at+1 < len(n.src) && n.src[n.at] == quote && n.src[n.at+1] == quote:
			n.at += 2
			return
		}
	}
}

// indentation looks at the beginning of a line.
func (n *nesting) indentation() {
	column := 0
	at := n.at
	for ; at < len(n.src) && (n.src[at] == ' ' || n.src[at] == '\t'); at++ {
		column++
		if n.src[at] == '\t' {
			column += 7
		}
	}
	n.start, n.at = at, at
	if at >= len(n.src) || n.src[at] == '\n' || n.src[at] == '#' || n.src[at] == '\r' {
		return // nothing on it
	}
	for len(n.indents) > 0 && n.indents[len(n.indents)-1].column > column {
		n.chains -= n.indents[len(n.indents)-1].elifs
		n.indents = n.indents[:len(n.indents)-1]
	}
	if len(n.indents) == 0 || n.indents[len(n.indents)-1].column < column {
		n.indents = append(n.indents, indent{column: column})
	}
	top := &n.indents[len(n.indents)-1]
	rest := n.src[at:min(at+5, len(n.src))]
	switch {
	case string(rest[:min(4, len(rest))]) == "elif":
		top.elifs++
		n.chains++
	case string(rest[:min(4, len(rest))]) == "else":
	default:
		n.chains -= top.elifs
		top.elifs = 0
	}
}
