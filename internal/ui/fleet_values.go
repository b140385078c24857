package ui

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

// Gap stands in a row for a value that is not the same on all its hosts.
const Gap = "⟨…⟩"

// How much is shown of values that differ, unless all is wanted.
const (
	maxGaps      = 6  // of a row
	maxValues    = 4  // of a gap
	maxValueName = 3  // hosts that have the same value
	maxValue     = 60 // characters of a value
)

// placeholders stand in rows for values that differ, until these are shown.
type placeholders struct {
	style
	verbose bool
	name    func(host int) string
	begin   string // of each: a text that is nowhere in the rows
	gaps    []gap
}

// gap is a place in a row, and what hosts have there.
type gap struct {
	row    *grouping.Row
	values []string // of each of the row's hosts
	number int      // among those of its row
}

const placeholderEnd = "⟧"

// newPlaceholders makes ready to fill rows. Name gives that of a host.
func newPlaceholders(s style, verbose bool, rows []shownRow, name func(host int) string) *placeholders {
	p := &placeholders{style: s, verbose: verbose, name: name}
	var text strings.Builder
	for _, r := range rows {
		if len(r.Fields) > 0 {
			data, _ := json.Marshal(&r.Row.Row) // what cannot be written was not grouped
			text.Write(data)
		}
	}
	for n := 0; p.begin == "" || strings.Contains(text.String(), p.begin); n++ {
		p.begin = "⟦" + strconv.Itoa(n) + "·"
	}
	return p
}

// fill gives a row with placeholders for the values that differ.
func (p *placeholders) fill(r *grouping.Row) states.Event {
	if len(r.Fields) == 0 {
		return r.Row
	}
	tokens := make(map[*grouping.Field]string, len(r.Fields))
	for i := range r.Fields {
		f := &r.Fields[i]
		before, values, after := common(f)
		tokens[f] = before + p.begin + strconv.Itoa(len(p.gaps)) + placeholderEnd + after
		p.gaps = append(p.gaps, gap{r, values, i})
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

// expand shows the values below the lines with placeholders, and tells whether there are any: not
// all of a row is shown.
func (p *placeholders) expand(text string) (expanded string, any bool) {
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		shown, gaps := p.take(line)
		out.WriteString(shown)
		plain := strings.TrimLeft(line, "\x1b[0123456789;m") // of a colour
		spaces := strings.Repeat(" ", len(plain)-len(strings.TrimLeft(plain, " "))+2)
		for _, g := range gaps {
			any = true
			out.WriteString(p.values(g, spaces))
		}
	}
	return out.String(), any
}

// take finds the placeholders of a line.
func (p *placeholders) take(line string) (shown string, gaps []gap) {
	for {
		before, rest, found := strings.Cut(line, p.begin)
		shown += before
		if !found {
			return shown, gaps
		}
		number, rest, _ := strings.Cut(rest, placeholderEnd)
		if i, err := strconv.Atoi(number); err == nil && i < len(p.gaps) {
			gaps = append(gaps, p.gaps[i])
		}
		shown, line = shown+Gap, rest
	}
}

// values lists what hosts have at a place.
func (p *placeholders) values(g gap, spaces string) string {
	if g.number >= maxGaps && !p.verbose {
		if g.number > maxGaps {
			return ""
		}
		return spaces + p.dim("(-v shows the values of this line and of those below)") + "\n"
	}
	var values hostTexts
	for i, host := range g.row.Hosts {
		values.add(g.values[i], p.name(host))
	}
	if p.verbose {
		var out strings.Builder
		for _, v := range values.groups {
			out.WriteString(spaces + p.dim(strings.Join(v.hosts, ", ")+": ") + v.text + "\n")
		}
		return out.String()
	}
	var parts []string
	hosts := 0
	for i, v := range values.groups {
		if i == maxValues {
			break
		}
		hosts += len(v.hosts)
		parts = append(parts, p.dim(fewNames(v.hosts)+": ")+shortened(v.text))
	}
	if more := len(g.row.Hosts) - hosts; more > 0 {
		parts = append(parts, p.dim(fmt.Sprintf("and %d more (-v shows all)", more)))
	}
	return spaces + strings.Join(parts, p.dim("; ")) + "\n"
}

// fewNames lists hosts that have the same value.
func fewNames(hosts []string) string {
	if len(hosts) <= maxValueName+1 {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:maxValueName], ", "), len(hosts)-maxValueName)
}

// shortened cuts a long text.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > maxValue {
		return string(runes[:maxValue-1]) + "…"
	}
	return s
}
