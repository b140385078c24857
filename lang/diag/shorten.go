package diag

import (
	"fmt"
	"strings"
)

// MaxText is how many bytes one text of a message has at most: what it quotes may be a
// whole file, or all that a program has printed.
const MaxText = 4 << 10

// Shorten gives a text of at most MaxText bytes: the beginning and the end of a longer one,
// and how much is left out between them. Secrets have to be hidden before, since half of
// one is not recognised.
func Shorten(text string) string {
	if len(text) <= MaxText {
		return text
	}
	const kept = (MaxText - 64) / 2 // at either end
	return fmt.Sprintf("%s … %d bytes more … %s", strings.ToValidUTF8(text[:kept], ""), len(text)-2*kept, strings.ToValidUTF8(text[len(text)-kept:], ""))
}

// shorten is the diagnostic with texts that somebody can read.
func (d Diagnostic) shorten() Diagnostic {
	d.Summary, d.Detail, d.Hint = Shorten(d.Summary), Shorten(d.Detail), Shorten(d.Hint)
	return d
}
