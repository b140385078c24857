package line

import "testing"

// What is not touched keeps every byte.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\r\nb\n", "\n\n", "a\rb", "\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if is := parse(s).String(); is != s {
			t.Errorf("%q became %q", s, is)
		}
	})
}
