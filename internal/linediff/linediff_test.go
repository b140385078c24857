package linediff

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"a\n", "a\n", ""},
		{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
	} {
		if got := Diff(c.a, c.b, 0); got != c.want {
			t.Errorf("%q → %q:\n%s\nwant\n%s", c.a, c.b, got, c.want)
		}
	}
}

// Patching a with the diff gives b, whatever they are.
func TestUnifiedPatches(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "-x", "+y", "@@"}), 0, 30).Draw(t, "lines")
		s := strings.Join(lines, "\n")
		if rapid.Bool().Draw(t, "ends") {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if got := patch(t, a, Diff(a, b, 0)); got != b {
			t.Fatalf("%q patched is %q, not %q\n%s", a, got, b, Diff(a, b, 0))
		}
	})
}

// patch applies a unified diff, checking its positions, counts and context.
func patch(t *rapid.T, a, diff string) string {
	old := strings.SplitAfter(a, "\n")
	if old[len(old)-1] == "" {
		old = old[:len(old)-1]
	}
	var out strings.Builder
	at := 0
	lines := strings.SplitAfter(diff, "\n")
	for i := 0; i < len(lines) && lines[i] != ""; i++ {
		l := lines[i]
		if strings.HasPrefix(l, "@@ ") {
			var start, count int
			if n, _ := fmt.Sscanf(l, "@@ -%d,%d", &start, &count); n < 2 {
				count = 1
			}
			if count > 0 {
				start--
			}
			for ; at < start; at++ {
				out.WriteString(old[at])
			}
			continue
		}
		body := l[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			body = strings.TrimSuffix(body, "\n")
			i++
		}
		if l[0] != '+' {
			if at >= len(old) || old[at] != body {
				t.Fatalf("the diff does not fit at line %d:\n%s", at+1, diff)
			}
			at++
		}
		if l[0] != '-' {
			out.WriteString(body)
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}

// Many different lines must neither be confused with one another nor take for ever.
func TestUnifiedOfManyLines(t *testing.T) {
	var a, b strings.Builder
	for i := range 70_000 {
		fmt.Fprintf(&a, "line %d\n", i)
		if i != 60_000 {
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	want := "@@ -59998,7 +59998,6 @@\n line 59997\n line 59998\n line 59999\n-line 60000\n line 60001\n line 60002\n line 60003\n"
	if got := Diff(a.String(), b.String(), 0); got != want {
		t.Errorf("got %s", got)
	}
	var x, y strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&x, "old %d\n", i)
		fmt.Fprintf(&y, "new %d\n", i)
	}
	if got := Diff(x.String(), y.String(), 0); strings.Count(got, "\n") != 100_001 {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}
