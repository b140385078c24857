// Package docs holds the pages of this folder that people have written for those who use tenet, so that the program
// can show them and find words in them. Pages that the program generates are left out.
package docs

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.md
var files embed.FS

// Page is one of the pages, in Markdown.
type Page struct {
	Name  string `json:"name"` // of its file, without .md
	Title string `json:"title"`
	Text  string `json:"text"`
}

// isLeftOut tells what is left out: what tenet doc shows anyway, the list of all pages,
// and what is for those who work on tenet itself.
func isLeftOut(name string) bool {
	return slices.Contains([]string{"facts", "functions", "keywords", "options", "words-of-other-tools", "README", "dependencies", "how-to-add"}, name)
}

// Pages gives the pages, sorted by name.
func Pages() []Page {
	entries, _ := files.ReadDir(".") // which is part of the program
	var all []Page
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".md")
		text, err := files.ReadFile(e.Name())
		if err != nil || isLeftOut(name) {
			continue
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, Page{name, title, string(text)})
	}
	return all
}
