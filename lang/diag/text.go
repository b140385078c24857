package diag

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Text is a source with its name, for places in it.
type Text struct {
	Name  string // for ranges
	Data  []byte
	lines []int // where each begins
}

// NewText gives the text of a file.
func NewText(name string, data []byte) *Text {
	return &Text{Name: name, Data: data, lines: LineStarts(data)}
}

// At gives the place of a byte. Columns are counted in characters (code points).
func (t *Text) At(offset int) Pos {
	offset = max(0, min(offset, len(t.Data)))
	line := sort.SearchInts(t.lines, offset+1)
	start := t.lines[line-1]
	return Pos{Line: line, Column: utf8.RuneCount(t.Data[start:offset]) + 1, Byte: offset}
}

// Span gives the place of the bytes from one offset up to another one.
func (t *Text) Span(from, to int) Range {
	return Range{File: t.Name, Start: t.At(from), End: t.At(to)}
}

// Lines tells how many lines there are.
func (t *Text) Lines() int { return len(t.lines) }

// Line gives a line, from 1, without white space around it.
func (t *Text) Line(number int) Range {
	from, to := t.Bounds(number)
	text := t.Data[from:to]
	from += len(text) - len(bytes.TrimLeft(text, " \t"))
	return t.Span(from, from+len(bytes.TrimSpace(text)))
}

// Bounds gives the offsets at which a line begins, and ends before its line feed.
func (t *Text) Bounds(number int) (from, to int) {
	number = max(1, min(number, len(t.lines)))
	from, to = t.lines[number-1], len(t.Data)
	if number < len(t.lines) {
		to = t.lines[number] - 1
	}
	return from, to
}

// Character gives the place of one character, by line and column as parsers count them, from 1.
func (t *Text) Character(line, column int) Range {
	from, to := t.Bounds(line)
	for range column - 1 {
		if from >= to {
			break
		}
		_, size := utf8.DecodeRune(t.Data[from:to])
		from += size
	}
	return t.Span(from, min(from+1, len(t.Data)))
}
