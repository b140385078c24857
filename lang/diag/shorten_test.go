package diag

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a message quotes, it can be read, and is text.
func TestShorten(t *testing.T) {
	for n, first := range []string{"", "a", "ab", "abc"} { // so that a cut falls within a character
		text := first + strings.Repeat("🐢", 1<<20) + "end"
		short := Shorten(text)
		if len(short) > MaxText || !utf8.ValidString(short) || !strings.HasPrefix(short, first+"🐢") || !strings.HasSuffix(short, "🐢end") || !strings.Contains(short, " bytes more ") {
			t.Errorf("%d: %d bytes: %.100q", n, len(short), short)
		}
		if again := Shorten(short); again != short {
			t.Errorf("%d: it is cut again: %d of %d bytes", n, len(again), len(short))
		}
		for _, err := range []error{errors.New(text), Diagnostic{Summary: "s", Detail: text}} {
			if d := From(err)[0]; len(d.Summary) > MaxText || len(d.Detail) > MaxText {
				t.Errorf("%T: %d and %d bytes", err, len(d.Summary), len(d.Detail))
			}
		}
	}
	if whole := strings.Repeat("x", MaxText); Shorten(whole) != whole {
		t.Error("a text of the most bytes is cut")
	}
}
