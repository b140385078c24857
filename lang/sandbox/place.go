package sandbox

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// source finds the bytes of positions.
type source struct {
	name  string
	text  []byte
	lines []int // offsets at which they start
	hints []Hint
}

func newSource(name string, text []byte) *source {
	return &source{name: name, text: text, lines: diag.LineStarts(text)}
}

// rangeAt gives the range of the word or sign at a position.
func (s *source) rangeAt(pos syntax.Position) diag.Range {
	line := int(pos.Line)
	if line < 1 || line > len(s.lines) {
		return diag.Range{File: s.name}
	}
	offset := s.lines[line-1]
	for column := int32(1); column < pos.Col && offset < len(s.text) && s.text[offset] != '\n'; column++ {
		_, size := utf8.DecodeRune(s.text[offset:])
		offset += size
	}
	return s.point(offset)
}

// point gives the range of what is at an offset.
func (s *source) point(offset int) diag.Range {
	offset = min(offset, len(s.text))
	line := 1 + bytes.Count(s.text[:offset], []byte("\n"))
	start := s.lines[line-1]
	from := diag.Pos{Line: line, Column: 1 + utf8.RuneCount(s.text[start:offset]), Byte: offset}
	end := offset
	for end < len(s.text) && isWord(s.text[end]) {
		end++
	}
	if end == offset && end < len(s.text) && s.text[end] != '\n' {
		_, size := utf8.DecodeRune(s.text[end:])
		end += size
	}
	to := diag.Pos{Line: line, Column: from.Column + utf8.RuneCount(s.text[offset:end]), Byte: end}
	return diag.Range{File: s.name, Start: from, End: to}
}

// atPosition is at, for a position that may be in another file, whose bytes are
// not at hand.
func (s *source) atPosition(pos syntax.Position) diag.Range {
	if pos.Filename() == s.name {
		return s.rangeAt(pos)
	}
	at := diag.Pos{Line: int(pos.Line), Column: int(pos.Col)}
	return diag.Range{File: pos.Filename(), Start: at, End: at}
}

// mistake makes a diagnostic of what the parser or the resolver says.
func (s *source) mistake(pos syntax.Position, text string) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Error, Summary: removePrefix(text), Range: s.rangeAt(pos)}
	if message, hint := SplitSuggestion(text); hint != "" {
		d.Summary, d.Hint = removePrefix(message), hint
	} else {
		for _, h := range append(s.hints[:len(s.hints):len(s.hints)], hints()...) {
			if strings.Contains(text, h.Text) {
				d.Hint = h.Hint
				break
			}
		}
	}
	return d
}

// SplitSuggestion takes the suggestion "(did you mean NAME?)" off the end of a message
// of Starlark. The hint is "" where there is none.
func SplitSuggestion(text string) (message, hint string) {
	message, hint, _ = strings.Cut(text, " (did you mean ")
	if name, ok := strings.CutSuffix(hint, "?)"); ok {
		return message, "did you mean " + name + "?"
	}
	return text, ""
}

// Hint is what to say about a mistake whose message holds Text.
type Hint struct{ Text, Hint string }

// hints say what to write in place of what Starlark has not.
func hints() []Hint {
	const noExceptions = "there are no exceptions in Starlark: look before you act, and end with fail(MESSAGE)"
	const noImport = `there is no import in Starlark: load("lib.star", "name")`
	return []Hint{
		{"undefined: true", "write True"},
		{"undefined: false", "write False"},
		{"undefined: null", "write None"},
		{"undefined: nil", "write None"},
		{"undefined: open", "Starlark has no files of its own"},
		{"undefined: re", "Starlark has no regular expressions of its own: use the methods of strings"},
		{"undefined: os", noImport},
		{"undefined: isinstance", `write type(x) == "string"`},
		{"undefined: sum", "add up in a loop"},
		{"undefined: Exception", noExceptions},
		{"got 'import'", noImport},
		{"got import", noImport},
		{"got try", noExceptions},
		{"got raise", noExceptions},
		{"got except", noExceptions},
		{"got class", "there are no classes in Starlark: use dicts and functions"},
		{"got while", "there is no while in Starlark: use for with a range"},
		{"got with", "there is no with in Starlark"},
		{"does not support while loops", "use for with a range"},
		{"not within a function", "put it into a def"},
	}
}

// removePrefix takes out the names of what Compile has put in.
func removePrefix(text string) string { return strings.ReplaceAll(text, prefix, "") }
