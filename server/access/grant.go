package access

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// Grant lets one do something to some hosts, as far as a site is concerned.
type Grant struct {
	Verb  Verb     `json:"verb"`
	Hosts Selector `json:"hosts"`
	Site  string   `json:"site"` // All: all sites
}

// AllGrants lets one do everything.
func AllGrants() []Grant {
	var all []Grant
	for _, verb := range Verbs() {
		all = append(all, Grant{verb, Selector{with: []term{{"", All}}}, All})
	}
	return all
}

// Check says why a grant can be none.
func (g Grant) Check() error {
	if err := g.Verb.Check(); err != nil {
		return err
	}
	if len(g.Hosts.with)+len(g.Hosts.without) == 0 {
		return &diag.HintError{Code: CodeInvalid, Message: "a grant names no hosts", Hint: "write * for all hosts"}
	}
	if g.Site != All && !isName(g.Site) {
		return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("a grant is for the site %.60q, which is no name", g.Site), Hint: "write the name of a site, or * for all"}
	}
	return nil
}

// String gives the grant for people.
func (g Grant) String() string {
	site := "of site " + g.Site
	if g.Site == All {
		site = "of all sites"
	}
	return fmt.Sprintf("%s on %s %s", g.Verb, g.Hosts, site)
}

func (g Grant) holdsFor(site string) bool {
	return g.Site == All || g.Site == site || site == "" && g.Verb == Read
}

// covers tells whether a grant allows all that another one does.
func (g Grant) covers(other Grant) bool {
	return g.Verb == other.Verb && (g.Site == All || g.Site == other.Site) && g.Hosts.covers(other.Hosts)
}

// Covers tells whether each of some grants is within one of those held. Where that is hard to
// tell from the selectors the answer is no.
func Covers(held, wanted []Grant) bool {
	return len(beyond(held, wanted)) == 0
}

// beyond gives the grants that are within none of those held.
func beyond(held, wanted []Grant) (out []Grant) {
	for _, w := range wanted {
		if !slices.ContainsFunc(held, func(h Grant) bool { return h.covers(w) }) {
			out = append(out, w)
		}
	}
	return out
}
