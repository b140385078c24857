package moduletest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/systemd"
	"pgregory.net/rapid"
)

// What is quoted is read back as it was, is one line, and holds nothing that systemd
// would put something in the place of.
func TestSystemdQuote(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("ax01$%\"'\\ \n\t;ü\x7f\x01")))).Draw(t, "argv")
		text := systemd.Quote(argv)
		if strings.ContainsAny(text, "\n\r\x00") {
			t.Fatalf("%q has several lines", text)
		}
		if bare := strings.ReplaceAll(strings.ReplaceAll(text, "$$", ""), "%%", ""); strings.ContainsAny(bare, "$%") {
			t.Fatalf("%q has variables", text)
		}
		back, ok := systemd.Unquote(text)
		if !ok || !slices.Equal(back, argv) && len(argv)+len(back) > 0 {
			t.Fatalf("%q is read as %q", text, back)
		}
	})
}

func FuzzSystemdUnquote(f *testing.F) {
	for _, seed := range []string{`"a"`, `"a" "b%%"`, `"\x0a"`, `"\`, `"a"b`, `"$$"`, `a`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if words, ok := systemd.Unquote(text); ok && slices.Contains(words, "\x00never") {
			t.Error(words)
		}
	})
}

func FuzzSystemdCheckText(f *testing.F) {
	for _, seed := range []string{"[Unit]\nA=b\n", "[", "A=\\\n", "# \\\n[Service]\n=", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if systemd.CheckText("content", "a.service", text) == nil && !strings.Contains(text, "[") {
			t.Errorf("%q is accepted without a section", text)
		}
	})
}
