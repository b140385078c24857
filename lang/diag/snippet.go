package diag

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// WriteOptions say how diagnostics are shown. The zero value shows no source
// lines and no colour.
type WriteOptions struct {
	Source func(file string) ([]byte, bool) // the text of a file, for snippets; nil: none
	Color  bool                             // ANSI escapes
	Width  int                              // of the terminal in columns; 0: 100
}

// Write shows diagnostics to people: each with its severity and summary, its
// place, the source line with the piece marked below it, the reason, the hint,
// and related places. Tabs and wide characters are kept in line; of a long line
// what is around the place is shown. Control characters of a source are shown
// as a dot, so that no source can drive the terminal.
func Write(w io.Writer, l List, o WriteOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	var b bytes.Buffer
	for i, d := range l {
		if i > 0 {
			b.WriteByte('\n')
		}
		o.diagnostic(&b, d)
	}
	_, err := w.Write(b.Bytes())
	return err
}

const (
	styleError   = "1;31"
	styleWarning = "1;33"
	styleHint    = "36"
	stylePlace   = "2"
	styleBold    = "1"
)

func (o *WriteOptions) style(code, text string) string {
	if !o.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (o *WriteOptions) diagnostic(b *bytes.Buffer, d Diagnostic) {
	style := styleError
	if d.Severity == Warning {
		style = styleWarning
	}
	severity := d.Severity
	if severity == "" {
		severity = Error
	}
	fmt.Fprintf(b, "%s %s\n", o.style(style, string(severity)+":"), o.style(styleBold, printable(d.Summary)))
	at := *o
	if d.Private {
		at.Source = nil
	}
	at.place(b, d.Range, style)
	if d.Detail != "" {
		o.writeWrapped(b, "", d.Detail)
	}
	if d.Hint != "" {
		o.writeWrapped(b, o.style(styleHint, "hint:")+" ", d.Hint)
	}
	for _, r := range d.Related {
		fmt.Fprintf(b, "  %s\n", printable(r.Message))
		o.place(b, r.Range, style)
	}
}

// place writes "on FILE:LINE:COL", and the line with the piece marked.
func (o *WriteOptions) place(b *bytes.Buffer, r Range, style string) {
	if r.IsZero() {
		return
	}
	fmt.Fprintf(b, "  on %s\n", r.quotedString())
	if o.Source == nil || r.Start.Line == 0 {
		return
	}
	src, ok := o.Source(r.File)
	if !ok || r.Start.Byte > len(src) || r.Start.Byte < 0 {
		return
	}
	number := fmt.Sprint(r.Start.Line)
	room := max(o.Width-len(number)-5, 20)
	line, mark, length := excerpt(src, r, room)
	gutter := strings.Repeat(" ", len(number))
	fmt.Fprintf(b, "  %s %s\n", o.style(stylePlace, number+" |"), line)
	fmt.Fprintf(b, "  %s %s%s\n", o.style(stylePlace, gutter+" |"),
		strings.Repeat(" ", mark), o.style(style, strings.Repeat("^", length)))
}

// writeWrapped writes a text in lines of the width, indented by two.
func (o *WriteOptions) writeWrapped(b *bytes.Buffer, prefix, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		column := 2 + 6*min(len(prefix), 1)
		b.WriteString("  " + prefix)
		for i, word := range strings.Split(printable(line), " ") {
			width := textWidth(word)
			switch {
			case i > 0 && column+1+width > o.Width:
				b.WriteString("\n  ")
				column = 2
			case i > 0:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += width
		}
		b.WriteByte('\n')
		prefix = ""
	}
}

// excerpt gives the line of a range as cells for a terminal, cut to room
// columns around the place, the column at which the mark starts, and the
// mark's length.
func excerpt(src []byte, r Range, room int) (line string, mark, length int) {
	start := bytes.LastIndexByte(src[:r.Start.Byte], '\n') + 1
	end := len(src)
	if i := bytes.IndexByte(src[r.Start.Byte:], '\n'); i >= 0 {
		end = r.Start.Byte + i
	}
	from, to := r.Start.Byte, min(max(r.End.Byte, r.Start.Byte), end)
	before, marked, after := cells(src[start:from], 0), "", ""
	mark = textWidth(before)
	marked = cells(src[from:to], mark)
	length = max(textWidth(marked), 1)
	after = strings.TrimRight(cells(src[to:end], mark+length), " ")
	if mark+length+textWidth(after) <= room {
		return before + marked + after, mark, length
	}
	const lead = 20 // columns that stay before the place
	if mark > lead {
		before = "…" + tail(before, lead-1)
		mark = textWidth(before)
	}
	rest, cut := head(marked+after, room-mark-1)
	if cut {
		rest += "…"
	}
	return before + rest, mark, min(length, max(room-mark-1, 1))
}

// cells expands tabs, and replaces what a terminal would not show.
func cells(src []byte, column int) string {
	const tab = 4
	var b strings.Builder
	for _, r := range string(src) {
		switch {
		case r == '\t':
			n := tab - column%tab
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case r == '\r':
			continue
		case !unicode.IsPrint(r) && !unicode.Is(unicode.Mn, r):
			r = '·'
		}
		b.WriteRune(r)
		column += runeWidth(r)
	}
	return b.String()
}

// quotedString is String, with a file name in quotes that holds what a terminal would
// not show.
func (r Range) quotedString() string {
	if strings.ContainsFunc(r.File, func(c rune) bool { return !unicode.IsPrint(c) }) {
		r.File = strconv.Quote(r.File)
	}
	return r.String()
}

// printable keeps unsafe characters, which may come from a source, from the terminal.
func printable(s string) string { return Clean(s, "\n", '·') }

// head gives the text's first columns, and whether anything was cut.
func head(s string, columns int) (string, bool) {
	width := 0
	for i, r := range s {
		if width += runeWidth(r); width > columns {
			return s[:i], true
		}
	}
	return s, false
}

// tail gives the text's last columns.
func tail(s string, columns int) string {
	width := textWidth(s)
	for i, r := range s {
		if width <= columns {
			return s[i:]
		}
		width -= runeWidth(r)
	}
	return ""
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is how many columns a terminal gives a character: none for marks
// that combine, two for the wide ones of East Asia and emoji (Unicode Standard
// Annex 11, by blocks), else one.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f,
		r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
