package program

import (
	"fmt"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

const patternHint = `write hosts = "db*" or hosts = ["@db", "!db3"]`

// pattern evaluates an attribute that names hosts: a pattern, or a list of them. Terms
// that name no host and no group are reported, each at its place, unless there may be hosts
// that are not known; then the pattern is not right. given says that the attribute has a value,
// known or not.
func (e hostReader) pattern(a *syntax.Attribute, hosts []site.Host) (p site.Pattern, given, right bool) {
	v, ok := e.attribute(a, e.root)
	if !ok {
		return p, a != nil && !v.IsKnown(), false
	}
	terms, single := []string{}, false
	plain, _ := expr.Split(v)
	if text, err := expr.Text(plain); err == nil {
		terms, single = append(terms, text), true
	} else if terms, err = expr.Texts(v); err != nil {
		e.wrongValue(a, fmt.Errorf("a pattern of hosts is required, or a list of them: %w", err), patternHint)
		return p, true, false
	}
	right = true
	for i, term := range terms {
		one := site.ParsePattern(term)
		p = p.Join(one)
		if e.hosts.incomplete {
			continue
		}
		switch err := one.Check(hosts, e.hosts.groupNames); {
		case err == nil:
		case single:
			e.wrongValue(a, err, patternHint)
			right = false
		default:
			e.wrongElement(a, i, err)
			right = false
		}
	}
	return p, true, right
}
