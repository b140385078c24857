package runtime

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/journal"
)

// forms are the texts that are looked for, each of at least minSecret bytes. The zero value
// is empty and ready. Unlike a strings.Replacer it takes further ones at little cost.
type forms struct {
	byHead map[string][]string // by their first minSecret bytes, longest first
	first  [256]bool           // the bytes that they begin with
}

// add adds a text, and reports whether it is new.
func (f *forms) add(form string) bool {
	head := form[:minSecret]
	at, known := f.find(form)
	if known {
		return false
	}
	if f.byHead == nil {
		f.byHead = map[string][]string{}
	}
	f.byHead[head] = slices.Insert(f.byHead[head], at, form)
	f.first[form[0]] = true
	return true
}

// find gives the place of a text among those that begin like it.
func (f *forms) find(form string) (at int, known bool) {
	return slices.BinarySearchFunc(f.byHead[form[:minSecret]], form, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
}

// all gives them in no order.
func (f *forms) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range f.byHead {
			for _, form := range list {
				if !yield(form) {
					return
				}
			}
		}
	}
}

// replace puts a text in place of each of them, the longest where several begin: one secret
// may begin another.
func (f *forms) replace(s, by string) string {
	var out strings.Builder
	done := 0
	for i := 0; i+minSecret <= len(s); {
		length := 0
		if f.first[s[i]] {
			length = f.longest(s[i:])
		}
		if length == 0 {
			i++
			continue
		}
		out.WriteString(s[done:i])
		out.WriteString(by)
		i += length
		done = i
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// longest is the length of the longest that a text begins with; 0: it begins with none.
func (f *forms) longest(s string) int {
	for _, form := range f.byHead[s[:minSecret]] {
		if strings.HasPrefix(s, form) {
			return len(form)
		}
	}
	return 0
}

// mask hides them, also where they are wrapped into lines.
func (f *forms) mask(s string) string { return maskWrapped(f.replace(s, journal.Masked), f) }

// cutLength is the length from which a text may have been cut at its end.
const cutLength = 1 << 16

// maskTorn masks the beginning of a secret at the end of a long text, where what was
// kept of it may have ended.
func (f *forms) maskTorn(s string) string {
	if len(s) < cutLength {
		return s
	}
	longest := 0
	for form := range f.all() {
		for n := min(len(form), len(s)) - 1; n >= minSecret && n > longest; n-- {
			if strings.HasSuffix(s, form[:n]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return s
	}
	return s[:len(s)-longest] + journal.Masked
}
