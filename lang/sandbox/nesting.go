package sandbox

import (
	"bytes"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// The limits on what the parser, the compiler and all that walks a tree recurse over:
// they cannot be stopped.
const (
	maxNesting = 250    // brackets, indentation, conditionals, and operators before an operand
	MaxChain   = 10_000 // operators of one expression, or branches of conditions, beside one another
)

// Excess is why a source is not to be parsed.
type Excess struct {
	Position syntax.Position // at which the limit is passed
	Chain    string          // "operators" or "branches" where there are more than MaxChain; "": it nests too deep
}

// CheckNesting refuses a source that nests deeper than limit, or in which more than
// MaxChain operators or branches stand beside one another, before any parser runs. It knows just enough of the
// syntax: brackets, indentation, strings, comments and operators. nil: it may be parsed.
func CheckNesting(name string, src []byte, limit int) *Excess {
	n := &nesting{src: src, levels: []level{{}}, newline: true}
	for n.at < len(n.src) {
		n.step()
		chain, exceeded := "", n.depth() > limit
		switch {
		case n.top().chain > MaxChain:
			chain, exceeded = "operators", true
		case n.elifs > MaxChain:
			chain, exceeded = "branches", true
		}
		if exceeded {
			return &Excess{Position: positionAt(name, src, n.start), Chain: chain}
		}
	}
	return nil
}

// positionAt gives the position of an offset, as the parser does.
func positionAt(name string, src []byte, offset int) syntax.Position {
	before := src[:offset]
	line := bytes.LastIndexByte(before, '\n') + 1
	return syntax.MakePosition(&name, int32(bytes.Count(before, []byte("\n"))+1), int32(utf8.RuneCount(before[line:])+1))
}

// nesting counts how deep the parser's recursion is.
type nesting struct {
	src     []byte
	at      int
	start   int     // of the current token
	levels  []level // the statement, and each open bracket
	sum     int     // of the nesting of all levels but the last
	newline bool    // at the beginning of a line outside of brackets
	operand bool    // the last token ended an operand
	indents []indent
	elifs   int // of all indents
}

// level is the statement, or an open bracket.
type level struct {
	unary int // operators before the operand that comes
	right int // lambdas and conditionals, which last to the expression's end
	chain int // operators, calls and the like
	// lambdas are those whose parameters are not over, between which commas stand.
	lambdas int
}

// indent is a block of statements that is open.
type indent struct{ column, elifs int }

func (n *nesting) depth() int {
	top := n.levels[len(n.levels)-1]
	return n.sum + len(n.levels) - 1 + top.unary + top.right + max(len(n.indents)-1, 0)
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
		if n.top().lambdas == 0 {
			*n.top() = level{}
		}
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
	if c == ':' {
		n.top().lambdas = max(n.top().lambdas-1, 0)
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
		top.lambdas++
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
		n.elifs -= n.indents[len(n.indents)-1].elifs
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
		n.elifs++
	case string(rest[:min(4, len(rest))]) == "else":
	default:
		n.elifs -= top.elifs
		top.elifs = 0
	}
}
