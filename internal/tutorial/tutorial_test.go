package tutorial_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/tutorial"
)

const page = "# A page\n\nWrite `a.txt`, which\nis a file:\n\n```hcl\na = 1\n```\n\n    not run\n\nAdd to `b/c`:\n\n```hcl\nb\n```\n\n" +
	"See:\n\n```console\n$ cat a.txt\na = 1\n$ echo 1 \\\n> 2\n1 2\n# id -u\n0\n```\n"

func TestParse(t *testing.T) {
	steps, err := tutorial.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		Line                        int
		File, Text, Command, Output string
		Append, Root                bool
	}
	want := []step{
		{Line: 6, File: "a.txt", Text: "a = 1\n"},
		{Line: 14, File: "b/c", Text: "b\n", Append: true},
		{Line: 21, Command: "cat a.txt", Output: "a = 1\n"},
		{Line: 23, Command: "echo 1 \\\n2", Output: "1 2\n"},
		{Line: 26, Command: "id -u", Output: "0\n", Root: true},
	}
	var got []step
	for _, s := range steps {
		got = append(got, step{s.Line, s.File, s.Text, s.Command, s.Output, s.Append, s.Root})
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if again := tutorial.Rewrite(page, steps); again != page {
		t.Errorf("rewritten as it is:\n%s", again)
	}
	steps[2].Output, steps[4].Output = "", "1\n2\n"
	if again := tutorial.Rewrite(page, steps); again != strings.Replace(strings.Replace(page, ".txt\na = 1\n$", ".txt\n$", 1), "-u\n0\n", "-u\n1\n2\n", 1) {
		t.Errorf("rewritten:\n%s", again)
	}
}

// What a test would pass over is an error.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"```console\n$ a\n":                          "no end",
		"Look:\n\n```hcl\na\n```\n":                  "neither a session nor a file",
		"```console\nno command\n```\n":              "begins with a command",
		"Write `a`:\n\n```\na\n```\n\n```\nb\n```\n": "line 7: the block is neither",
	} {
		if _, err := tutorial.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
