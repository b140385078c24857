package ui

import (
	"fmt"
	"strings"
)

// How much is shown of values that differ, unless all is wanted.
const (
	maxGaps      = 6  // of a row
	maxValues    = 4  // of a gap
	maxValueName = 3  // hosts that have the same value
	maxValue     = 60 // characters of a value
)

// differences shows the values of hosts below the lines of rows that they differ in.
type differences struct {
	*Gaps
	style
	verbose bool
	name    func(host int) string
}

// expand shows the values below the lines with gaps, and tells whether there are any: not
// all of a row is shown.
func (p *differences) expand(text string) (expanded string, any bool) {
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		pieces, gaps := p.Cut(line)
		out.WriteString(strings.Join(pieces, GapMark))
		plain := strings.TrimLeft(line, "\x1b[0123456789;m") // of a colour
		spaces := strings.Repeat(" ", len(plain)-len(strings.TrimLeft(plain, " "))+2)
		for _, g := range gaps {
			any = true
			out.WriteString(p.values(g, spaces))
		}
	}
	return out.String(), any
}

// values lists what hosts have at a place.
func (p *differences) values(g *Gap, spaces string) string {
	if g.Number >= maxGaps && !p.verbose {
		if g.Number > maxGaps {
			return ""
		}
		return spaces + p.dim("(-v shows the values of this line and of those below)") + "\n"
	}
	var values hostTexts
	for i, host := range g.Row.Hosts {
		values.add(g.Values[i], p.name(host))
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
		parts = append(parts, p.dim(fewNames(v.hosts)+": ")+shorten(v.text))
	}
	if more := len(g.Row.Hosts) - hosts; more > 0 {
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

// shorten cuts a long text.
func shorten(s string) string {
	if runes := []rune(s); len(runes) > maxValue {
		return string(runes[:maxValue-1]) + "…"
	}
	return s
}
