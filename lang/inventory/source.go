package inventory

import (
	"bytes"
	"cmp"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
)

// source is a text, for places in it.
type source struct {
	name  string
	data  []byte
	lines []int // where each begins
}

func newSource(name string, data []byte) *source {
	return &source{name: name, data: data, lines: diag.LineStarts(data)}
}

// pos gives the place of a byte.
func (s *source) pos(offset int) diag.Pos {
	offset = max(0, min(offset, len(s.data)))
	line := sort.SearchInts(s.lines, offset+1)
	start := s.lines[line-1]
	return diag.Pos{Line: line, Column: utf8.RuneCount(s.data[start:offset]) + 1, Byte: offset}
}

func (s *source) span(from, to int) diag.Range {
	return diag.Range{File: s.name, Start: s.pos(from), End: s.pos(to)}
}

// line gives a line, from 1, without white space around it.
func (s *source) line(number int) diag.Range {
	from, to := s.bounds(number)
	text := s.data[from:to]
	from += len(text) - len(bytes.TrimLeft(text, " \t"))
	return s.span(from, from+len(bytes.TrimSpace(text)))
}

func (s *source) bounds(number int) (from, to int) {
	number = max(1, min(number, len(s.lines)))
	from, to = s.lines[number-1], len(s.data)
	if number < len(s.lines) {
		to = s.lines[number] - 1
	}
	return from, to
}

// rangeAt gives the place of one character, by line and column as parsers count them.
func (s *source) rangeAt(line, column int) diag.Range {
	from, to := s.bounds(line)
	for range column - 1 {
		if from >= to {
			break
		}
		_, size := utf8.DecodeRune(s.data[from:to])
		from += size
	}
	return s.span(from, min(from+1, len(s.data)))
}

// problems collects what is wrong.
type problems struct {
	list      diag.List
	omissions map[unusable]*omission
}

// omission are the values that cannot be used for one reason.
type omission struct {
	names []string
	first diag.Range
}

func (p *problems) errorAt(at diag.Range, hint, format string, args ...any) {
	p.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(format, args...), Hint: hint, Range: at})
}

func (p *problems) warn(at diag.Range, hint, format string, args ...any) {
	p.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf(format, args...), Hint: hint, Range: at})
}

// omit notes a value that is left out.
func (p *problems) omit(name string, at diag.Range, why unusable) {
	if p.omissions == nil {
		p.omissions = map[unusable]*omission{}
	}
	l := p.omissions[why]
	if l == nil {
		l = &omission{first: at}
		p.omissions[why] = l
	}
	l.names = append(l.names, name)
}

// omissionDetail is how many names a warning lists.
const omissionDetail = 8

// finish reports what was left out.
func (p *problems) finish() {
	hints := map[unusable]string{
		isVault:    "move it to the site's own secrets: tenet secret set",
		isTemplate: "write the value itself, or compute it in the site: locals { … }",
	}
	for _, why := range []unusable{isVault, isTemplate} {
		l := p.omissions[why]
		if l == nil {
			continue
		}
		names := l.names
		more := ""
		if n := len(names) - omissionDetail; n > 0 {
			names, more = names[:omissionDetail], fmt.Sprintf(" and %d more", n)
		}
		p.list.Add(diag.Diagnostic{Severity: diag.Warning, Range: l.first, Hint: hints[why],
			Summary: fmt.Sprintf("%s %s, and is left out", names[0], why),
			Detail:  cmp.Or(otherNames(names[1:], more), "")})
	}
}

func otherNames(names []string, more string) string {
	if len(names) == 0 {
		return ""
	}
	return "So are " + strings.Join(names, ", ") + more + "."
}

func isJinja(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}
