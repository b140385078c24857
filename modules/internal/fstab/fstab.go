// Package fstab reads and edits /etc/fstab, and reads what the kernel says is mounted:
// fstab(5), proc(5).
package fstab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
)

// File is the path of the table.
const File = "/etc/fstab"

// Entry is one line of the table.
type Entry struct {
	Source  string // device, UUID=…, directory, …
	Path    string // where it is mounted; "none" of swap
	Type    string
	Options string // separated by commas
	Dump    int
	Pass    int
}

// String is the line, without its end. What would break it is escaped.
func (e Entry) String() string {
	return strings.Join([]string{
		Escape(e.Source), Escape(e.Path), Escape(e.Type), Escape(e.Options), strconv.Itoa(e.Dump), strconv.Itoa(e.Pass),
	}, "\t")
}

// parse reads a line; false: it is a comment, or no entry.
func parse(line string) (Entry, bool) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(fields) < 3 || strings.HasPrefix(fields[0], "#") {
		return Entry{}, false
	}
	e := Entry{Source: Unescape(fields[0]), Path: Unescape(fields[1]), Type: Unescape(fields[2]), Options: "defaults"}
	if len(fields) > 3 {
		e.Options = Unescape(fields[3])
	}
	for i, n := range []*int{&e.Dump, &e.Pass} {
		if len(fields) > 4+i {
			*n, _ = strconv.Atoi(fields[4+i]) // what is no number counts as 0, as for mount(8)
		}
	}
	return e, true
}

// Escape writes what a field cannot hold as \ooo, byte by byte. Readers split lines at
// blanks and tabs; whatever else is a blank to somebody is escaped as well.
func Escape(field string) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(field); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(field[i:])
		if r != '\\' && !unicode.IsSpace(r) {
			b.WriteString(field[i : i+width])
			continue
		}
		for k := range width {
			fmt.Fprintf(&b, `\%03o`, field[i+k])
		}
	}
	return b.String()
}

// Unescape is its inverse, for a field of this table or of one that the kernel shows.
func Unescape(field string) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if n, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(field[i])
	}
	return b.String()
}

// Table is the file as its lines, which keep every byte unless they are replaced.
type Table struct{ lines lines.Text }

// Load reads the table; a missing file is an empty one.
func Load(h host.Reader) (*Table, error) {
	text, _, err := lines.Whole(h, File)
	if errors.Is(err, fs.ErrNotExist) {
		return &Table{}, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(text), nil
}

// Parse takes the text of a table apart.
func Parse(text string) *Table { return &Table{lines.Parse(text)} }

// Text is the inverse of Parse.
func (t *Table) Text() string { return t.lines.String() }

// Entries gives all entries.
func (t *Table) Entries() []Entry {
	var out []Entry
	for _, row := range t.lines {
		if e, ok := parse(row.Line); ok {
			out = append(out, e)
		}
	}
	return out
}

// Find gives the entry for which is says so; nil: there is none. More than one is an
// error, since nobody could say which one counts.
func (t *Table) Find(what string, is func(Entry) bool) (*Entry, error) {
	var found []Entry
	for _, e := range t.Entries() {
		if is(e) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], nil
	}
	return nil, fmt.Errorf("%s has %d lines for %s: leave one of them", File, len(found), what)
}

// find gives the rows of entries for which is says so.
func (t *Table) find(is func(Entry) bool) []int {
	return t.lines.Find(func(line string) bool {
		e, ok := parse(line)
		return ok && is(e)
	})
}

// Put replaces the entry for which is says so, or adds one at the end.
func (t *Table) Put(e Entry, is func(Entry) bool) {
	if rows := t.find(is); len(rows) > 0 {
		t.lines[rows[0]].Line = e.String()
		return
	}
	at := len(t.lines)
	if at > 0 && t.lines[at-1].End == "" {
		t.lines[at-1].End = t.lines.End(at - 1)
	}
	t.lines = t.lines.Insert(at, e.String())
}

// Delete removes the entries for which is says so.
func (t *Table) Delete(is func(Entry) bool) { t.lines = t.lines.Without(t.find(is), -1) }

// Save writes the table, and lets systemd make its units anew of it.
func (t *Table) Save(ctx context.Context, h host.Host) error {
	if err := h.WriteFile(ctx, File, host.Text(t.Text()), host.Meta{}); err != nil {
		return err
	}
	if !host.Running(h) {
		return nil
	}
	init, err := host.InitOf(ctx, h, "")
	if errors.Is(err, host.ErrUnsupported) || errors.Is(err, host.ErrUnforeseeable) {
		return nil
	}
	if err != nil || init.System() != "systemd" {
		return err
	}
	return init.Refresh(ctx)
}
