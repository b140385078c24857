package web

import (
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/server/access"
)

// grantLines says what grants allow: verbs that hold for the same hosts and site are in one line.
func grantLines(grants []access.Grant) []string {
	verbs, order := map[string][]string{}, []string{}
	for _, g := range grants {
		where := " on " + g.Hosts.String() + " of site " + g.Site
		if g.Site == access.All {
			where = " on " + g.Hosts.String() + " of all sites"
		}
		if verbs[where] == nil {
			order = append(order, where)
		}
		verbs[where] = append(verbs[where], string(g.Verb))
	}
	for i, where := range order {
		order[i] = strings.Join(verbs[where], ", ") + where
	}
	return order
}

// accessFields are the fields of what one may do.
func accessFields(roles []string, grants []access.Grant) []field {
	lines := make([]string, len(grants))
	for i, g := range grants {
		lines[i] = string(g.Verb) + " " + g.Hosts.String() + " " + g.Site
	}
	return []field{
		{Name: "roles", Label: "Roles", Kind: "text", Value: strings.Join(roles, " "), Hint: "Their names, with spaces between them."},
		{Name: "grants", Label: "Grants of their own", Kind: "area", Value: strings.Join(lines, "\n"), Hint: `One "VERBS HOSTS SITE" a line, such as "read,plan web* shop"; without a site, and without hosts, all are meant.`},
		reason(),
	}
}

// readAccess reads what accessFields asks for.
func readAccess(form url.Values) (map[string]any, error) {
	grants := []access.Grant{}
	for line := range strings.Lines(form.Get("grants")) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) > 3 {
			return nil, invalid("grants", `"VERBS HOSTS SITE" in each line, such as "read,plan web* shop"`)
		}
		words = append(words, "*", "*")
		hosts, err := access.ParseSelector(words[1])
		if err != nil {
			return nil, invalid("grants", err.Error())
		}
		for verb := range strings.SplitSeq(words[0], ",") {
			grants = append(grants, access.Grant{Verb: access.Verb(verb), Hosts: hosts, Site: words[2]})
		}
	}
	roles := strings.Fields(form.Get("roles"))
	if roles == nil {
		roles = []string{}
	}
	return map[string]any{"roles": roles, "grants": grants, "reason": form.Get("reason")}, nil
}
