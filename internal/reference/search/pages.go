package search

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/docs"
)

// ofPages gives the sections of the pages that people have written.
func ofPages() []Entry {
	var all []Entry
	for _, p := range docs.Pages() {
		isCode := false
		name, text, prose := p.Title, &strings.Builder{}, &strings.Builder{}
		add := func() {
			if s := firstOfSection(prose.String()); s != "" {
				all = append(all, Entry{Kind: "page", Name: name, Summary: s, Read: "tenet doc pages " + p.Name, Text: text.String()})
			}
			text.Reset()
			prose.Reset()
		}
		for line := range strings.Lines(strings.TrimPrefix(p.Text, "# "+p.Title+"\n")) {
			isCode = isCode != strings.HasPrefix(line, "```")
			if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' && !isCode {
				add()
				name = p.Title + ": " + strings.TrimSpace(heading)
				continue
			}
			text.WriteString(line)
			if !isCode && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "    ") {
				prose.WriteString(line)
			}
		}
		add()
	}
	return all
}

// firstOfSection gives the first sentence of a section, without the marks of Markdown; empty: it begins with none.
func firstOfSection(text string) string {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		paragraph = strings.Trim(paragraph, "\n")
		line := strings.TrimSpace(paragraph)
		isText := line != "" && !slices.ContainsFunc([]string{"|", "- ", "1. "}, func(mark string) bool { return strings.HasPrefix(paragraph, mark) })
		if isText && (!strings.HasSuffix(line, ":") || strings.Contains(line, ". ")) { // else it is about what follows
			return first(plainText(line))
		}
	}
	return ""
}

// plainText takes the marks of Markdown away.
func plainText(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "](")
		if !ok {
			break
		}
		_, after, _ := strings.Cut(rest, ")")
		text = before + after
	}
	return strings.NewReplacer("**", "", "*", "", "[", "", "`", "").Replace(text)
}
