package reference

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Text writes the page for a terminal of so many columns.
func (p *Page) Text(width int) string {
	width = min(max(width, 40), 100)
	out := []string{p.Title}
	if p.Summary != "" {
		out = append(out, "", Wrap(plain(p.Summary), width, ""))
	}
	for _, s := range p.Sections {
		if s.Title != "" {
			out = append(out, "", s.Title+":")
		}
		for _, block := range s.Blocks {
			if text := block.text(width); text != "" {
				out = append(out, "", text)
			}
		}
	}
	return strings.Join(out, "\n") + "\n"
}

func (b *Block) text(width int) string {
	switch {
	case b.Code != "":
		var lines []string
		for line := range strings.SplitSeq(strings.TrimRight(b.Code, "\n"), "\n") {
			lines = append(lines, strings.TrimRight("    "+line, " "))
		}
		return strings.Join(lines, "\n")
	case b.Table != nil:
		return b.Table.text(width)
	case len(b.List) > 0:
		var items []string
		for _, item := range b.List {
			items = append(items, "  - "+strings.TrimLeft(Wrap(plain(item), width, "    "), " "))
		}
		return strings.Join(items, "\n")
	}
	return paragraphs(b.Text, width)
}

// paragraphs wraps text, and keeps what is indented, and lists, as they are.
func paragraphs(text string, width int) string {
	var out, open []string
	flush := func() {
		if len(open) > 0 {
			out = append(out, Wrap(plain(strings.Join(open, " ")), width, ""))
			open = nil
		}
	}
	inCode := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			inCode = !inCode
		case inCode:
			out = append(out, strings.TrimRight("    "+line, " "))
		case line == "", strings.HasPrefix(line, "  "), strings.HasPrefix(line, "- "):
			flush()
			out = append(out, plain(line))
		default:
			open = append(open, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// text shows a table of two short columns in lines, others as entries: the
// first two cells, and below them the rest.
func (t *Table) text(width int) string {
	first := 0
	for _, row := range t.Rows {
		first = max(first, utf8.RuneCountInString(plain(row[0])))
	}
	var lines []string
	for _, row := range t.Rows {
		name := plain(row[0])
		if len(row) == 2 && first <= width/3 {
			text := Wrap(plain(row[1]), width, strings.Repeat(" ", first+4))
			lines = append(lines, "  "+name+strings.Repeat(" ", first-utf8.RuneCountInString(name)+2)+strings.TrimLeft(text, " "))
			continue
		}
		if len(row) > 2 && row[1] != "" {
			name += " (" + plain(row[1]) + ")"
		}
		lines = append(lines, Wrap(name, width, "  "))
		for _, cell := range row[min(2, len(row)-1):] {
			if cell != "" {
				lines = append(lines, Wrap(plain(cell), width, "      "))
			}
		}
	}
	return strings.Join(lines, "\n")
}

var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`) })

// plain takes the signs of Markdown off that no terminal shows.
func plain(text string) string {
	text = link().ReplaceAllString(text, "$1")
	return strings.NewReplacer("`", "", `\|`, "|", "<br>", " ").Replace(text)
}

// Wrap breaks paragraphs into lines of fewer than width columns, each behind the indent.
func Wrap(text string, width int, indent string) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := indent
		for word := range strings.FieldsSeq(paragraph) {
			if utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= width && line != indent {
				lines = append(lines, strings.TrimRight(line, " "))
				line = indent
			}
			line += word + " "
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}
