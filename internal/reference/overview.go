package reference

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// Overview is what there is to read about.
func Overview(registry *states.Registry, components []NamedComponent) Page {
	p := Page{Title: "tenet doc", Summary: "tenet doc NAME describes what is listed here; tenet doc DIR describes the site or component in a directory; tenet doc --search WORDS looks for words in all of it."}
	types := &Table{Head: []string{"type", ""}}
	for _, name := range registry.Names() {
		summary, _, _ := strings.Cut(registry.Lookup(name).Doc, "\n")
		types.Rows = append(types.Rows, []string{name, summary})
	}
	p.add("Types of parts", Block{Table: types})
	std := &Table{Head: []string{"component", ""}}
	for _, c := range components {
		summary, _ := Summary(c.Source, c.Text)
		std.Rows = append(std.Rows, []string{c.Source, strings.ReplaceAll(summary, "\n", " ")})
	}
	if len(std.Rows) > 0 {
		p.add("Components", Block{Table: std})
	}
	var keywords, options []string
	for _, w := range syntax.KeywordDocs() {
		keywords = append(keywords, w.Name)
	}
	for _, o := range expr.OptionDocs() {
		options = append(options, o.Name)
	}
	p.add("Keywords", Block{Text: strings.Join(keywords, ", ")})
	p.add("Options", Block{Text: strings.Join(options, ", ")})
	p.add("Functions", Block{Text: fmt.Sprintf("tenet doc functions lists %d.", len(expr.FunctionDocs()))})
	p.add("Facts", Block{Text: "tenet doc facts lists what is known about a machine; tenet facts shows it."})
	return p
}
