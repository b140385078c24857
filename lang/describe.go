package lang

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/program"
)

// Description tells readers what a site or component takes, gives and holds.
type Description struct {
	// Text is the comment at the top of its main file: the first of main, site
	// and the name of the directory, or else of the first file that has one.
	Text string
	program.Description
}

// Types of a Description; see lang/program.
type (
	VariableDoc = program.Variable
	OutputDoc   = program.Output
	StateDoc    = program.State
)

// Describe tells what the site declares. The list holds what Load found.
func (s *Site) Describe(ctx context.Context) (Description, diag.List) {
	d := Description{Text: s.comment()}
	if !s.broken {
		d.Description = s.program.Describe(ctx)
	}
	return d, s.list
}

// comment gives the text of the comment at the top of the main file.
func (s *Site) comment() string {
	names := slices.DeleteFunc(s.SourceNames(), func(name string) bool { return path.Dir(name) != "." })
	rank := func(name string) int {
		switch base, _, _ := strings.Cut(name, "."); base {
		case "main":
			return 0
		case "site":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range names {
		src, _ := s.Source(name)
		if text := topComment(string(src)); text != "" {
			return text
		}
	}
	return ""
}

// topComment gives the comment lines with which a source begins, without their
// signs. What belongs to a declaration, which follows without a blank line, is
// none of them.
func topComment(src string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimPrefix(src, "\ufeff")) {
		text := strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.HasPrefix(text, "#"):
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(text, "#"), " "))
			continue
		case strings.HasPrefix(text, "//"):
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(text, "//"), " "))
			continue
		case text == "":
			return strings.Join(lines, "\n")
		}
		return ""
	}
	return strings.Join(lines, "\n")
}
