package lines

import "testing"

// What is not touched keeps every byte.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\r\nb\n", "\n\n", "a\rb", "\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if is := Parse(s).String(); is != s {
			t.Errorf("%q became %q", s, is)
		}
	})
}

func TestSet(t *testing.T) {
	is := func(line string) bool { return line == "b" || line == "B" }
	for _, c := range []struct{ text, set, without string }{
		{"", "new\n", ""},
		{"a", "a\nnew", "a"},
		{"a\nb\nc\nB\n", "a\nnew\nc\n", "a\nc\n"},
		{"a\r\nb", "a\r\nnew", "a"},
		{"b\nB", "new", ""},
	} {
		text := Parse(c.text)
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
