package site

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Pattern names hosts, by terms: names, globs (see path.Match) and @GROUP. A term behind
// "!" takes its hosts away, whatever the order; without other terms it takes them away
// from all. The zero value has no terms, and names no host.
type Pattern struct{ with, without []string }

// ParsePattern reads terms with commas between them. It does not look at which hosts and
// groups there are: that is Check's.
func ParsePattern(text string) Pattern {
	var p Pattern
	for term := range strings.SplitSeq(text, ",") {
		name, negative := strings.CutPrefix(strings.TrimSpace(term), "!")
		if negative {
			p.without = append(p.without, name)
		} else {
			p.with = append(p.with, name)
		}
	}
	return p
}

// Join gives the pattern of all terms of both.
func (p Pattern) Join(other Pattern) Pattern {
	return Pattern{slices.Concat(p.with, other.with), slices.Concat(p.without, other.without)}
}

// Check says what is wrong with a term: it is none, or fits no host or no group. The
// error is a *diag.HintError.
func (p Pattern) Check(hosts []Host, groups []string) error {
	for _, term := range slices.Concat(p.with, p.without) {
		if err := checkTerm(hosts, groups, term); err != nil {
			return err
		}
	}
	return nil
}

// Matches reports whether the pattern names a host that is in these groups.
func (p Pattern) Matches(name string, groups []string) bool {
	fits := func(term string) bool {
		if group, ok := strings.CutPrefix(term, "@"); ok {
			return slices.Contains(groups, group)
		}
		return MatchHost(term, name)
	}
	return (len(p.with) > 0 || len(p.without) > 0) &&
		(len(p.with) == 0 || slices.ContainsFunc(p.with, fits)) && !slices.ContainsFunc(p.without, fits)
}

// Groups gives the groups whose hosts the pattern names, and those whose hosts it takes
// away.
func (p Pattern) Groups() (with, without []string) {
	return groupsIn(p.with), groupsIn(p.without)
}

func groupsIn(terms []string) (groups []string) {
	for _, term := range terms {
		if group, ok := strings.CutPrefix(term, "@"); ok {
			groups = append(groups, group)
		}
	}
	return groups
}

// SelectHosts gives the hosts that a pattern names, in their order: terms with
// commas between them, see Pattern. The error, a *diag.HintError, names a term that fits
// no host or no group.
func SelectHosts(hosts []Host, groups []string, pattern string) ([]Host, error) {
	found, err := SelectIndexes(hosts, groups, pattern)
	if err != nil {
		return nil, err
	}
	var out []Host
	for _, i := range found {
		out = append(out, hosts[i])
	}
	return out, nil
}

// SelectIndexes gives the indexes of the hosts that SelectHosts gives.
func SelectIndexes(hosts []Host, groups []string, pattern string) ([]int, error) {
	p := ParsePattern(pattern)
	if err := p.Check(hosts, groups); err != nil {
		return nil, err
	}
	var out []int
	for i := range hosts {
		if p.Matches(hosts[i].Name, hosts[i].Groups) {
			out = append(out, i)
		}
	}
	return out, nil
}

// MatchHost reports whether a glob fits a host's name.
func MatchHost(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}

// checkTerm says what is wrong with a term.
func checkTerm(hosts []Host, groups []string, term string) error {
	if group, ok := strings.CutPrefix(term, "@"); ok {
		if slices.Contains(groups, group) {
			return nil
		}
		if group == "" {
			return &diag.HintError{Message: "@ names no host group", Hint: "write its name behind it: @" + cmp.Or(first(groups), "GROUP")}
		}
		return &diag.HintError{Message: fmt.Sprintf("there is no host group %q", group), Hint: suggestion(group, groups, "tenet inspect hosts lists the groups")}
	}
	if term == "" {
		return &diag.HintError{Message: "a term of the pattern for hosts is empty",
			Hint: "name a host, a glob or @GROUP between the commas, and behind a !: web*,!web3,@db"}
	}
	if _, err := path.Match(term, ""); err != nil {
		return &diag.HintError{Message: fmt.Sprintf("%q is no pattern for hosts: a bracket or a backslash is not complete", term),
			Hint: "write [a-c] or [0-9] for one character of several, * for any characters; terms have commas between them: web*,!web3,@db"}
	}
	if !strings.ContainsAny(term, `*?[\`) && !slices.ContainsFunc(hosts, func(h Host) bool { return h.Name == term }) {
		var names []string
		for _, h := range hosts {
			names = append(names, h.Name)
		}
		return &diag.HintError{Message: fmt.Sprintf("there is no host %q", term), Hint: termHint(term, names, groups)}
	}
	return nil
}

// termHint says what could be meant by a term that fits no host.
func termHint(term string, names, groups []string) string {
	if slices.Contains(groups, term) {
		return fmt.Sprintf("it is a group: write @%s", term)
	}
	if words := strings.FieldsFunc(term, func(c rune) bool { return strings.ContainsRune(" \t:;|&", c) }); len(words) > 1 {
		return "terms have commas between them: " + strings.Join(words, ",")
	}
	if strings.ContainsAny(term, "{}") {
		return "there are no braces in patterns; name each host, or write [a-c] for one character of several"
	}
	if strings.HasPrefix(term, "~") {
		return "there are no regular expressions; write a glob, such as web*"
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, term) }); i >= 0 {
		return fmt.Sprintf("did you mean %q?", names[i])
	}
	return suggestion(term, names, "tenet inspect hosts lists them")
}

// first is the first of the names; empty: there are none.
func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func suggestion(name string, names []string, otherwise string) string {
	return cmp.Or(diag.DidYouMean(name, names), diag.Choices(names), otherwise)
}
