package inventory

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// problems collects what is wrong.
type problems struct {
	list      diag.List
	omissions map[unusable]*omission
}

// omission are the values that cannot be used for one reason.
type omission struct {
	names []string
	first diag.Range
}

func (p *problems) errorAt(at diag.Range, hint, format string, args ...any) {
	p.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(format, args...), Hint: hint, Range: at})
}

func (p *problems) warn(at diag.Range, hint, format string, args ...any) {
	p.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf(format, args...), Hint: hint, Range: at})
}

// omit notes a value that is left out.
func (p *problems) omit(name string, at diag.Range, why unusable) {
	if p.omissions == nil {
		p.omissions = map[unusable]*omission{}
	}
	l := p.omissions[why]
	if l == nil {
		l = &omission{first: at}
		p.omissions[why] = l
	}
	l.names = append(l.names, name)
}

// omissionDetail is how many names a warning lists.
const omissionDetail = 8

// finish reports what was left out.
func (p *problems) finish() {
	hints := map[unusable]string{
		isVault:    "move it to the site's own secrets: tenet secret set",
		isTemplate: "write the value itself, or compute it in the site: locals { … }",
	}
	for _, why := range []unusable{isVault, isTemplate} {
		l := p.omissions[why]
		if l == nil {
			continue
		}
		names := l.names
		more := ""
		if n := len(names) - omissionDetail; n > 0 {
			names, more = names[:omissionDetail], fmt.Sprintf(" and %d more", n)
		}
		p.list.Add(diag.Diagnostic{Severity: diag.Warning, Range: l.first, Hint: hints[why],
			Summary: fmt.Sprintf("%s %s, and is left out", names[0], why),
			Detail:  cmp.Or(otherNames(names[1:], more), "")})
	}
}

func otherNames(names []string, more string) string {
	if len(names) == 0 {
		return ""
	}
	return "So are " + strings.Join(names, ", ") + more + "."
}

func isJinja(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}
