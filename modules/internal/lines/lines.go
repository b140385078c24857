// Package lines edits text files that people edit, too: what is not touched keeps
// every byte.
package lines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Text is a file as its lines.
type Text []Row

// Row is one line, and how it ends: "\n", "\r\n" or, only the last, "". The first one of
// a file may have a mark in front of it.
type Row struct{ Line, End, Mark string }

// ByteOrderMark is what some editors put in front of a text in UTF-8.
const ByteOrderMark = "\ufeff"

// Whole gives the text of a file, and describes the file. A missing one is an error
// that wraps fs.ErrNotExist; what is no regular file is one, too, and so is one with
// more than 1 MiB.
func Whole(h host.Reader, name string) (string, host.Info, error) {
	info, err := h.Lstat(name)
	if err != nil {
		return "", info, err
	}
	if info.Kind != host.Regular {
		return "", info, states.WrongKindError(name, info.Kind, "file")
	}
	content, err := host.CopyContent(context.Background(), h, name, info) // no more than what is edited is read
	if err != nil {
		return "", info, err
	}
	s, ok := content.Inline()
	switch {
	case strings.HasPrefix(s, "\xff\xfe"), strings.HasPrefix(s, "\xfe\xff"):
		err = fmt.Errorf("%s is a text in UTF-16, which is not edited in place; convert it to UTF-8", name)
	case !ok:
		err = fmt.Errorf("%s has %d bytes, more than the %d that are edited in place", name, content.Size(), host.InlineLimit)
	}
	return s, info, err
}

// Load reads a file as Whole does.
func Load(h host.Reader, name string) (Text, error) {
	s, _, err := Whole(h, name)
	if err != nil {
		return nil, err
	}
	return Parse(s), nil
}

// LoadIfThere is Load, where a missing file has no lines.
func LoadIfThere(h host.Reader, name string) (Text, error) {
	t, err := Load(h, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return t, err
}

// LoadToWrite is Load for a file that is to be written; one that is missing has no lines
// where it is to be created.
func LoadToWrite(h host.Reader, name string, create *bool) (Text, error) {
	t, err := Load(h, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	if check.True(create) {
		return nil, nil
	}
	return nil, MissingError(name, err)
}

// MissingError says that a file to be edited is not there, and may not be created.
func MissingError(name string, err error) error {
	return &diag.HintError{Code: "not_found", Message: fmt.Sprintf("the file %s is not there", name), Err: err,
		Hint: "declare before it what brings the file, or create it with create = true"}
}

// Save writes the file. Its directory must be there.
func (t Text) Save(ctx context.Context, h host.Host, name string, m host.Meta) error {
	return states.DirectoryError(h, path.Dir(name), h.WriteFile(ctx, name, host.Text(t.String()), m))
}

// SaveOrRemove is Save, but a file without any text is removed: one of those that
// hold only what parts have put into them.
func (t Text) SaveOrRemove(ctx context.Context, h host.Host, name string) error {
	if strings.TrimSpace(t.String()) == "" {
		return h.Remove(name)
	}
	return t.Save(ctx, h, name, host.Meta{})
}

// Parse takes a text apart.
func Parse(s string) Text {
	var t Text
	s, marked := strings.CutPrefix(s, ByteOrderMark)
	for piece := range strings.SplitAfterSeq(s, "\n") {
		line, terminated := strings.CutSuffix(piece, "\n")
		switch bare, cr := strings.CutSuffix(line, "\r"); {
		case terminated && cr:
			t = append(t, Row{Line: bare, End: "\r\n"})
		case terminated:
			t = append(t, Row{Line: line, End: "\n"})
		case piece != "":
			t = append(t, Row{Line: piece})
		}
	}
	if marked {
		if len(t) == 0 {
			t = Text{{}}
		}
		t[0].Mark = ByteOrderMark
	}
	return t
}

// String is the inverse of Parse.
func (t Text) String() string {
	var b strings.Builder
	for _, r := range t {
		b.WriteString(r.Mark)
		b.WriteString(r.Line)
		b.WriteString(r.End)
	}
	return b.String()
}

// End is how the lines around an index end.
func (t Text) End(at int) string {
	for _, r := range slices.Backward(t[:at]) {
		if r.End != "" {
			return r.End
		}
	}
	if at < len(t) && t[at].End != "" {
		return t[at].End
	}
	return "\n"
}

// EndAt is how the lines around an offset in a text end.
func EndAt(text string, offset int) string {
	i := strings.LastIndexByte(text[:offset], '\n')
	if i < 0 {
		i = strings.IndexByte(text, '\n')
	}
	if i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// Insert puts new lines at an index. A file whose last line has no end keeps
// that habit.
func (t Text) Insert(at int, added ...string) Text {
	rows := make(Text, len(added))
	end := t.End(at)
	for i, line := range added {
		rows[i] = Row{Line: line, End: end}
	}
	t = slices.Clone(t)
	if last := len(t) - 1; at == len(t) && last >= 0 && t[last].End == "" && len(rows) > 0 {
		t[last].End, rows[len(rows)-1].End = end, ""
	}
	if at == 0 && len(t) > 0 && len(rows) > 0 {
		rows[0].Mark, t[0].Mark = t[0].Mark, ""
	}
	return slices.Insert(t, at, rows...)
}

// Position is where a new line comes: after the last line that matches one
// pattern, or before the first that matches the other; at the end where neither
// is given, or nothing matches.
func (t Text) Position(after, before *string) int {
	switch {
	case after != nil:
		if rows := t.Find(regexp.MustCompile(*after).MatchString); len(rows) > 0 {
			return rows[len(rows)-1] + 1
		}
	case before != nil:
		if rows := t.Find(regexp.MustCompile(*before).MatchString); len(rows) > 0 {
			return rows[0]
		}
	}
	return len(t)
}

// Find lists the rows that fit, from the first.
func (t Text) Find(fits func(line string) bool) []int {
	var rows []int
	for i, r := range t {
		if fits(r.Line) {
			rows = append(rows, i)
		}
	}
	return rows
}

// Set makes the first of the rows the line and removes the others; without rows
// the line comes at the end.
func (t Text) Set(rows []int, line string) Text {
	if len(rows) == 0 {
		return t.Insert(len(t), line)
	}
	t = slices.Clone(t)
	t[rows[0]].Line = line
	return t.Without(rows, rows[0])
}

// Without gives the text less these rows, which are in order, but for the one to
// keep; -1: none.
func (t Text) Without(rows []int, keep int) Text {
	bare := len(t) > 0 && t[len(t)-1].End == ""
	var out Text
	for i, r := range t {
		if _, found := slices.BinarySearch(rows, i); i == keep || !found {
			out = append(out, r)
		}
	}
	if last := len(out) - 1; bare && last >= 0 && out[last].Line != "" { // a blank line is nothing but its end
		out[last].End = ""
	}
	if len(out) > 0 {
		out[0].Mark = t[0].Mark
	}
	return out
}
