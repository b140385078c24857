package search

import (
	"io/fs"
	"regexp"
	"strings"

	"github.com/tenetcm/tenet/testdata/lang/mistakes"
)

// messages gives what errors and warnings say, each once, with their hints: those of the mistakes that the
// language is tested with.
func messages() []Entry {
	message := regexp.MustCompile(`(?m)^(error|warning): (.*(?:\n  [^ ].*)*?)\n  on .*\n(?:(?: +\d+ \|| +\|).*\n)*((?:  .*\n)*)`)
	related := regexp.MustCompile(`(?s)  [^\n]*\n  +on .*`) // further places, below the hint
	var all []Entry
	known := map[Entry]bool{}
	names, _ := fs.Glob(mistakes.FS, "*.txtar") // the pattern is right
	for _, name := range names {
		text, err := mistakes.FS.ReadFile(name)
		if err != nil {
			continue // Glob has just found it in the program itself
		}
		for _, m := range message.FindAllStringSubmatch(string(text), -1) {
			_, hint, _ := strings.Cut(related.ReplaceAllString(m[3], ""), "  hint: ")
			e := Entry{Kind: m[1], Name: fold(m[2]), Summary: fold(hint)}
			if !known[e] {
				known[e] = true
				all = append(all, e)
			}
		}
	}
	return all
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }
