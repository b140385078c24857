package cli

import (
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

// readGrants reads grants as they are written on a command line: verbs with commas between them, hosts, and a site, of which the last two may be
// left out.
func readGrants(texts []string) ([]api.Grant, error) {
	grants := []api.Grant{}
	for _, text := range texts {
		words := strings.Fields(text)
		if len(words) < 1 || len(words) > 3 {
			return nil, usage(`write "VERBS HOSTS SITE", such as "read,deploy web*,env=prod shop"; without a site, and without hosts, all are meant`, "--grant: %q is no grant", text)
		}
		words = append(words, "*", "*")
		for verb := range strings.SplitSeq(words[0], ",") {
			grants = append(grants, api.Grant{Verb: verb, Hosts: words[1], Site: words[2]})
		}
	}
	return grants, nil
}

// grantText is grants in one line.
func grantText(grants []api.Grant) string {
	var texts []string
	for _, g := range grants {
		texts = append(texts, ui.Line(g.Verb+" "+g.Hosts+" "+g.Site))
	}
	return strings.Join(texts, "; ")
}
