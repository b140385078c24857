package ui

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// SafeJSON gives a writer for JSON that a terminal may show: what the other outputs
// replace, such as controls that change the direction of text, is escaped, which means
// the same to whoever reads the JSON.
func SafeJSON(w io.Writer) io.Writer { return &safeJSON{w: w} }

type safeJSON struct {
	w           io.Writer
	partialRune []byte // the beginning of a character whose end is still to come
}

// Write writes with escapes. Outside of texts JSON has none of these characters.
func (j *safeJSON) Write(p []byte) (int, error) {
	text := append(j.partialRune, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				whole = start
			}
			break
		}
	}
	var out strings.Builder
	for rest := text[:whole]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if unprintable(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.Write(rest[:n])
		}
		rest = rest[n:]
	}
	j.partialRune = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(j.w, out.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
