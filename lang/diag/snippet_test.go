package diag_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
)

// mark makes a range of the piece between « and » in a source, and the source
// without them.
func mark(file, text string) (string, diag.Range) {
	before, rest, _ := strings.Cut(text, "«")
	piece, after, _ := strings.Cut(rest, "»")
	line := strings.Count(before, "\n") + 1
	start := diag.Pos{Line: line, Column: len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1, Byte: len(before)}
	end := start
	end.Byte += len(piece)
	return before + piece + after, diag.Range{File: file, Start: start, End: end}
}

func TestWrite(t *testing.T) {
	long := strings.Repeat("x", 80) + " «here» " + strings.Repeat("y", 80)
	tests := map[string]struct{ source, want string }{
		"simple": {"a = 1\n  b = «oops»\nc = 3\n", `
  on f.hcl:2:7
  2 |   b = oops
    |       ^^^^
`},
		"tab": {"\tb = «oops»", `
  on f.hcl:1:6
  1 |     b = oops
    |         ^^^^
`},
		"wide": {"名 = «前»", `
  on f.hcl:1:5
  1 | 名 = 前
    |      ^^
`},
		"several lines": {"a {«\n  b = 1\n»}", `
  on f.hcl:1:4
  1 | a {
    |    ^
`},
		"end of file": {"a = (\n«»", `
  on f.hcl:2:1
  2 | 
    | ^
`},
		"escape sequence": {"a = «\x1b[31m»", `
  on f.hcl:1:5
  1 | a = ·[31m
    |     ^^^^^
`},
		"long": {long, `
  on f.hcl:1:82
  1 | …xxxxxxxxxxxxxxxxxx here yyyyyyyyyyyyyyyyyyyyyyyyyyyy…
    |                     ^^^^
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			src, r := mark("f.hcl", tt.source)
			var b strings.Builder
			err := diag.Write(&b, diag.List{{Severity: diag.Error, Summary: "wrong", Range: r}}, diag.WriteOptions{
				Width: 60, Source: func(string) ([]byte, bool) { return []byte(src), true }})
			if err != nil {
				t.Fatal(err)
			}
			if want := "error: wrong" + tt.want; b.String() != want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
}

// A file name cannot write to the terminal, nor look like a line of ours.
// Lines that may hold a secret are not shown, those of other places are.
func TestWritePrivate(t *testing.T) {
	text, r := mark("vars.hcl", "password = «hunter2»\n")
	declared, at := mark("site.hcl", "«variable "+`"password"`+"» {\n")
	files := map[string]string{"vars.hcl": text, "site.hcl": declared}
	var b strings.Builder
	err := diag.Write(&b, diag.List{{Summary: "it does not fit", Range: r, Private: true,
		Related: []diag.Related{{Message: "declared here", Range: at}}}},
		diag.WriteOptions{Source: func(name string) ([]byte, bool) { return []byte(files[name]), true }})
	if err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "on vars.hcl:1:12") || !strings.Contains(got, `1 | variable "password"`) {
		t.Error(got)
	}
}

func TestWriteName(t *testing.T) {
	d := diag.Diagnostic{Severity: diag.Error, Summary: "wrong", Range: diag.Range{
		File: "a\x1b[2J\nerror: \u202eb.hcl", Start: diag.Pos{Line: 1, Column: 2, Byte: 1}}}
	var b strings.Builder
	if err := diag.Write(&b, diag.List{d}, diag.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	const place = `"a\x1b[2J\nerror: \u202eb.hcl":1:2`
	if want := "error: wrong\n  on " + place + "\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	if want := place + ": wrong"; d.Error() != want {
		t.Errorf("got %q, want %q", d.Error(), want)
	}
}

func TestWriteAll(t *testing.T) {
	src, r := mark("f.hcl", "a\n«b»\n")
	l := diag.List{
		{Severity: diag.Warning, Summary: "twice", Detail: "One is enough, and more is more than enough.", Hint: "remove it",
			Range: r, Related: []diag.Related{{Message: "first here", Range: diag.Range{File: "g.hcl", Start: diag.Pos{Line: 3, Column: 1}}}}},
		{Summary: "no place"},
	}
	var b strings.Builder
	err := diag.Write(&b, l, diag.WriteOptions{Width: 30, Source: func(name string) ([]byte, bool) {
		return []byte(src), name == "f.hcl"
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `warning: twice
  on f.hcl:2:1
  2 | b
    | ^
  One is enough, and more is
  more than enough.
  hint: remove it
  first here
  on g.hcl:3:1

error: no place
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestWriteColor(t *testing.T) {
	var b strings.Builder
	if err := diag.Write(&b, diag.List{{Summary: "x", Hint: "y"}}, diag.WriteOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1;31merror:\x1b[0m \x1b[1mx\x1b[0m\n  \x1b[36mhint:\x1b[0m y\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func ExampleWrite() {
	source := "file \"/etc/motd\" {\n  mode = 644\n}\n"
	l := diag.List{{
		Severity: diag.Error, Summary: "mode: a mode is a string", Hint: `write its octal digits as a string, such as mode = "0644"`,
		Range: diag.Range{File: "site.hcl", Start: diag.Pos{Line: 2, Column: 10, Byte: 28}, End: diag.Pos{Line: 2, Column: 13, Byte: 31}},
	}}
	err := diag.Write(os.Stdout, l, diag.WriteOptions{Source: func(string) ([]byte, bool) { return []byte(source), true }})
	if err != nil {
		panic(err)
	}
	// Output:
	// error: mode: a mode is a string
	//   on site.hcl:2:10
	//   2 |   mode = 644
	//     |          ^^^
	//   hint: write its octal digits as a string, such as mode = "0644"
}
