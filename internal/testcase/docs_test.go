package testcase_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// blocks gives the indented blocks of a Markdown text.
func blocks(text string) []string {
	var out []string
	open := false
	for line := range strings.Lines(text) {
		code, is := strings.CutPrefix(line, "    ")
		switch {
		case is && open:
			out[len(out)-1] += code
		case is:
			out, open = append(out, code), true
		case strings.TrimSpace(line) == "" && open:
			out[len(out)-1] += "\n"
		default:
			open = false
		}
	}
	return out
}

// What docs/testing.md shows is right: its first example passes, and the others
// can be read.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	read := 0
	for _, block := range blocks(string(text)) {
		first, _, _ := strings.Cut(block, "\n")
		word, _, _ := strings.Cut(first, " ")
		switch {
		case first == "# motd/site.hcl":
			files["site.hcl"] = &fstest.MapFile{Data: []byte(block)}
			continue
		case first == "# motd/tests/motd.hcl":
			files["tests/motd.hcl"] = &fstest.MapFile{Data: []byte(block)}
			continue
		case slices.Contains([]string{"case", "machine", "module"}, word):
		case word == "command":
			block = "case \"x\" {\nmachine {\n" + block + "}\n}\n"
		case strings.HasPrefix(word, "expect_"):
			block = "case \"x\" {\n" + block + "}\n"
		default:
			continue
		}
		read++
		one := fstest.MapFS{"tests/x.hcl": {Data: []byte(block)}}
		if cases, list := testcase.Read(one); list.HasErrors() {
			t.Errorf("%v in\n%s", list, block)
		} else if len(cases.List) == 0 && word != "machine" {
			t.Errorf("no case in\n%s", block)
		}
	}
	if read < 7 {
		t.Errorf("only %d further examples", read)
	}
	site, list := lang.Load(files, lang.Options{Registry: modules.Standard()})
	cases, mistakes := testcase.Read(files)
	if len(list)+len(mistakes) > 0 || len(cases.List) != 2 {
		t.Fatal(list, mistakes, len(cases.List))
	}
	for _, c := range cases.List {
		if r := testcase.Run(t.Context(), c, testcase.Options{Site: site, Registry: modules.Standard()}); r.Outcome != testcase.Passed {
			t.Errorf("%s: %s%v", c.Name, r.Text(""), r.Diagnostics)
		}
	}
}
