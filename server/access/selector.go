package access

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
)

// All stands for all hosts as a selector, and for all sites as a site.
const All = "*"

// The longest selector, and the most terms of one.
const (
	maxSelector = 4 << 10
	maxTerms    = 100
)

// Selector names hosts: terms with commas between them, of which one has to fit. A term is a name
// or a glob (path.Match), or LABEL=VALUE, where the value may be a glob. A term behind "!" takes
// its hosts away, whatever the order; without other terms it takes them away from all. Only the
// name and the labels count under which a host was approved. The zero value names no host.
type Selector struct {
	with, without []term
}

// term is a pattern for the name, or for the value of a label.
type term struct{ label, pattern string }

// ParseSelector reads a selector. Its errors name the term and where it begins.
func ParseSelector(text string) (Selector, error) {
	if len(text) > maxSelector || strings.Count(text, ",") >= maxTerms {
		return Selector{}, &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("a selector has at most %d terms, and %d bytes", maxTerms, maxSelector),
			Hint: "give the hosts a label, and name that"}
	}
	var s Selector
	at := 0
	for part := range strings.SplitSeq(text, ",") {
		negative, t, err := parseTerm(part)
		if err != nil {
			column := utf8.RuneCountInString(text[:at]) + utf8.RuneCountInString(part) - utf8.RuneCountInString(strings.TrimLeft(part, " ")) + 1
			return Selector{}, &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("the selector is wrong at character %d: %s", column, err), Hint: "write names, globs, LABEL=VALUE or !NOT with commas between them, such as web*,env=prod,!web3; * for all", Err: err}
		}
		if negative {
			s.without = append(s.without, t)
		} else {
			s.with = append(s.with, t)
		}
		at += len(part) + 1
	}
	return s, nil
}

func parseTerm(text string) (negative bool, t term, err error) {
	text = strings.Trim(text, " ")
	text, negative = strings.CutPrefix(text, "!")
	t.pattern = text
	if label, value, ok := strings.Cut(text, "="); ok {
		if !isName(label) {
			return false, t, fmt.Errorf("%.60q is no name of a label", label)
		}
		t = term{label, value}
	}
	switch bad := strings.IndexFunc(text, func(c rune) bool { return c == utf8.RuneError || c == ' ' || c == '!' || diag.Unsafe(c) }); {
	case text == "":
		return false, t, fmt.Errorf("a term is empty")
	case bad >= 0:
		return false, t, fmt.Errorf("%.60q has a character that no name has", text)
	}
	if _, err := path.Match(t.pattern, ""); err != nil {
		return false, t, fmt.Errorf("a bracket or a backslash of %.60q is not complete", t.pattern)
	}
	return negative, t, nil
}

// isName tells whether a text can be the name of a label, a person, a role, a program or a site.
func isName(text string) bool {
	const longest = 100
	for i, c := range text {
		isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !isLetter && (i == 0 || !strings.ContainsRune("-_.@", c)) {
			return false
		}
	}
	return text != "" && len(text) <= longest
}

// Matches tells whether the selector names a host.
func (s Selector) Matches(host Target) bool {
	fits := func(t term) bool { return t.fits(host) }
	return len(s.with)+len(s.without) > 0 &&
		(len(s.with) == 0 || slices.ContainsFunc(s.with, fits)) && !slices.ContainsFunc(s.without, fits)
}

func (t term) fits(host Target) bool {
	if t.label == "" {
		return host.Name != "" && match(t.pattern, host.Name)
	}
	value, ok := host.Labels[t.label]
	return ok && match(t.pattern, value)
}

// match lets * stand for a slash, too, or a value with one would escape from "!LABEL=*".
func match(pattern, text string) bool {
	if pattern == All || !strings.ContainsAny(pattern, `*?[\`) { // most are
		return pattern == All || pattern == text
	}
	const other = "\x00"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", other), strings.ReplaceAll(text, "/", other))
	return ok && err == nil
}

// isAll tells whether all hosts are named for certain.
func (s Selector) isAll() bool { return len(s.without) == 0 && slices.Contains(s.with, term{"", All}) }

// covers tells whether the selector names all hosts, whatever there are, that another one names.
// It may say no where that is hard to tell.
func (s Selector) covers(other Selector) bool {
	for _, t := range s.without {
		if slices.Contains(other.without, t) {
			continue
		}
		// What the other names one by one, this does not take away.
		if len(other.with) == 0 || slices.ContainsFunc(other.with, func(o term) bool { return !o.isLiteral() || t.label != "" || match(t.pattern, o.pattern) }) {
			return false
		}
	}
	if len(s.with) == 0 {
		return len(s.without) > 0
	}
	if slices.Contains(s.with, term{"", All}) {
		return len(other.with)+len(other.without) > 0
	}
	return len(other.with) > 0 && !slices.ContainsFunc(other.with, func(o term) bool { return !slices.ContainsFunc(s.with, o.isWithin) })
}

// isWithin tells whether another term fits whatever this one fits.
func (t term) isWithin(other term) bool {
	return t == other || t.isLiteral() && other.label == "" && match(other.pattern, t.pattern)
}

// isLiteral tells whether the term is the name of one host.
func (t term) isLiteral() bool { return t.label == "" && !strings.ContainsAny(t.pattern, `*?[\`) }

// String writes the selector as ParseSelector reads it.
func (s Selector) String() string {
	var out []string
	for _, t := range s.with {
		out = append(out, t.String())
	}
	for _, t := range s.without {
		out = append(out, "!"+t.String())
	}
	return strings.Join(out, ",")
}

func (t term) String() string {
	if t.label != "" {
		return t.label + "=" + t.pattern
	}
	return t.pattern
}

// MarshalText writes the selector as text.
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads it.
func (s *Selector) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSelector(string(text))
	return err
}
