package diag

import (
	"strings"
	"unicode"
)

// Unsafe reports whether a terminal would take a character for something else than text:
// controls (C0, C1 and DEL), line ends and tabs among them, and what changes the direction of
// text. All that shows text from elsewhere goes by it.
func Unsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Clean is a text with a mark in the place of each unsafe character that is not among those
// to keep; without a mark where that is negative.
func Clean(s, keep string, mark rune) string {
	return strings.Map(func(r rune) rune {
		if Unsafe(r) && !strings.ContainsRune(keep, r) {
			return mark
		}
		return r
	}, s)
}

// Safe is a text without such characters, but for line ends and tabs.
func Safe(s string) string { return Clean(s, "\n\t", -1) }
