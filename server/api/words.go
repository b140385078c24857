package api

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
)

// maxWords is how many words are looked for at once.
const maxWords = 10

// words are those that somebody has typed, each of which has to occur in what is known of a host.
type words []string

// wordsOf cuts a text into words.
func wordsOf(text string) words {
	list := strings.Fields(strings.ToLower(text))
	return list[:min(len(list), maxWords)]
}

// without gives the words that do not occur in a text. The list itself is not changed.
func (w words) without(text string, into words) words {
	into = into[:0]
	for _, word := range w {
		if !occurs(word, text) {
			into = append(into, word)
		}
	}
	return into
}

// withoutHost gives the words that occur neither in who a host is nor in a label, as LABEL=VALUE. They are put where the last ones were.
func (w words) withoutHost(h *enroll.Brief, into words) words {
	left := w.without(h.Target.Name, into)
	left = left.without(string(h.ID), left)
	for label, value := range h.Target.Labels {
		if len(left) == 0 {
			break
		}
		left = left.without(label, left)
		left = left.without(value, left)
		if slices.ContainsFunc(left, func(word string) bool { return strings.Contains(word, "=") }) {
			left = left.without(label+"="+value, left)
		}
	}
	return left
}

// withoutSite gives those that do not occur in how a host stands with a site.
func (w words) withoutSite(g *sessions.Glance) words {
	w = w.without(g.Site, w)
	w = w.without(g.Revision, w)
	w = w.without(string(g.Phase), w)
	return w.without(g.Reason, w)
}

// occurs tells whether a word in small letters occurs in a text, however that is written. Most texts are ASCII, and nothing is copied for them.
func occurs(word, text string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if hasPrefixFold(text[i:], word) {
			return true
		}
	}
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return strings.Contains(strings.ToLower(text), word)
		}
	}
	return false
}

func hasPrefixFold(text, word string) bool {
	for i := 0; i < len(word); i++ {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
