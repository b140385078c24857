package reference_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

func TestForeignWords(t *testing.T) {
	golden(t, "words-of-other-tools.md", reference.ForeignWords())
}

var codeBlock = regexp.MustCompile("(?ms)^```(hcl|python)\n(.*?)^```$")

// The examples for people from other tools are sites that are right.
func TestFromOtherTools(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "from-other-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := codeBlock.FindAllStringSubmatch(string(text), -1)
	if len(found) < 8 {
		t.Errorf("there are only %d examples", len(found))
	}
	for _, m := range found {
		name := map[string]string{"hcl": "site.hcl", "python": "site.star"}[m[1]]
		site, list := lang.Load(fstest.MapFS{name: {Data: []byte(m[2])}}, lang.Options{Registry: modules.Standard()})
		target := lang.Target{Host: "web1", Facts: func(name string) (any, error) {
			return map[string]any{"os": map[string]any{"id": "debian", "family": "debian"}, "cpus": 2}[name], nil
		}}
		d, more := site.Evaluate(t.Context(), target)
		if len(list)+len(more) > 0 || len(d.List) == 0 {
			t.Errorf("%s\n%s", m[2], more.Error())
		}
		if out, list := lang.Format(name, []byte(m[2])); len(list) > 0 || string(out) != m[2] {
			t.Errorf("not in the canonical layout; it would be\n%s", out)
		}
	}
}

var mdLink = regexp.MustCompile(`\]\(([^)#:]+)?(#[^)]+)?\)`)

// inCode is what is no link: fences, lines that are indented, and code in lines.
var inCode = regexp.MustCompile("(?ms)^```.*?^```$|^    [^\n]*$|`[^`\n]*`")

// Links between the pages of docs/ lead somewhere.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join(docs, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mdLink.FindAllStringSubmatch(inCode.ReplaceAllString(string(text), ""), -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			target, err := os.ReadFile(to)
			if info, dir := os.Stat(to); dir == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: %s is not there", page, m[0])
				continue
			}
			if m[2] != "" && !anchors(string(target))[m[2]] {
				t.Errorf("%s: there is no %s in %s", page, m[2], to)
			}
		}
	}
}

// anchors lists the headings of a page as links name them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	sign := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for line := range strings.Lines(text) {
		if rest := strings.TrimLeft(line, "#"); rest != line {
			name := strings.ToLower(strings.TrimSpace(rest))
			out["#"+strings.ReplaceAll(sign.ReplaceAllString(name, ""), " ", "-")] = true
		}
	}
	return out
}

// The examples of the page about which word to take are sites that are right.
func TestChoosing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "choosing.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := codeBlock.FindAllStringSubmatch(string(text), -1)
	if len(found) != 6 {
		t.Errorf("there are %d examples, want one for each of six words", len(found))
	}
	for _, m := range found {
		files := fstest.MapFS{"site.hcl": {Data: []byte(m[2])}, "components/vhost/main.hcl": {Data: []byte("variable \"name\" {}\nfile \"/etc/vhost\" {\n  content = var.name\n}\n")}}
		site, list := lang.Load(files, lang.Options{Registry: modules.Standard()})
		d, more := site.Evaluate(t.Context(), lang.Target{Host: "web1"})
		if len(list)+len(more) > 0 || len(d.List) == 0 {
			t.Errorf("%s\n%s%s", m[2], list.Error(), more.Error())
		}
		if out, list := lang.Format("site.hcl", []byte(m[2])); len(list) > 0 || string(out) != m[2] {
			t.Errorf("not in the canonical layout; it would be\n%s", out)
		}
	}
}

// Whoever begins with the index comes to each page.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "modules/README.md", "stdlib/README.md") {
		name := strings.TrimPrefix(page, docs+string(filepath.Separator))
		if name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("the index does not lead to %s", name)
		}
	}
}
