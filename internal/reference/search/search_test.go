package search_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/reference/search"
	"github.com/tenetcm/tenet/modules"
)

var update = flag.Bool("update", false, "rewrite messages.txt")

// What people look for, by the words that they have, comes first or nearly so.
func TestFound(t *testing.T) {
	entries := search.Entries(modules.Standard(), nil)
	for words, want := range map[string][]string{
		"handler":                           {"keyword handler"},
		"file":                              {"module file"},
		"notify":                            {"option notify"},
		"upper":                             {"function upper"},
		"os id":                             {"fact fact.os"},
		"lineinfile":                        {"word lineinfile"},
		"depends_on":                        {"word depends_on"},
		"refreshonly":                       {"word refreshonly"},
		"onchanges":                         {"word onchanges"},
		"variables":                         {"keyword variable"},
		"dry run":                           {"word ansible-playbook --check, a dry run"},
		"facter":                            {"word facter"},
		"LINEINFILE":                        {"word lineinfile"},
		"file content":                      {"attribute file.content"},
		"before each":                       {"attribute rollout.before_each", "keyword before_each"},
		"cron":                              {"module cron"},
		"has no attribute dest":             {`error a file has no attribute "dest"`},
		`a user has no attribute "contnet"`: {`error a file has no attribute "contnet"`}, // as it is printed, of another part
	} {
		var got []string
		for _, e := range search.Search(entries, strings.Fields(words)) {
			got = append(got, e.Kind+" "+e.Name)
		}
		if len(got) > 3 {
			got = got[:3]
		}
		if !slices.ContainsFunc(want, func(w string) bool { return slices.Contains(got, w) }) {
			t.Errorf("%s finds %q, not %q", words, got, want)
		}
	}
	if got := search.Search(entries, []string{"file", "xyzzy"}); len(got) > 0 {
		t.Errorf("an entry holds more than half of the words, not %+v", got)
	}
	if got := search.Search(entries, []string{"--"}); len(got) > 0 {
		t.Errorf("no word at all finds %d entries", len(got))
	}
	for _, e := range entries {
		if e.Name == "" || e.Kind == "" || e.Summary == "" && e.Kind != "error" && e.Kind != "warning" {
			t.Errorf("%+v lacks something", e)
		}
	}
}

var message = regexp.MustCompile(`(?m)^(error|warning): (.*(?:\n  [^ ].*)*?)\n  on .*\n(?:(?: +\d+ \|| +\|).*\n)*((?:  .*\n)*)`)

// related are further places, below the hint.
var related = regexp.MustCompile(`(?s)  [^\n]*\n  +on .*`)

// The messages are those of the mistakes in testdata.
func TestMessages(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/lang/mistakes/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatal(len(files), err)
	}
	var lines []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range message.FindAllStringSubmatch(string(text), -1) {
			_, hint, _ := strings.Cut(related.ReplaceAllString(m[3], ""), "  hint: ")
			lines = append(lines, m[1]+": "+fold(m[2])+"\t"+fold(hint))
		}
	}
	slices.Sort(lines)
	want := strings.Join(slices.Compact(lines), "\n") + "\n"
	if *update {
		if err := os.WriteFile("messages.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile("messages.txt"); err != nil || string(have) != want {
		t.Errorf("messages.txt is not what the mistakes in testdata say (%v); rewrite it with: go test ./internal/reference/search -update", err)
	}
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }
