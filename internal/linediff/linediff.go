// Package linediff compares texts line by line, and writes the unified format itself.
package linediff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// contextLines is how many unchanged lines stand around a change.
const contextLines = 3

// line is one line of a diff: ' ', '-' or '+', and the text with its newline.
type line struct {
	op   byte
	text string
}

// Diff compares two texts in the unified format of diff -u, without file names.
// A line without a newline at its end is followed by the usual remark. Cells bounds the work
// where they have little in common, as the product of their lines; 0: MaxCells.
func Diff(a, b string, cells int) string {
	lines := diffLines(a, b, cmp.Or(cells, MaxCells))
	var out strings.Builder
	oldLine, newLine := 1, 1
	for start := 0; start < len(lines); {
		if lines[start].op == ' ' {
			oldLine, newLine, start = oldLine+1, newLine+1, start+1
			continue
		}
		begin := max(0, start-contextLines)
		end := hunkEnd(lines, start)
		writeHunk(&out, lines[begin:end], oldLine-(start-begin), newLine-(start-begin))
		for _, l := range lines[start:end] {
			if l.op != '+' {
				oldLine++
			}
			if l.op != '-' {
				newLine++
			}
		}
		start = end
	}
	return out.String()
}

// hunkEnd is where the hunk that changes from start on ends, its context
// included.
func hunkEnd(lines []line, start int) int {
	last := start
	for i := start; i < len(lines) && i-last <= 2*contextLines; i++ {
		if lines[i].op != ' ' {
			last = i
		}
	}
	return min(len(lines), last+1+contextLines)
}

func writeHunk(out *strings.Builder, lines []line, oldStart, newStart int) {
	var oldCount, newCount int
	for _, l := range lines {
		if l.op != '+' {
			oldCount++
		}
		if l.op != '-' {
			newCount++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(oldStart, oldCount), span(newStart, newCount))
	for _, l := range lines {
		out.WriteByte(l.op)
		out.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span is a hunk's range; an empty one names the line before it.
func span(start, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", start-1)
	case 1:
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, count)
}

// diffLines compares line by line (Myers, by way of diffmatchpatch's hashing
// of lines).
func diffLines(a, b string, cells int) []line {
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // the result must not depend on the clock
	x, y, table := dmp.DiffLinesToRunes(a, b)
	var lines []line
	for _, d := range dmp.DiffCharsToLines(compareRunes(dmp, x, y, cells), table) {
		op := map[diffmatchpatch.Operation]byte{
			diffmatchpatch.DiffEqual: ' ', diffmatchpatch.DiffDelete: '-', diffmatchpatch.DiffInsert: '+',
		}[d.Type]
		for text := range strings.SplitAfterSeq(d.Text, "\n") {
			if text != "" {
				lines = append(lines, line{op, text})
			}
		}
	}
	return lines
}

// MaxCells bounds the work of comparing two texts that have little in common,
// as the product of their lines: about a second.
const MaxCells = 1 << 29

// compareRunes compares what differs between the common beginning and end;
// where that is too much, it is replaced as a whole.
func compareRunes(dmp *diffmatchpatch.DiffMatchPatch, x, y []rune, cells int) []diffmatchpatch.Diff {
	first := dmp.DiffCommonPrefix(string(x), string(y))
	last := dmp.DiffCommonSuffix(string(x[first:]), string(y[first:]))
	if (len(x)-first-last)*(len(y)-first-last) <= cells {
		return dmp.DiffMainRunes(x, y, false)
	}
	return []diffmatchpatch.Diff{
		{Type: diffmatchpatch.DiffEqual, Text: string(x[:first])},
		{Type: diffmatchpatch.DiffDelete, Text: string(x[first : len(x)-last])},
		{Type: diffmatchpatch.DiffInsert, Text: string(y[first : len(y)-last])},
		{Type: diffmatchpatch.DiffEqual, Text: string(x[len(x)-last:])},
	}
}
