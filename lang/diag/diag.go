// Package diag holds what tenet says about a mistake: a summary, the place in
// the source, the reason and a hint. Every failure that a user can cause ends
// in a Diagnostic; mistakes are collected, so that one run reports them all.
//
// The package depends on nothing else of the project.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a Diagnostic stops the work.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Pos is a place in a source file.
type Pos struct {
	Line   int `json:"line"`   // from 1
	Column int `json:"column"` // from 1, in characters (grapheme clusters)
	Byte   int `json:"byte"`   // offset from the file's start, from 0
}

// Range is a piece of a source file. The zero Range is no place.
type Range struct {
	File  string `json:"file"` // as the user named it: relative to the site
	Start Pos    `json:"start"`
	End   Pos    `json:"end"` // the first position behind the piece
}

// IsZero reports whether the range names no place.
func (r Range) IsZero() bool { return r.File == "" && r.Start.Line == 0 }

// String gives "file:line:column", the form that editors open.
func (r Range) String() string {
	if r.IsZero() {
		return ""
	}
	if r.Start.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Start.Line, r.Start.Column)
}

// LineStarts gives the offsets at which the lines of a text begin.
func LineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// Related is a further place that helps to understand a Diagnostic, such as
// the first of two declarations with one name.
type Related struct {
	Message string `json:"message"`
	Range   Range  `json:"range"`
}

// Diagnostic is one thing that is wrong, or looks wrong.
type Diagnostic struct {
	Severity Severity  `json:"severity"`
	Summary  string    `json:"summary"`          // one line, no full stop
	Detail   string    `json:"detail,omitempty"` // the reason, in whole sentences
	Hint     string    `json:"hint,omitempty"`   // what to do about it
	Range    Range     `json:"range,omitzero"`
	Related  []Related `json:"related,omitempty"`
	Private  bool      `json:"-"` // a secret may stand in the lines at Range: they are not shown
}

// Error gives the diagnostic in one line, place first.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if place := d.Range.quotedString(); place != "" {
		b.WriteString(place + ": ")
	}
	b.WriteString(d.Summary)
	if d.Detail != "" {
		b.WriteString(": " + d.Detail)
	}
	if d.Hint != "" {
		b.WriteString(" (" + d.Hint + ")")
	}
	return b.String()
}

// List is a collection of diagnostics. Its zero value is empty and ready.
type List []Diagnostic

// Add appends diagnostics; one without a severity is an error.
func (l *List) Add(ds ...Diagnostic) {
	for _, d := range ds {
		d = d.shorten()
		if d.Severity == "" {
			d.Severity = Error
		}
		*l = append(*l, d)
	}
}

// HasErrors reports whether any of them is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Err gives the list as an error, or nil when it holds no error.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error gives all errors of the list, one a line.
func (l List) Error() string {
	var lines []string
	for _, d := range l {
		if d.Severity == Error {
			lines = append(lines, d.Error())
		}
	}
	return strings.Join(lines, "\n")
}

// Sorted gives the list in the order of files and positions, without repeats.
// Diagnostics without a place keep their order and come last.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		if az, bz := a.Range.IsZero(), b.Range.IsZero(); az != bz {
			if az {
				return 1
			}
			return -1
		}
		return cmp.Or(
			cmp.Compare(a.Range.File, b.Range.File),
			cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte),
		)
	})
	type text struct {
		at              Range
		summary, detail string
	}
	known := map[text]bool{}
	return slices.DeleteFunc(out, func(d Diagnostic) bool {
		this := text{d.Range, d.Summary, d.Detail}
		repeated := known[this]
		known[this] = true
		return repeated
	})
}

// From turns any error into diagnostics: those that it wraps, or one made of
// its text. From(nil) is empty.
func From(err error) List {
	if err == nil {
		return nil
	}
	var l List
	if errors.As(err, &l) {
		return l
	}
	var d Diagnostic
	if errors.As(err, &d) {
		return List{d.shorten()}
	}
	return List{{Severity: Error, Summary: Shorten(err.Error())}}
}
