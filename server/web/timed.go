package web

import (
	"html/template"
	"regexp"
	"strings"
	"time"
)

// timesWithin gives a function that shows a text with the times in it, which programs write as RFC 3339 has them, as people say
// them: exact beside them.
func timesWithin(clock func() time.Time) func(text string) template.HTML {
	instant := regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)`)
	return func(text string) template.HTML {
		var out strings.Builder
		end := 0
		for _, found := range instant.FindAllStringIndex(text, -1) {
			when, err := time.Parse(time.RFC3339, text[found[0]:found[1]])
			if err != nil || when.IsZero() {
				continue // it only looks like one
			}
			out.WriteString(template.HTMLEscapeString(text[end:found[0]]) + string(ago(when, clock())))
			end = found[1]
		}
		return template.HTML(out.String() + template.HTMLEscapeString(text[end:]))
	}
}
