// Package reference makes the reference of modules, functions, options, keywords
// of the language and components, from what these say about themselves: as
// pages for terminals and in Markdown, and as JSON Schema. docs/ is made of it,
// and so is what tenet doc shows.
package reference

import (
	"fmt"
	"strings"
)

// Page is one page of reference.
type Page struct {
	Title    string
	Summary  string // one paragraph
	Sections []Section
}

// Section is a part of a page; one without a title belongs to the head.
type Section struct {
	Title  string
	Blocks []Block
}

// Block is a piece of a section: one of its fields is given.
type Block struct {
	Text  string // paragraphs, in Markdown
	Code  string // HCL, or another text to be shown as it is
	Plain bool   // the code is no HCL
	List  []string
	Table *Table
}

// Table has a head and rows of as many cells, in Markdown. Its first column
// names what the row is about.
type Table struct {
	Head []string
	Rows [][]string
}

func (p *Page) add(title string, blocks ...Block) {
	p.Sections = append(p.Sections, Section{title, blocks})
}

// Markdown writes the page for docs/.
func (p *Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.Title)
	if p.Summary != "" {
		fmt.Fprintf(&b, "\n%s\n", p.Summary)
	}
	for _, s := range p.Sections {
		if s.Title != "" {
			fmt.Fprintf(&b, "\n## %s\n", s.Title)
		}
		for _, block := range s.Blocks {
			if text := block.markdown(); text != "" {
				fmt.Fprintf(&b, "\n%s\n", text)
			}
		}
	}
	return b.String()
}

func (b *Block) markdown() string {
	switch {
	case b.Code != "":
		language := "hcl"
		if b.Plain {
			language = ""
		}
		return fence(language, b.Code)
	case b.Table != nil:
		return b.Table.markdown()
	case len(b.List) > 0:
		return "- " + strings.Join(b.List, "\n- ")
	}
	return strings.TrimSpace(b.Text)
}

// fence puts code between fences that it does not hold itself.
func fence(language, code string) string {
	ticks := "```"
	for strings.Contains(code, ticks) {
		ticks += "`"
	}
	return ticks + language + "\n" + strings.TrimRight(code, "\n") + "\n" + ticks
}

func (t *Table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.ReplaceAll(strings.ReplaceAll(cell, "|", "\\|"), "\n", " ")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "|  |", "| |")
}

// code writes a piece of text as code of Markdown.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		return ticks + " " + text + " " + ticks
	}
	return ticks + text + ticks
}
