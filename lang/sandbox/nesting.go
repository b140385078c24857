package sandbox

import (
	"bytes"
	"strings"
)

// The limits on what the parser and the compiler recurse over.
const (
	maxNesting = 250    // brackets, and operators before an expression
	maxChain   = 10_000 // operators after each other in one expression
)

// nesting finds where a source nests too deep, before any parser runs: the
// parsers recurse, and cannot be stopped. It knows just enough of the syntax.
type nesting struct {
	src   []byte
	at    int
	depth int // of all open levels
	elifs int // each is nested in the one before
	open  []level
}

// level is an open bracket, or the logical line.
type level struct {
	prefixes int // operators and words that an expression recurses on
	chain    int // operators and brackets behind an expression
}

// tooDeep gives the offset at which the source nests too deep, or -1.
func tooDeep(src []byte) int {
	n := nesting{src: src, open: []level{{}}}
	for n.at < len(src) {
		if !n.token() {
			return n.at
		}
	}
	return -1
}

func (n *nesting) top() *level { return &n.open[len(n.open)-1] }

// token passes one token. It returns false at one that is too deep.
func (n *nesting) token() bool {
	switch c := n.src[n.at]; {
	case c == '#':
		n.skipTo('\n')
	case c == '"' || c == '\'':
		n.text(c)
		return true
	case c == '\n':
		n.at++
		if len(n.open) == 1 {
			n.fresh()
		}
		return true
	case c == '\\':
		n.at++ // the line goes on
	case strings.IndexByte("([{", c) >= 0:
		if !n.link() {
			return false
		}
		n.open = append(n.open, level{})
		n.depth++
	case strings.IndexByte(")]}", c) >= 0:
		if len(n.open) > 1 {
			n.fresh()
			n.open = n.open[:len(n.open)-1]
			n.depth--
		}
	case c == ',' || c == ';':
		n.fresh()
	case strings.IndexByte("+-~", c) >= 0: // may be unary
		if !n.sign() {
			return false
		}
	case strings.IndexByte(".*/%|&^<>=!", c) >= 0:
		if !n.link() {
			return false
		}
	case isWord(c):
		return n.word()
	}
	n.at++
	return n.depth <= maxNesting
}

// fresh begins an expression anew.
func (n *nesting) fresh() {
	n.depth -= n.top().prefixes
	*n.top() = level{}
}

// sign counts + or -. Only what follows another operator, or begins an
// expression, is unary.
func (n *nesting) sign() bool {
	before := bytes.TrimRight(n.src[:n.at], " \t\\\n\r")
	if len(before) > 0 {
		if last := before[len(before)-1]; isWord(last) && !endsInOperator(before) || strings.IndexByte(`)]}"'`, last) >= 0 {
			return n.link()
		}
	}
	n.top().prefixes++
	n.depth++
	return true
}

// endsInOperator reports whether the last word stands before an expression.
func endsInOperator(src []byte) bool {
	end := len(src)
	start := end
	for start > 0 && isWord(src[start-1]) {
		start--
	}
	switch string(src[start:end]) {
	case "and", "or", "not", "in", "if", "else", "elif", "return", "lambda":
		return true
	}
	return false
}

// link counts one more operator of a chain.
func (n *nesting) link() bool {
	n.top().chain++
	return n.top().chain <= maxChain
}

func (n *nesting) word() bool {
	start := n.at
	for n.at < len(n.src) && isWord(n.src[n.at]) {
		n.at++
	}
	switch string(n.src[start:n.at]) {
	case "not", "lambda", "else":
		n.top().prefixes++
		n.depth++
	case "and", "or", "in", "if", "for":
		return n.link()
	case "elif":
		n.elifs++
		return n.elifs <= maxChain
	}
	return n.depth <= maxNesting
}

// text passes a string, as its prefix does not matter for where it ends.
func (n *nesting) text(quote byte) {
	triple := bytes.HasPrefix(n.src[n.at:], bytes.Repeat([]byte{quote}, 3))
	if n.at++; triple {
		n.at += 2
	}
	for n.at < len(n.src) {
		switch c := n.src[n.at]; {
		case c == '\\':
			n.at += 2
		case c == '\n' && !triple:
			return // not ended: the parser says so
		case c == quote && !triple:
			n.at++
			return
		case c == quote && bytes.HasPrefix(n.src[n.at:], bytes.Repeat([]byte{quote}, 3)):
			n.at += 3
			return
		default:
			n.at++
		}
	}
	n.at = min(n.at, len(n.src))
}

func (n *nesting) skipTo(c byte) {
	if i := bytes.IndexByte(n.src[n.at:], c); i >= 0 {
		n.at += i - 1
		return
	}
	n.at = len(n.src) - 1
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
