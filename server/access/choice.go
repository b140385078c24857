package access

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// Choice tells whether an act is about a host. It is an error where the caller sees that it is, and may not do this to the host.
type Choice func(host Target) (bool, error)

// Choose gives the choice of hosts for an act: those of a selector to which the caller may do it. A host that the caller may not see is as one that is not there, so that no answer tells that it is: of a
// single name, nothing is found, and a pattern is refused that could mean such hosts, whatever there are.
func (c *Caller) Choose(verb Verb, hosts Selector, site string) (Choice, error) {
	if !c.MaySite(verb, site) {
		return nil, c.Demand(verb, Target{}, site)
	}
	if t, hidden := c.hiddenTerm(verb, hosts, site); hidden {
		return nil, &diag.HintError{Code: CodeForbidden, Message: fmt.Sprintf("this takes the grant %q for all hosts that %.100q can mean", string(verb), t),
			Hint: "name single hosts, or write the hosts of one of your grants; somebody who administers the server can give you more"}
	}
	return func(host Target) (bool, error) {
		switch {
		case !hosts.Matches(host):
			return false, nil
		case c.May(verb, host, site):
			return true, nil
		case !c.May(Read, host, site):
			return false, nil
		}
		return false, c.Demand(verb, host, site)
	}, nil
}

// hiddenTerm gives the first pattern of a selector that could fit hosts which the caller can neither see nor act on.
func (c *Caller) hiddenTerm(verb Verb, hosts Selector, site string) (_ term, found bool) {
	terms := hosts.with
	if len(terms) == 0 {
		terms = []term{{"", All}}
	}
	for _, t := range terms {
		one := Selector{with: []term{t}, without: hosts.without}
		if !t.isLiteral() && !slices.ContainsFunc(c.Grants, func(g Grant) bool {
			return (g.Verb == verb || g.Verb == Read) && g.holdsFor(site) && g.Hosts.covers(one)
		}) {
			return t, true
		}
	}
	return term{}, false
}
