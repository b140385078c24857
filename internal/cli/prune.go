package cli

import (
	"errors"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
)

// pruning removes what a site has created and declares no longer.
type pruning struct {
	Prune bool `help:"Remove what the site has created and declares no longer."`
}

// usePrune makes the run one that removes what is no longer declared, if that is
// asked for.
func (s *client) usePrune(c *site) error {
	if !s.prune || c.run.Prune {
		return nil
	}
	if c.run.Site == "" {
		return s.diagnose(c, diag.List{{Severity: diag.Warning, Summary: "--prune has no effect on a site without a name",
			Detail: "What a site has created is known by its name.", Hint: `add site { name = "…" }`}})
	}
	run := *c.run
	run.Prune = true
	run.Revision = graph.Revision(&run)
	c.run = &run
	return nil
}

// holds looks up what sites have created here.
func (s *client) holds(c *site, managed func() (*journal.Managed, error)) (err error) {
	c.managed, err = managed()
	if errors.Is(err, journal.ErrNewer) {
		return failed(err)
	}
	if err != nil {
		return &status{code: exitFailed, err: err, hint: "without that file nothing is known to have been created by the site, and nothing of it is removed"}
	}
	return nil
}
