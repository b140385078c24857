// Package search finds words in all that can be read about: keywords, types of parts and their
// attributes, options, functions, facts, components and their inputs, commands and their flags,
// messages, pages, and the words of other tools.
package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Entry is something that can be found.
type Entry struct {
	Kind    string `json:"kind"` // "keyword", "module", "attribute" and so on
	Name    string `json:"name"`
	Of      string `json:"of,omitempty"` // the other tool whose word it is
	Summary string `json:"summary"`
	Read    string `json:"read,omitempty"` // the command that tells more
	// Text is looked at besides, and counts less.
	Text string `json:"-"`
}

// Search gives the entries that hold all of the words, the best first, or, where none does, those
// that hold most of them, and more than half. Case means nothing, and a word may be the beginning of one
// in the entry.
func Search(entries []Entry, words []string) []Entry {
	type hit struct {
		Entry
		held, score int
	}
	wanted := split(strings.Join(words, " "))
	var hits []hit
	most := 0
	for _, e := range entries {
		if held, score := e.score(wanted); 2*held > len(wanted) {
			hits = append(hits, hit{e, held, score})
			if e.Kind != "page" { // whose text is long, and holds small words by chance
				most = max(most, held)
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(b.score-a.score, len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name))
	})
	var out []Entry
	for _, h := range hits {
		if h.held >= most {
			out = append(out, h.Entry)
		}
	}
	return out
}

// Weights of a word by where it stands. An entry whose name is what was asked for comes before all
// others, whatever else these say.
const (
	isName      = 1000
	isNameWord  = 60 // a word of the name
	beginsName  = 30 // of a word of the name
	inSummary   = 10
	inText      = 3
	beginsOther = 1 // a word of the summary or the text
)

// score counts the words that the entry holds, and says how well it does.
func (e *Entry) score(words []string) (held, score int) {
	name, summary, text := split(e.Name), split(e.Summary), split(e.Text)
	isExact := slices.Equal(name, words)
	if e.Kind == "error" || e.Kind == "warning" || e.Kind == "page" { // whose name is a sentence
		name, summary = nil, append(name, summary...)
	}
	for _, w := range words {
		held++
		switch {
		case slices.Contains(name, w):
			score += isNameWord
		case begins(name, w):
			score += beginsName
		case slices.Contains(summary, w):
			score += inSummary
		case slices.Contains(text, w):
			score += inText
			if e.Kind == "page" { // which is about what it says often
				score += min(count(text, w), inSummary-inText) - 1
			}
		case begins(summary, w), begins(text, w):
			score += beginsOther
		default:
			held--
		}
	}
	if isExact && held > 0 {
		score += isName
	}
	return held, score
}

func count(list []string, word string) (n int) {
	for _, s := range list {
		if s == word {
			n++
		}
	}
	return n
}

func begins(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, word) })
}

// split gives the words of a text in small letters, without the s of plurals.
func split(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		if singular, ok := strings.CutSuffix(w, "s"); ok && len(singular) > 2 && !strings.HasSuffix(singular, "s") {
			words[i] = singular
		}
	}
	return words
}
