package ui

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

// GapMark is shown in a row for a value that is not the same on all its hosts.
const GapMark = "⟨…⟩"

// Gaps are the places in rows where hosts have different values. In the texts of a row that Fill
// has filled, Cut finds them again.
type Gaps struct {
	begin string // of a placeholder: a text that is nowhere in the rows
	list  []Gap
}

// Gap is a place in a row.
type Gap struct {
	Row    *grouping.Row
	Number int      // among those of its row
	Values []string // of each of the row's Hosts, fit for a terminal
}

const placeholderEnd = "⟧"

// NewGaps makes ready to fill these rows.
func NewGaps(rows []*grouping.Row) *Gaps {
	var text strings.Builder
	for _, r := range rows {
		if len(r.Fields) > 0 {
			data, _ := json.Marshal(&r.Row) // what cannot be written was not grouped
			text.Write(data)
		}
	}
	g := &Gaps{}
	for n := 0; g.begin == "" || strings.Contains(text.String(), g.begin); n++ {
		g.begin = "⟦" + strconv.Itoa(n) + "·"
	}
	return g
}

// Fill gives a row with placeholders for the values that differ.
func (g *Gaps) Fill(r *grouping.Row) states.Event {
	if len(r.Fields) == 0 {
		return r.Row
	}
	tokens := make(map[*grouping.Field]string, len(r.Fields))
	for i := range r.Fields {
		f := &r.Fields[i]
		before, values, after := common(f)
		tokens[f] = before + g.begin + strconv.Itoa(len(g.list)) + placeholderEnd + after
		g.list = append(g.list, Gap{r, i, values})
	}
	if ev, err := r.With(func(f *grouping.Field) any { return tokens[f] }); err == nil {
		return ev
	}
	for i := range r.Fields { // a time, say, is as the first one has it
		f := &r.Fields[i]
		_, err := r.With(func(other *grouping.Field) any {
			if other == f {
				return tokens[f]
			}
			return other.Values[0]
		})
		if err != nil {
			delete(tokens, f)
		}
	}
	ev, err := r.With(func(f *grouping.Field) any {
		if token, ok := tokens[f]; ok {
			return token
		}
		return f.Values[0]
	})
	if err != nil {
		return r.Row
	}
	return ev
}

// Cut gives the pieces of a text between its gaps, and these: one less.
func (g *Gaps) Cut(text string) (pieces []string, gaps []*Gap) {
	for {
		before, rest, found := strings.Cut(text, g.begin)
		if !found {
			return append(pieces, text), gaps
		}
		number, rest, _ := strings.Cut(rest, placeholderEnd)
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(g.list) { // it was cut in the middle
			return append(pieces, before), gaps
		}
		pieces, gaps, text = append(pieces, before), append(gaps, &g.list[i]), rest
	}
}

// common takes from values that are texts what they begin and end with alike, as far as words go.
func common(f *grouping.Field) (before string, values []string, after string) {
	texts := make([]string, 0, len(f.Values))
	for _, v := range f.Values {
		s, ok := v.(string)
		if !ok {
			break
		}
		texts = append(texts, s)
	}
	if len(texts) < len(f.Values) {
		for _, v := range f.Values {
			values = append(values, value(v))
		}
		return "", values, ""
	}
	before, after = texts[0], texts[0]
	for _, s := range texts[1:] {
		before = before[:sameLength(before, s, func(t string, i int) byte { return t[i] })]
		n := sameLength(after, s, func(t string, i int) byte { return t[len(t)-1-i] })
		after = after[len(after)-n:]
	}
	mark := 0 // of a line of a diff
	if strings.Contains(f.Path, ".diff.") {
		mark = min(1, len(before))
	}
	before = before[:mark] + trimWord(before[mark:], false)
	shortest := len(texts[0])
	for _, s := range texts {
		shortest = min(shortest, len(s))
	}
	after = trimWord(after[max(0, len(after)-(shortest-len(before))):], true)
	for _, s := range texts {
		values = append(values, plainValue(s[len(before):len(s)-len(after)]))
	}
	return before, values, after
}

// sameLength counts the bytes that two texts have in common, from one end.
func sameLength(a, b string, at func(t string, i int) byte) int {
	n := 0
	for n < min(len(a), len(b)) && at(a, n) == at(b, n) {
		n++
	}
	return n
}

// trimWord takes a word from the end of a text, or from its beginning, of which the rest may
// be in another one.
func trimWord(s string, fromBeginning bool) string {
	isWord := func(r rune) bool {
		return r == utf8.RuneError || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._:/-%", r)
	}
	if fromBeginning {
		return strings.TrimLeftFunc(s, isWord)
	}
	return strings.TrimRightFunc(s, isWord)
}

// plainValue is a text as it is shown by itself.
func plainValue(s string) string {
	if s == "" || strings.TrimSpace(s) != s {
		return clean(strconv.Quote(s))
	}
	return Line(s)
}
