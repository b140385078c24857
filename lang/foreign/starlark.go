package foreign

import (
	"regexp"
	"strings"
	"sync"
)

var (
	blockPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b([a-z_]+) "([^"]*)" \{ ?([^{}]*(?:\{[^{}]*\}[^{}]*)*?) ?\}`)
	})
	barePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(retry|confirm|only_if|unless|site|locals|validation|rollout) \{ ?([^{}]*?) ?\}`)
	})
	pairPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(["\])}\w]) ([a-z_]+ = )`)
	})
	bracesPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{[^{}]*\}`)
	})
	objectPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([{,] ?)([a-zA-Z_]+) = `)
	})
)

// Starlark rewrites advice, which says how HCL writes it, for Starlark: blocks
// are calls, and loops have no for_each.
func Starlark(a Advice) Advice {
	h := strings.ReplaceAll(a.Hint, ", each attribute on a line of its own", "")
	if strings.Contains(h, "for_each") || strings.Contains(h, "each.key") {
		a.Hint = "write a loop, and give each turn instance = KEY: for x in LIST: …"
		return a
	}
	h = blockPattern().ReplaceAllStringFunc(h, func(text string) string {
		m := blockPattern().FindStringSubmatch(text)
		inside := pairPattern().ReplaceAllString(strings.TrimSpace(m[3]), "$1, $2")
		if inside != "" {
			inside = ", " + inside
		}
		return m[1] + `("` + m[2] + `"` + inside + ")"
	})
	h = barePattern().ReplaceAllString(h, "$1 = { $2 }")
	h = bracesPattern().ReplaceAllStringFunc(h, func(text string) string { return objectPattern().ReplaceAllString(text, `$1"$2": `) })
	h = strings.ReplaceAll(h, ", references without quotes", ", the values themselves")
	h = strings.ReplaceAll(h, "[TYPE.LABEL]", "[x], where x = TYPE(…)")
	for _, w := range [][2]string{{"true", "True"}, {"false", "False"}, {"null", "None"}} {
		h = regexp.MustCompile(`\b`+w[0]+`\b`).ReplaceAllString(h, w[1])
	}
	a.Hint = h
	return a
}
