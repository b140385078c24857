package api

import "strings"

// maxWords is how many words are looked for at once.
const maxWords = 10

// words are those that somebody has typed, each of which has to occur in what is known of a host.
type words []string

// wordsOf cuts a text into words, in small letters.
func wordsOf(text string) words {
	list := strings.Fields(strings.ToLower(text))
	return list[:min(len(list), maxWords)]
}

// without gives the words that do not occur in a text in small letters, put where others were.
func (w words) without(text string, into words) words {
	into = into[:0]
	for _, word := range w {
		if !strings.Contains(text, word) {
			into = append(into, word)
		}
	}
	return into
}
