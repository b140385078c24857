package cli

import (
	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang/diag"
)

// pruning removes what a site has created and declares no longer.
type pruning struct {
	Prune bool `help:"Remove what the site has created and declares no longer."`
}

// usePrune makes the run one that removes what is no longer declared, if that is
// asked for.
func (s *client) usePrune(c *site) diag.List {
	if !s.prune || c.run.Prune {
		return nil
	}
	if c.run.Site == "" {
		return diag.List{{Severity: diag.Warning, Summary: "--prune has no effect on a site without a name",
			Detail: "What a site has created is known by its name.", Hint: `add site { name = "…" }`}}
	}
	run := *c.run
	run.Prune = true
	run.Revision = graph.Revision(&run)
	c.run = &run
	return nil
}
