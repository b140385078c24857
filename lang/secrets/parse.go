package secrets

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/diag"
)

// Parse reads the text of a file; name is for messages. All that is wrong is in
// the list; the File is never nil, and holds what can be read.
func Parse(name string, data []byte) (*File, diag.List) {
	p := parser{file: &File{name: name}}
	if len(data) > MaxFile {
		p.errorAt(p.lineRange(""), fmt.Sprintf("%s is larger than %d MiB", name, MaxFile>>20), "divide it: secrets/NAME.age for each group")
		return p.file, p.list
	}
	text := strings.TrimSuffix(string(data), "\n")
	if p.reportForeign(text) {
		return p.file, p.list
	}
	for line := range strings.SplitSeq(text, "\n") {
		p.number++
		p.line(line)
		p.offset += len(line) + 1
	}
	p.file.tail = p.pending
	p.header()
	p.reportDuplicates()
	return p.file, p.list.Sorted()
}

type parser struct {
	file     *File
	list     diag.List
	number   int // of the line
	offset   int
	pending  []string // lines before the next value
	body     bool     // the header has ended
	conflict bool     // within the markers of a merge
}

// lineRange is the place of a line.
func (p *parser) lineRange(line string) diag.Range {
	start := diag.Pos{Line: max(p.number, 1), Column: 1, Byte: p.offset}
	end := start
	// Nobody needs the end of a long line, and columns count characters.
	end.Column += min(len([]rune(strings.ToValidUTF8(line[:min(len(line), 40)], "?"))), 40)
	end.Byte += min(len(line), 40)
	return diag.Range{File: p.file.name, Start: start, End: end}
}

func (p *parser) errorAt(at diag.Range, summary, hint string) {
	p.list.Add(diag.Diagnostic{Summary: summary, Hint: hint, Range: at})
}

// reportForeign reports a text that is none of these files.
func (p *parser) reportForeign(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	version, isOurs := strings.CutPrefix(strings.TrimRight(first, "\r"), "# tenet.secrets/")
	version, _, _ = strings.Cut(version, ":")
	version, _, _ = strings.Cut(version, " ")
	switch {
	case isOurs && version == "1":
		return false
	case isOurs:
		p.errorAt(p.lineRange(first), fmt.Sprintf("%s has the format tenet.secrets/%s, which this version does not know", p.file.name, quote(version)),
			"a newer tenet wrote it; use that one")
	case strings.HasPrefix(text, magic[:len(magic)-1]) || strings.HasPrefix(text, "-----BEGIN AGE"):
		p.errorAt(p.lineRange(""), p.file.name+" is one whole age file; tenet keeps each value in a line of its own",
			"move it away, and set the values with tenet secret set NAME")
	case isMarker(first):
		p.errorAt(p.lineRange(first), "a merge has left its conflict markers", conflictHint)
	default:
		p.errorAt(p.lineRange(""), fmt.Sprintf("%s does not begin with \"# %s\"", p.file.name, Format),
			"such files are made by tenet secret set NAME")
	}
	return true
}

const conflictHint = "keep the lines that are right, each name once, and remove the markers; a value whose line is lost is set again with tenet secret set"

func isMarker(line string) bool {
	for _, m := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if rest, ok := strings.CutPrefix(line, m); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\r') {
			return true
		}
	}
	return false
}

// line reads one line. What it cannot read stays with what follows, so that
// nothing is lost when the file is written.
func (p *parser) line(line string) {
	text := strings.TrimRight(line, " \t\r")
	switch {
	case isMarker(text):
		// One message for each conflict.
		if opens := strings.HasPrefix(text, "<"); opens || !p.conflict {
			p.errorAt(p.lineRange(line), "a merge has left its conflict markers", conflictHint)
		}
		p.conflict = !strings.HasPrefix(text, ">")
	case text == "" || strings.HasPrefix(text, "#"):
		// A comment.
	case strings.HasPrefix(text, "@") && !p.body:
		p.headerLine(text, line)
	default:
		if made := p.value(text, line); made != nil {
			made.comments, p.pending, p.body = p.pending, nil, true
			p.file.lines = append(p.file.lines, *made)
			return
		}
	}
	if p.body {
		p.pending = append(p.pending, line)
	} else {
		p.file.head = append(p.file.head, line)
	}
}

func (p *parser) headerLine(text, line string) {
	name, value, ok := strings.Cut(text, " = ")
	at := p.lineRange(line)
	switch {
	case !ok:
		p.errorAt(at, "the line is not NAME = VALUE", historyHint)
	case name == "@recipient":
		recipient, err := age.ParseX25519Recipient(value)
		if err != nil || p.file.recipient != nil {
			p.errorAt(at, "@recipient is no single age1… recipient", historyHint)
			return
		}
		p.file.recipient = recipient
	case name == "@readers":
		p.file.readers = strings.Fields(value)
	case name == "@key":
		data, err := decode(value)
		if err != nil {
			p.errorAt(at, "@key is damaged: "+err.Error(), historyHint)
			return
		}
		p.file.keys = append(p.file.keys, keyLine{data, at})
	default:
		p.errorAt(at, fmt.Sprintf("nothing in the header is named %s", quote(name)), historyHint)
	}
}

const historyHint = "take the line from the history of the repository"

// value reads NAME = BASE64; nil where there is not even a name.
func (p *parser) value(text, line string) *valueLine {
	name, value, ok := strings.Cut(text, " = ")
	if !ok || !ValidName(name) {
		p.errorAt(p.lineRange(line), "the line is not NAME = VALUE, with a name of letters, digits, \"_\" and \"-\"",
			"remove it, or take it from the history of the repository")
		return nil
	}
	made := &valueLine{name: name, text: line, at: p.lineRange(line)}
	var err error
	switch made.data, err = decode(value); {
	case err != nil:
		made.problem = &diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("the line of %s is damaged: %v", name, err),
			Hint: "take it from the history of the repository, or set the value again with tenet secret set", Range: made.at}
		p.list.Add(*made.problem)
	case p.conflict:
		made.problem = &diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("the line of %s stands in a conflict of a merge", name),
			Hint: conflictHint, Range: made.at}
	}
	return made
}

// decode gives the age file that a line holds.
func decode(text string) ([]byte, error) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	case err != nil || bytes.ContainsAny([]byte(text), "\r\n"):
		return nil, fmt.Errorf("it is no base64")
	case !bytes.HasPrefix(data, []byte(magic)):
		return nil, fmt.Errorf("it holds no age file")
	}
	return data, nil
}

// header reports what the header lacks.
func (p *parser) header() {
	first := diag.Range{File: p.file.name, Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 1}}
	if slices.ContainsFunc(p.list, func(d diag.Diagnostic) bool { return strings.HasPrefix(d.Summary, "@") }) {
		return // what is missing was there, and is damaged
	}
	if p.file.recipient == nil {
		p.errorAt(first, p.file.name+" has no line @recipient", historyHint)
	}
	if len(p.file.keys) == 0 {
		p.errorAt(first, p.file.name+" has no line @key", historyHint)
	}
}

// reportDuplicates reports names that stand in two lines, of which neither is believed.
func (p *parser) reportDuplicates() {
	first := map[string]*valueLine{}
	for i := range p.file.lines {
		l := &p.file.lines[i]
		earlier := first[l.name]
		if earlier == nil {
			first[l.name] = l
			continue
		}
		d := diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("%s has a value twice", l.name), Range: l.at,
			Hint:    "remove one of the lines, or set the value again with tenet secret set",
			Related: []diag.Related{{Message: "the other one", Range: earlier.at}}}
		l.problem, earlier.problem = cmp.Or(l.problem, &d), cmp.Or(earlier.problem, &d)
		if !strings.Contains(l.problem.Summary, "conflict") {
			p.list.Add(d)
		}
	}
}
