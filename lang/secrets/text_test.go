package secrets_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/secrets"
)

func names() *rapid.Generator[string] { return rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_-]{0,8}`) }

// texts are values of all kinds.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOf(rapid.SampledFrom([]rune("a \t\n\r\"\\<=#END\x00\u0085\u2028\ufeff☃\u00a0"))),
		rapid.SampledFrom([]string{"", "x", " x", "x ", "<<END", "END\n", "a\nEND\nEND2\n", `"x"`, "# x", "a = b", "-----BEGIN X-----\nabc\n-----END X-----\n"}),
	)
}

// Whatever is set is read back, from the file and from the text for editing.
func TestValuesSurvive(t *testing.T) {
	ada := newReader(t, "ada")
	to := recipients(t, ada.public)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOfN(names(), texts(), 0, 4).Draw(t, "values")
		f, err := secrets.New("secrets.age", to)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range values {
			if err := f.Set(name, v); err != nil {
				t.Fatal(err)
			}
		}
		f, list := secrets.Parse("secrets.age", f.Bytes())
		if len(list) > 0 {
			t.Fatal(list)
		}
		key, err := f.Open([]secrets.Identity{ada.id})
		if err != nil {
			t.Fatal(err)
		}
		got, err := key.Values()
		if err != nil || fmt.Sprint(got) != fmt.Sprint(values) {
			t.Fatalf("%q, %v", got, err)
		}
		text := secrets.FormatText(values)
		got, list = secrets.ParseText("edited", []byte(text))
		if len(list) > 0 || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", values) {
			t.Fatalf("%q gives %q, %v", text, got, list)
		}
	})
}

func TestParseTextErrors(t *testing.T) {
	for text, want := range map[string]string{
		"hunter2":                    "1:1: the line is not NAME = VALUE",
		"a = 1\n2x = hunter2":        "2:1: the line is not NAME = VALUE",
		"a = <<END\nhunter2\n":       "1:1: the text of a has no end",
		"a = <<\nhunter2\n":          "1:1: the text of a has no end",
		"a = \"hunter2":              "1:1: the value of a begins with a quote",
		"a = hunter2\n\na = hunter3": "3:1: a has a value twice",
		"a = hunter2\xff":            "1:1: the value of a is no UTF-8",
	} {
		_, list := secrets.ParseText("edited", []byte(text))
		if got := list.Error(); !strings.Contains(got, "edited:"+want) || strings.Contains(got, "hunter") {
			t.Errorf("%q: %s", text, got)
		}
	}
}
