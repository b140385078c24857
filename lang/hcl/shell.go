package hcl

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/foreign"
)

// shellSequence is what begins like a template, and can only be meant for a shell, or for a
// program such as curl.
var shellSequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[$%]*(?:\$\{(?:[#!][A-Za-z_@*0-9]|[A-Za-z_]\w*(?:\[[@*]\]|:[-=?+]|[#%^,]|/|:\s?\d|[-+=?]\w*\})|[0-9@*?$-][}:#%/])[^}\n]*\}?|%\{[A-Za-z_]\w*\})`)
})

// sequence is one of them in a source.
type sequence struct {
	from, to int // bytes
	line     int // from 1
	// swallows says that the language takes the rest of the line for a comment.
	swallows bool
}

// shellSequences finds those of a source that no sign escapes.
func shellSequences(src []byte) (found []sequence) {
	for i, at := range diag.LineStarts(src) {
		line, _ := lineAt(src, at)
		for _, m := range shellSequence().FindAllStringIndex(line, -1) {
			text := line[m[0]:m[1]]
			signs := len(text) - len(strings.TrimLeft(text, text[:1]))
			if word := strings.Trim(text, "%{}"); signs > 1 || word == "else" || word == "endif" || word == "endfor" {
				continue
			}
			found = append(found, sequence{at + m[0], at + m[1], i + 1, strings.Contains(text, "#") || strings.Contains(text, "//")})
		}
	}
	return found
}

// ofShell reports whether a diagnostic comes of a sequence for a shell, and says so in its place.
func ofShell(name string, src []byte, found []sequence, d diag.Diagnostic) (diag.Diagnostic, sequence, bool) {
	for _, s := range found {
		if at := d.Range.Start.Line; s.line != at && !(s.swallows && s.line < at) {
			continue
		}
		text := string(src[s.from:s.to])
		hint := fmt.Sprintf("write %s%s", text[:1], text)
		return applyAdvice(diag.Diagnostic{Severity: diag.Error, Range: rangeIn(name, src, s.from, s.to)}, foreign.Advice{
			Summary: text + " is no template of the language",
			Detail:  "Text in quotes, and in a heredoc, is a template: what begins with ${ or %{ is computed here, and does not reach a shell or another program.",
			Hint:    hint + "; in a heredoc that begins with <<-'END' nothing is a template; a script may also stand in a file of its own, which the attribute source names"}), s, true
	}
	return d, sequence{}, false
}

// rangeIn is the range of a piece of one line.
func rangeIn(name string, src []byte, from, to int) diag.Range {
	line, before := lineAt(src, from)
	number := 1 + bytes.Count(src[:from], []byte("\n"))
	start := diag.Pos{Line: number, Column: 1 + len([]rune(line[:before])), Byte: from}
	end := diag.Pos{Line: number, Column: start.Column + len([]rune(string(src[from:to]))), Byte: to}
	return diag.Range{File: name, Start: start, End: end}
}
