package line

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// text is a file as its lines. Each keeps its own end, so that what is not
// touched keeps every byte.
type text []row

type row struct{ line, end string } // end: "\n", "\r\n" or "" (only the last)

// load reads a file. A missing one is an error that wraps fs.ErrNotExist.
func load(h host.Reader, path string) (text, error) {
	info, err := h.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Kind != host.Regular {
		return nil, fmt.Errorf("%s is a %s, not a file", path, info.Kind)
	}
	content, err := host.ReadContent(h, path, info)
	if err != nil {
		return nil, err
	}
	s, ok := content.Inline()
	if !ok {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are edited by line", path, content.Size(), host.InlineLimit)
	}
	return parse(s), nil
}

func parse(s string) text {
	var t text
	for piece := range strings.SplitAfterSeq(s, "\n") {
		line, terminated := strings.CutSuffix(piece, "\n")
		switch bare, cr := strings.CutSuffix(line, "\r"); {
		case terminated && cr:
			t = append(t, row{bare, "\r\n"})
		case terminated:
			t = append(t, row{line, "\n"})
		case piece != "":
			t = append(t, row{piece, ""})
		}
	}
	return t
}

// String is the inverse of parse.
func (t text) String() string {
	var b strings.Builder
	for _, r := range t {
		b.WriteString(r.line)
		b.WriteString(r.end)
	}
	return b.String()
}

// end is how this file ends its lines.
func (t text) end() string {
	if len(t) > 0 && t[0].end != "" {
		return t[0].end
	}
	return "\n"
}

// insert puts a new line where after and before say, or at the end. A file
// whose last line has no end keeps that habit.
func (t text) insert(want Line) text {
	at, added := t.position(want), row{want.Line, t.end()}
	if last := len(t) - 1; at == len(t) && last >= 0 && t[last].end == "" {
		t[last].end, added.end = added.end, ""
	}
	return slices.Insert(t, at, added)
}

func (t text) position(want Line) int {
	switch {
	case want.After != nil:
		after := regexp.MustCompile(*want.After)
		for i := len(t) - 1; i >= 0; i-- {
			if after.MatchString(t[i].line) {
				return i + 1
			}
		}
	case want.Before != nil:
		before := regexp.MustCompile(*want.Before)
		at := slices.IndexFunc(t, func(r row) bool { return before.MatchString(r.line) })
		if at >= 0 {
			return at
		}
	}
	return len(t)
}

// stands lists the rows that the wanted line stands for, and says which of
// them it keeps, or takes the place of: an equal one, else the first. There is
// none when at is negative.
func (t text) stands(want Line) (rows []int, at int) {
	match := func(string) bool { return false }
	if want.Match != nil {
		match = regexp.MustCompile(*want.Match).MatchString
	}
	for i, r := range t {
		if r.line == want.Line || match(r.line) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, -1
	}
	at = slices.IndexFunc(t, func(r row) bool { return r.line == want.Line })
	if at < 0 {
		at = rows[0]
	}
	return rows, at
}

// without gives the text less these rows, but for the one to keep.
func (t text) without(rows []int, keep int) text {
	bare := len(t) > 0 && t[len(t)-1].end == ""
	var out text
	for i, r := range t {
		if _, found := slices.BinarySearch(rows, i); i == keep || !found {
			out = append(out, r)
		}
	}
	if bare && len(out) > 0 {
		out[len(out)-1].end = ""
	}
	return out
}
