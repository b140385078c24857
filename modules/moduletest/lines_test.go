package moduletest_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
)

// What is not touched keeps every byte.
func FuzzLinesParse(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\r\nb\n", "\n\n", "a\rb", "\r\n", "\ufeff", "\ufeffa\n\ufeff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if is := lines.Parse(s).String(); is != s {
			t.Errorf("%q became %q", s, is)
		}
	})
}

func TestLinesSet(t *testing.T) {
	t.Parallel()
	is := func(line string) bool { return line == "b" || line == "B" }
	for _, c := range []struct{ text, set, without string }{
		{"", "new\n", ""},
		{"a", "a\nnew", "a"},
		{"a\nb\nc\nB\n", "a\nnew\nc\n", "a\nc\n"},
		{"a\r\nb", "a\r\nnew", "a"},
		{"b\nB", "new", ""},
		{"\ufeffb\r\nc\n", "\ufeffnew\r\nc\n", "\ufeffc\n"},
		{"\ufeffa\n", "\ufeffa\nnew\n", "\ufeffa\n"},
		{"a\nc\r\n", "a\nc\r\nnew\r\n", "a\nc\r\n"}, // as the line above ends
		{"\nb", "\nnew", "\n"},
	} {
		text := lines.Parse(c.text)
		if got := text.Set(text.Find(is), "new").String(); got != c.set {
			t.Errorf("%q set: %q, want %q", c.text, got, c.set)
		}
		if got := text.Without(text.Find(is), -1).String(); got != c.without {
			t.Errorf("%q without: %q, want %q", c.text, got, c.without)
		}
		if text.String() != c.text {
			t.Errorf("%q was changed in place: %q", c.text, text)
		}
	}
}

// A mark stays in front of the first line, whichever that is.
func TestLinesInsertAtTheTop(t *testing.T) {
	t.Parallel()
	if is := lines.Parse("\ufeffa\r\nb\n").Insert(0, "x").String(); is != "\ufeffx\r\na\r\nb\n" {
		t.Errorf("%q", is)
	}
}

// A text in UTF-16 would get lines in another encoding.
func TestLinesOtherEncodings(t *testing.T) {
	t.Parallel()
	h := host.NewMemory()
	if err := h.WriteFile(t.Context(), "/a", host.Text("\xff\xfea\x00\n\x00"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	if _, err := lines.Load(h, "/a"); err == nil || !strings.Contains(err.Error(), "convert it to UTF-8") {
		t.Error(err)
	}
}
