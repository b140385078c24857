// Package rules says what differs between two documents, and which rule each difference belongs to: documents are plain data (nil, bool,
// json.Number, string, []any, map[string]any), and nothing here knows a language or a host.
package rules

import (
	"fmt"
	"strings"
)

// Selector selects nodes of a document: fields from the outermost on, each with what tells its elements apart.
//
//	Selector = Step { "." Step }
//	Step     = FIELD [ "[" ( "*" | KEY { "," KEY } ) "]" ]
//
// A field or key with other characters than letters, digits, _ and - stands in double quotes, in which \" and \\ are a quote and a backslash.
type Selector []Step

// Step is one field of a selector. With keys it selects the objects of a list, which these fields of theirs tell apart; with Each, all
// elements of a map or a list; with neither, the field itself.
type Step struct {
	Field string
	Keys  []string
	Each  bool
}

// selects reports whether a step selects elements.
func (s Step) selects() bool { return s.Each || len(s.Keys) > 0 }

// SyntaxError is a mistake in a selector.
type SyntaxError struct {
	Offset  int // in bytes
	Message string
}

// Error says what is wrong.
func (e *SyntaxError) Error() string { return e.Message }

// ParseSelector reads a selector. Its error is a *SyntaxError.
func ParseSelector(text string) (Selector, error) {
	p := selectorParser{text: text}
	var s Selector
	for {
		step, err := p.step()
		if err != nil {
			return nil, err
		}
		s = append(s, step)
		if p.at == len(text) {
			return s, nil
		}
		if err := p.expect('.'); err != nil {
			return nil, err
		}
	}
}

type selectorParser struct {
	text string
	at   int
}

func (p *selectorParser) fail(format string, args ...any) error {
	return &SyntaxError{p.at, fmt.Sprintf(format, args...)}
}

func (p *selectorParser) is(c byte) bool { return p.at < len(p.text) && p.text[p.at] == c }

func (p *selectorParser) expect(c byte) error {
	if !p.is(c) {
		return p.fail("%q is expected here", c)
	}
	p.at++
	return nil
}

func (p *selectorParser) step() (step Step, err error) {
	if step.Field, err = p.name("a field"); err != nil || !p.is('[') {
		return step, err
	}
	p.at++
	if p.is('*') {
		p.at++
		step.Each = true
		return step, p.expect(']')
	}
	for {
		begin := p.at
		key, err := p.name("a key, or *,")
		if err != nil {
			return step, err
		}
		for _, other := range step.Keys {
			if other == key {
				p.at = begin
				return step, p.fail("the key %q is there twice", key)
			}
		}
		step.Keys = append(step.Keys, key)
		if !p.is(',') {
			return step, p.expect(']')
		}
		p.at++
		for p.is(' ') {
			p.at++
		}
	}
}

func isPlain(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *selectorParser) name(what string) (string, error) {
	begin := p.at
	if p.is('"') {
		return p.quoted()
	}
	for p.at < len(p.text) && isPlain(p.text[p.at]) {
		p.at++
	}
	if p.at == begin {
		return "", p.fail("%s is expected here; a name with other characters than letters, digits, _ and - stands in quotes", what)
	}
	return p.text[begin:p.at], nil
}

func (p *selectorParser) quoted() (string, error) {
	begin := p.at
	var out strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return out.String(), nil
		case c == '\\':
			if p.at++; p.at == len(p.text) || p.text[p.at] != '"' && p.text[p.at] != '\\' {
				return "", p.fail(`behind \ stands " or \`)
			}
			c = p.text[p.at]
		}
		out.WriteByte(c)
	}
	p.at = begin
	return "", p.fail("this quote is not closed")
}

// String gives the selector as it can be read again.
func (s Selector) String() string {
	var out strings.Builder
	for i, step := range s {
		if i > 0 {
			out.WriteByte('.')
		}
		out.WriteString(quoteName(step.Field))
		switch {
		case step.Each:
			out.WriteString("[*]")
		case len(step.Keys) > 0:
			keys := make([]string, len(step.Keys))
			for i, k := range step.Keys {
				keys[i] = quoteName(k)
			}
			out.WriteString("[" + strings.Join(keys, ",") + "]")
		}
	}
	return out.String()
}

func quoteName(name string) string {
	plain := name != ""
	for i := range len(name) {
		plain = plain && isPlain(name[i])
	}
	if plain {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
