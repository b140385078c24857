package web

import (
	"maps"
	"slices"
	"strings"
)

// shortList is what a page shows of a list that the API gives as a whole: the first of what fits words, which the page's address has.
type shortList[T any] struct {
	listPart
	Items []T
}

// listPart says which part of a list it is.
type listPart struct {
	Path, Name string // of the page, and of the parameter
	Words      string
	Shown      int
	Found, All int    // that fit, and that there are
	Others     []pair // the other parameters of the page
}

// maxListed is how many items are shown at once, and maxScanned how many one finds without a filter.
const (
	maxListed  = 200
	maxScanned = 20
)

// More is how many fit and are not shown.
func (l listPart) More() int { return l.Found - l.Shown }

// IsLong tells whether a filter is of use.
func (l listPart) IsLong() bool { return l.All > maxScanned || l.Words != "" }

// shorten takes those items of a list whose text has all words that the page's address has for it, up to what a page shows.
func shorten[T any](v *view, name string, all []T, text func(T) string) shortList[T] {
	query := v.r.URL.Query()
	l := shortList[T]{listPart: listPart{Path: v.r.URL.Path, Name: name, Words: query.Get(name), All: len(all)}}
	words := strings.Fields(strings.ToLower(l.Words))
	for _, item := range all {
		lower := ""
		if len(words) > 0 {
			lower = strings.ToLower(text(item))
		}
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(lower, w) }) {
			continue
		}
		if l.Found++; l.Found <= maxListed {
			l.Items = append(l.Items, item)
		}
	}
	l.Shown = len(l.Items)
	for _, other := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[other] {
			if other != name && value != "" {
				l.Others = append(l.Others, pair{other, value})
			}
		}
	}
	return l
}
