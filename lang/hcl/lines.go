package hcl

import (
	"bytes"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// lines reads a source of whole lines, in which nothing is open at the end. Blocks that open
// and close in lines of their own, comments, and attributes whose value is a plain text, a
// whole number, true, false or null are read here, as long as they are ASCII; every other
// statement is parsed by the HCL library. The library looks at each character three times to
// count columns, which for sites of many files is most of the time that a run takes.
type lines struct {
	name  string
	src   []byte
	at    int      // the offset of the next byte
	line  int      // its number
	start int      // where its line starts
	base  hcl2.Pos // of src
	open  []*openBlock
}

// openBlock is a block whose end is still to come, or the whole source.
type openBlock struct {
	block *syntax.Block // nil: the whole source
	body  *syntax.Body
	names map[string]bool // of attributes; nil while there are few
}

// few is how many attributes of a body are looked through one by one.
const few = 16

// parseLines gives the tree of a source, and nil if anything is wrong in it: then the library
// says what.
func parseLines(name string, src []byte, start hcl2.Pos) *syntax.Body {
	root := &syntax.Body{Attributes: []*syntax.Attribute{}, Blocks: []*syntax.Block{}}
	root.Src = hcl2.Range{Filename: name, Start: start, End: start}
	l := &lines{name: name, src: src, line: start.Line, base: start, open: []*openBlock{{body: root}}}
	for l.at < len(src) {
		l.start = l.at
		if !l.statement() {
			l.at = l.start
			if !l.library() {
				return nil
			}
		}
	}
	if len(l.open) > 1 {
		return nil
	}
	root.Src.End = hcl2.Pos{Line: l.line, Column: 1, Byte: start.Byte + len(src)}
	return root
}

func (l *lines) top() *openBlock { return l.open[len(l.open)-1] }

// statement reads one line, and reports whether it could.
func (l *lines) statement() bool {
	l.blanks()
	switch c := l.peek(); {
	case c == '#' || c == '/' && bytes.HasPrefix(l.src[l.at:], []byte("//")):
		return l.comment()
	case c == '}':
		return l.close()
	case !isLetter(c):
		return l.end() // an empty line
	}
	from := l.at
	word, src := l.word()
	l.blanks()
	if l.peek() == '=' {
		return l.attribute(word, src)
	}
	return l.block(from, word, src)
}

// library lets the HCL library parse one statement.
func (l *lines) library() bool {
	size := expr.StatementSize(l.src[l.start:])
	b := parseNative(l.name, l.src[l.start:l.start+size], l.pos(l.start))
	if b == nil {
		return false
	}
	for _, a := range b.Attributes {
		if !l.add(a) {
			return false
		}
	}
	top := l.top().body
	top.Blocks = append(top.Blocks, b.Blocks...)
	l.at = l.start + size
	l.line += bytes.Count(l.src[l.start:l.at], []byte("\n"))
	return true
}

// add enters an attribute, unless there is one of its name.
func (l *lines) add(a *syntax.Attribute) bool {
	o := l.top()
	switch {
	case o.names == nil && len(o.body.Attributes) >= few:
		o.names = make(map[string]bool, 2*few)
		for _, other := range o.body.Attributes {
			o.names[other.Name] = true
		}
		fallthrough
	case o.names != nil:
		if o.names[a.Name] {
			return false
		}
		o.names[a.Name] = true
	case o.body.Attribute(a.Name) != nil:
		return false
	}
	o.body.Attributes = append(o.body.Attributes, a)
	return true
}

// comment skips one to the end of its line.
func (l *lines) comment() bool {
	if i := bytes.IndexByte(l.src[l.at:], '\n'); i >= 0 {
		l.at += i
	} else {
		l.at = len(l.src)
	}
	return l.src[l.at-1] != '\r' && l.end()
}

// block reads the labels of a block and its opening brace.
func (l *lines) block(from int, word string, src hcl2.Range) bool {
	b := &syntax.Block{Type: word, TypeRange: src, Header: src}
	for {
		l.blanks()
		var label string
		var at hcl2.Range
		switch c := l.peek(); {
		case c == '{':
			return l.openBrace(b)
		case c == '"':
			start := l.at
			text, ok := l.text()
			if !ok {
				return false
			}
			label, at = text, l.rangeOf(start, l.at)
		case isLetter(c):
			label, at = l.word()
		default:
			return false
		}
		b.Labels, b.LabelRanges = append(b.Labels, label), append(b.LabelRanges, at)
		b.Header = l.rangeOf(from, l.at)
	}
}

func (l *lines) openBrace(b *syntax.Block) bool {
	brace := l.rangeOf(l.at, l.at+1)
	l.at++
	if l.blanks(); l.peek() != '\n' { // a block in one line
		return false
	}
	b.Body = &syntax.Body{Src: brace, Attributes: []*syntax.Attribute{}, Blocks: []*syntax.Block{}}
	l.open = append(l.open, &openBlock{block: b, body: b.Body})
	return l.end()
}

// close reads a closing brace that stands alone.
func (l *lines) close() bool {
	if len(l.open) == 1 {
		return false
	}
	l.at++
	end := l.pos(l.at)
	if !l.end() {
		return false
	}
	o := l.top()
	o.body.Src.End = end
	l.open = l.open[:len(l.open)-1]
	top := l.top().body
	top.Blocks = append(top.Blocks, o.block)
	return true
}

// attribute reads a value that is a literal.
func (l *lines) attribute(name string, src hcl2.Range) bool {
	l.at++
	l.blanks()
	from := l.at
	var x hclsyntax.Expression
	switch c := l.peek(); {
	case c == '"':
		text, ok := l.text()
		if !ok {
			return false
		}
		inside := l.rangeOf(from+1, l.at-1)
		if l.at == from+2 { // as the library places what is empty
			inside = l.rangeOf(l.at, l.at)
		}
		x = &hclsyntax.TemplateExpr{SrcRange: l.rangeOf(from, l.at), Parts: []hclsyntax.Expression{
			&hclsyntax.LiteralValueExpr{Val: cty.StringVal(text), SrcRange: inside}}}
	default:
		for l.at < len(l.src) && (isLetter(l.src[l.at]) || isDigit(l.src[l.at])) {
			l.at++
		}
		v, ok := literal(string(l.src[from:l.at]))
		if !ok {
			return false
		}
		x = &hclsyntax.LiteralValueExpr{Val: v, SrcRange: l.rangeOf(from, l.at)}
	}
	return l.end() && l.add(&syntax.Attribute{Name: name, NameRange: src, Expr: &syntax.Expression{Expression: x}})
}

// literal gives the value of a word or of digits.
func literal(text string) (cty.Value, bool) {
	switch text {
	case "true":
		return cty.True, true
	case "false":
		return cty.False, true
	case "null":
		return cty.NullVal(cty.DynamicPseudoType), true
	}
	if text == "" || slices.ContainsFunc([]byte(text), func(c byte) bool { return !isDigit(c) }) {
		return cty.DynamicVal, false
	}
	v, err := cty.ParseNumberVal(text)
	return v, err == nil
}

// text reads a text in quotes, without interpolation.
func (l *lines) text() (string, bool) {
	l.at++
	from := l.at
	var changed []byte // the text so far, if an escape has changed it
	for ; l.at < len(l.src); l.at++ {
		c := l.src[l.at]
		if c == '"' {
			text := l.src[from:l.at]
			l.at++
			return string(append(changed, text...)), true
		}
		if c < ' ' || c > '~' || c == '$' || c == '%' {
			break
		}
		if c != '\\' {
			continue
		}
		if l.at+1 == len(l.src) {
			break
		}
		i := bytes.IndexByte([]byte(`nrt"\`), l.src[l.at+1])
		if i < 0 {
			break
		}
		changed = append(append(changed, l.src[from:l.at]...), "\n\r\t\"\\"[i])
		l.at++
		from = l.at + 1
	}
	return "", false
}

// word reads an identifier that begins here.
func (l *lines) word() (string, hcl2.Range) {
	from := l.at
	for l.at < len(l.src) && (isLetter(l.src[l.at]) || isDigit(l.src[l.at]) || l.src[l.at] == '-') {
		l.at++
	}
	return string(l.src[from:l.at]), l.rangeOf(from, l.at)
}

// end goes over the end of the line, and reports whether there is nothing before it.
func (l *lines) end() bool {
	l.blanks()
	if l.at == len(l.src) {
		return true
	}
	if l.src[l.at] != '\n' {
		return false
	}
	l.at++
	l.line++
	return true
}

func (l *lines) blanks() {
	for l.at < len(l.src) && (l.src[l.at] == ' ' || l.src[l.at] == '\t') {
		l.at++
	}
}

// peek gives the next byte; 0 at the end.
func (l *lines) peek() byte {
	if l.at == len(l.src) {
		return 0
	}
	return l.src[l.at]
}

// pos is that of a byte of the line.
func (l *lines) pos(at int) hcl2.Pos {
	return hcl2.Pos{Line: l.line, Column: 1 + at - l.start, Byte: l.base.Byte + at}
}

func (l *lines) rangeOf(from, to int) hcl2.Range {
	return hcl2.Range{Filename: l.name, Start: l.pos(from), End: l.pos(to)}
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
