package web

import (
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/server/access"
)

// grantRow is verbs that somebody has for the same hosts and site, by the same source.
type grantRow struct{ Verbs, Hosts, Site, Source string }

// grantRows puts grants together that differ by their verb alone.
func grantRows(grants []access.SourcedGrant) (rows []grantRow) {
	at := map[grantRow]int{}
	for _, g := range grants {
		row := grantRow{Hosts: g.Hosts.String(), Site: g.Site, Source: g.Source}
		i, known := at[row]
		if !known {
			i = len(rows)
			at[row], rows = i, append(rows, row)
			rows[i].Verbs = string(g.Verb)
			continue
		}
		rows[i].Verbs += ", " + string(g.Verb)
	}
	return rows
}

// grantLines says what grants allow, in a line for each choice of hosts and site.
func grantLines(grants []access.Grant) (lines []string) {
	sourced := make([]access.SourcedGrant, len(grants))
	for i, g := range grants {
		sourced[i].Grant = g
	}
	for _, row := range grantRows(sourced) {
		site := "of site " + row.Site
		if row.Site == access.All {
			site = "of all sites"
		}
		lines = append(lines, row.Verbs+" on "+row.Hosts+" "+site)
	}
	return lines
}

// shortGrants are grants as a page lists them.
func (v *view) shortGrants(grants []access.SourcedGrant) shortList[grantRow] {
	return shorten(v, "grants", grantRows(grants), func(g grantRow) string { return g.Verbs + " " + g.Hosts + " " + g.Site + " " + g.Source })
}

// programText is by what a program is found.
func programText(p access.ProgramRecord) string {
	return p.Name + " " + strings.Join(grantLines(p.Grants), " ")
}

// accessFields are the fields of what one may do.
func accessFields(roles []string, grants []access.Grant) []field {
	return []field{
		{Name: "roles", Label: "Roles", Kind: "text", Value: strings.Join(roles, " "), Hint: "Their names, with spaces between them."},
		grantsField("Grants of their own", grants),
		reason(),
	}
}

// readAccess reads what accessFields asks for.
func readAccess(form url.Values) (map[string]any, error) {
	grants, err := readGrants(form.Get("grants"))
	if err != nil {
		return nil, err
	}
	roles := strings.Fields(form.Get("roles"))
	if roles == nil {
		roles = []string{}
	}
	return map[string]any{"roles": roles, "grants": grants, "reason": form.Get("reason")}, nil
}

// readGrants reads "VERBS HOSTS SITE" from each line.
func readGrants(text string) ([]access.Grant, error) {
	grants := []access.Grant{}
	for line := range strings.Lines(text) {
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
	return grants, nil
}

// grantText is grants as readGrants reads them.
func grantText(grants []access.Grant) string {
	lines := make([]string, len(grants))
	for i, g := range grants {
		lines[i] = string(g.Verb) + " " + g.Hosts.String() + " " + g.Site
	}
	return strings.Join(lines, "\n")
}

// grantsField is the field of grants.
func grantsField(label string, grants []access.Grant) field {
	return field{Name: "grants", Label: label, Kind: "area", Value: grantText(grants), Hint: `One "VERBS HOSTS SITE" a line, such as "read,plan web* shop"; without a site, and without hosts, all are meant.`}
}
