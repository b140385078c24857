package runtime

import (
	"path"
	"slices"
	"strings"
)

// patterns are paths that an act may touch, made ready to be compared with many others.
type patterns struct {
	plain  []string
	groups []wordGroup
}

// wordGroup stands for the patterns PLACE/*WORD* of several words: a package has many.
type wordGroup struct {
	place string
	words []string
}

// compile makes patterns ready.
func compile(list []string) (p patterns) {
	for _, pattern := range list {
		dir, last := path.Split(pattern)
		word, isWord := strings.CutSuffix(strings.TrimPrefix(last, "*"), "*")
		if !isWord || word == "" || last[0] != '*' || strings.ContainsAny(word, wildcards) {
			p.plain = append(p.plain, pattern)
			continue
		}
		place := path.Clean(dir)
		i := slices.IndexFunc(p.groups, func(g wordGroup) bool { return g.place == place })
		if i < 0 {
			i, p.groups = len(p.groups), append(p.groups, wordGroup{place: place})
		}
		p.groups[i].words = append(p.groups[i].words, word)
	}
	return p
}

func (p *patterns) none() bool { return len(p.plain)+len(p.groups) == 0 }

// covers reports whether a clean path is what one of the patterns stands for, or below it.
func (f *effects) covers(p *patterns, name string) bool {
	return slices.ContainsFunc(p.plain, func(pattern string) bool {
		return f.matchesForm(pattern, func(form string) bool { return covers(form, name) })
	}) ||
		slices.ContainsFunc(p.groups, func(g wordGroup) bool {
			return f.matchesForm(g.place+"/*", func(form string) bool { return covers(form, name) && g.hasWordIn(name, form) })
		})
}

// hasWordIn reports whether the name to which the last one of a pattern belongs has one of the words.
func (g *wordGroup) hasWordIn(name, pattern string) bool {
	for range strings.Count(pattern, "/") {
		_, name, _ = strings.Cut(name, "/")
	}
	first, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(g.words, func(word string) bool { return strings.Contains(first, word) })
}

// areBelow reports whether one of the patterns may stand for something below a clean path, at
// which there may be something.
func (f *effects) areBelow(p *patterns, name string, isThere bool) bool {
	below := func(form string) bool { return isAbove(name, form) && (isThere || mayBeMade(name, form)) }
	return slices.ContainsFunc(p.plain, func(pattern string) bool { return f.matchesForm(pattern, below) }) ||
		slices.ContainsFunc(p.groups, func(g wordGroup) bool { return f.matchesForm(g.place+"/*", below) })
}

// mayBeMade reports whether something at a clean path where nothing is may be made for what a
// pattern stands for below it: a * alone stands for directories that are there.
func mayBeMade(name, pattern string) bool {
	depth := strings.Count(strings.TrimSuffix(name, "/"), "/")
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	return depth == 0 || depth >= len(parts) || parts[depth-1] != "*"
}

// matchesForm asks of a pattern as it is, and as it is known without symbolic links.
func (f *effects) matchesForm(pattern string, ok func(form string) bool) bool {
	if ok(pattern) {
		return true
	}
	other := f.withoutLinks(pattern)
	return other != pattern && ok(other)
}

// covers reports whether a clean path is what a pattern stands for, or below it.
func covers(pattern, name string) bool {
	if !strings.ContainsAny(pattern, wildcards) {
		return contains(pattern, name)
	}
	for {
		p, morePattern, _ := strings.Cut(strings.TrimPrefix(pattern, "/"), "/")
		n, moreName, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
		switch {
		case p == "":
			return true
		case n == "":
			return false
		}
		if ok, err := path.Match(p, n); !ok && err == nil {
			return false
		}
		pattern, name = morePattern, moreName
	}
}

// isAbove reports whether something that a pattern stands for may be below a clean path.
func isAbove(name, pattern string) bool {
	if !strings.ContainsAny(pattern, wildcards) {
		return contains(name, pattern)
	}
	depth := strings.Count(strings.TrimSuffix(name, "/"), "/")
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	return depth < len(parts) && covers("/"+strings.Join(parts[:depth], "/"), name)
}

// contains reports whether a clean path is another one, or above it.
func contains(a, b string) bool { return a == b || a == "/" || strings.HasPrefix(b, a+"/") }

// matches reports whether a name is one of some patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok || err != nil
	})
}
