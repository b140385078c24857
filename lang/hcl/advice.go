package hcl

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/foreign"
	"github.com/tenetcm/tenet/lang/syntax"
)

// maxAdvice is how many mistakes of one file are looked at more closely.
const maxAdvice = 200

// advise turns what the parser says into diagnostics, each with the best advice
// there is. Of a file that is no HCL from its first line on, only that is said;
// of several mistakes in one line, the first that is understood. repairs let the parser go on.
func advise(name string, src []byte, diags hcl2.Diagnostics) (list diag.List, repairs []repair) {
	if !diags.HasErrors() {
		return expr.FromHCL(diags), nil
	}
	if a, line, ok := foreign.Document(string(src)); ok {
		d := diag.Diagnostic{Severity: diag.Error, Range: wholeLine(name, src, line)}
		return diag.List{applyAdvice(d, a)}, nil
	}
	list = expr.FromHCL(dropNoise(diags))
	understood := map[int]int{} // line → its indentation
	shell := shellSequences(src)
	for i := range list {
		line, offset := lineAt(src, list[i].Range.Start.Byte)
		if i >= maxAdvice {
			break
		}
		if d, of, ok := ofShell(name, src, shell, list[i]); ok {
			list[i], understood[of.line] = d, indent(line)
			if of.swallows { // the rest follows from it
				list = list[:i+1]
				break
			}
			continue
		}
		if a, ok := foreign.Line(line, offset); ok {
			list[i] = applyAdvice(list[i], a)
			if r, ok := repairAt(src, list[i].Range.Start.Byte, a.Repair); ok {
				repairs = append(repairs, r)
			}
			number := list[i].Range.Start.Line
			understood[number] = indent(line)
			if a.Whole {
				list[i].Range = wholeLine(name, src, number)
			}
			if a.Last {
				list = list[:i+1]
				break
			}
			continue
		}
		if list[i].Summary == expr.OpenHeredoc {
			list[i] = openHeredoc(name, src, list[i])
		}
	}
	return dropConsequences(src, list, understood), repairs
}

// dropConsequences drops what only follows from a mistake that is understood: more about
// its line, and about the lines below that are indented deeper. A quote without
// an end is said once.
func dropConsequences(src []byte, list diag.List, understood map[int]int) diag.List {
	said, below, deeper, open := map[int]bool{}, 0, 0, false
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		number := d.Range.Start.Line
		line, _ := lineAt(src, d.Range.Start.Byte)
		at, ok := understood[number]
		if ok {
			below, deeper = number, at
		}
		noise := ok && said[number] || !ok && below > 0 && number > below && indent(line) > deeper
		if d.Summary == expr.OpenText || d.Summary == expr.OpenHeredoc {
			noise, open = noise || open, true
		}
		if !noise && !ok {
			below = 0
		}
		said[number] = true
		return noise
	})
}

// indent is the number of spaces and tabs that a line begins with.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// applyAdvice puts advice in the place of what a diagnostic says.
func applyAdvice(d diag.Diagnostic, a foreign.Advice) diag.Diagnostic {
	if a.Summary != "" {
		d.Summary, d.Detail = a.Summary, a.Detail
	}
	d.Detail, d.Hint = cmp.Or(a.Detail, d.Detail), cmp.Or(a.Hint, d.Hint)
	return d
}

// lineAt gives the line around a byte of a source, and the byte's offset in it.
func lineAt(src []byte, at int) (line string, offset int) {
	at = min(max(at, 0), len(src))
	start := bytes.LastIndexByte(src[:at], '\n') + 1
	end := len(src)
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		end = at + i
	}
	return strings.TrimRight(string(src[start:end]), "\r"), at - start
}

// wholeLine is the range of a line's text.
func wholeLine(name string, src []byte, number int) diag.Range {
	at := 0
	for range number - 1 {
		at += bytes.IndexByte(src[at:], '\n') + 1
	}
	text, _ := lineAt(src, at)
	from := len(text) - len(strings.TrimLeft(text, " \t\ufeff"))
	start := diag.Pos{Line: number, Column: 1 + from, Byte: at + from}
	if bytes.HasPrefix(src[at:], []byte("\ufeff")) {
		start.Column = 1
	}
	width := len([]rune(strings.TrimSpace(text[from:])))
	end := diag.Pos{Line: number, Column: start.Column + width, Byte: at + len(strings.TrimRight(text, " \t"))}
	return diag.Range{File: name, Start: start, End: end}
}

var heredoc = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<<-?'?([A-Za-z_][\w-]*)'?[ \t]*\r?$`) })

// openHeredoc says where the heredoc starts that has no end; the parser names
// only the end of the file.
func openHeredoc(name string, src []byte, d diag.Diagnostic) diag.Diagnostic {
	number, from, marker := 0, 0, ""
	var almost string // the first line that only looks like the end
	for i, line := range strings.Split(string(src), "\n") {
		if marker == "" {
			if m := heredoc().FindStringSubmatch(line); m != nil {
				number, from, marker, almost = i+1, strings.LastIndex(line, "<<"), m[1], ""
			}
			continue
		}
		switch text := strings.TrimSpace(line); {
		case text == marker:
			marker = ""
		case almost == "" && strings.HasPrefix(text, marker) && !isWord(text[len(marker):]):
			almost = fmt.Sprintf("; line %d has more than that", i+1)
		}
	}
	if marker == "" {
		return d
	}
	r := wholeLine(name, src, number)
	line, _ := lineAt(src, r.Start.Byte)
	r.Start.Byte += from - indent(line)
	r.Start.Column = len([]rune(line[:from])) + 1
	return applyAdvice(diag.Diagnostic{Severity: diag.Error, Range: r}, foreign.Advice{
		Summary: fmt.Sprintf("the text that begins here has no end %s", marker),
		Detail:  "The text goes on until a line with that word alone.",
		Hint:    fmt.Sprintf("end it with a line that holds nothing but %s%s", marker, almost)})
}

// isWord reports whether text goes on with a character of a word.
func isWord(text string) bool {
	return text != "" && (text[0] == '_' || text[0] >= '0' && text[0] <= '9' || text[0] >= 'A' && text[0] <= 'Z' || text[0] >= 'a' && text[0] <= 'z')
}

// prune takes out of a tree what begins in a line that does not parse: what the
// parser made of it is not what the author meant.
func prune(b *syntax.Body, list diag.List) *syntax.Body {
	wrong := map[int]bool{}
	for _, d := range list {
		wrong[d.Range.Start.Line] = true
	}
	if len(wrong) > 0 {
		pruneLines(b, wrong)
	}
	return b
}

func pruneLines(b *syntax.Body, wrong map[int]bool) {
	b.Attributes = slices.DeleteFunc(b.Attributes, func(a *syntax.Attribute) bool { return wrong[a.NameRange.Start.Line] })
	b.Blocks = slices.DeleteFunc(b.Blocks, func(b *syntax.Block) bool { return wrong[b.TypeRange.Start.Line] })
	for _, sub := range b.Blocks {
		pruneLines(sub.Body, wrong)
	}
}
