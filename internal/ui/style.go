package ui

import (
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
)

// style colours text for a terminal, or leaves it as it is.
type style bool

func (s style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(t string) string   { return s.paint("1", t) }
func (s style) dim(t string) string    { return s.paint("2", t) }
func (s style) red(t string) string    { return s.paint("31", t) }
func (s style) green(t string) string  { return s.paint("32", t) }
func (s style) yellow(t string) string { return s.paint("33", t) }
func (s style) cyan(t string) string   { return s.paint("36", t) }

// clean makes text from a host safe for a terminal: control characters, which
// could move the cursor or change colours, are shown by their codes.
func clean(s string) string {
	if !strings.ContainsFunc(s, unprintable) && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			out.WriteString("\uFFFD")
		case unprintable(r):
			out.WriteString(visible(r))
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

func unprintable(r rune) bool {
	return r != '\n' && r != '\t' && diag.Unsafe(r)
}

// visible is caret notation for ASCII's controls, and \u{…} for others.
func visible(r rune) string {
	const hex = "0123456789abcdef"
	switch {
	case r < 0x20:
		return "^" + string(r+'@')
	case r == 0x7f:
		return "^?"
	}
	return `\u` + string([]byte{hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
}

// Line is Clean for what stands on a line of its own: a line's end in it, by which it
// could pass for more than it is, is shown as \n.
func Line(s string) string { return strings.ReplaceAll(clean(s), "\n", `\n`) }

// Clean makes text that came from outside safe for a terminal.
func Clean(s string) string { return clean(s) }

// Green paints what is well, where there are colours.
func Green(text string, color bool) string { return style(color).green(text) }

// Red paints what is not.
func Red(text string, color bool) string { return style(color).red(text) }
