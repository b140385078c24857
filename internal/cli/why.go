package cli

import "github.com/tenetcm/tenet/graph"

type whyCmd struct {
	Address string `arg:"" help:"Address of a state, a run, a block or a part."`
	siteArg
}

// Run explains why something runs.
func (cmd *whyCmd) Run(ctx runContext, s *client) error {
	_, c, err := s.compile(ctx, cmd.Site)
	if err != nil {
		return err
	}
	explanation, err := graph.Why(c.Result, cmd.Address)
	if err != nil {
		return usage("tenet compile lists the addresses", "%w", err)
	}
	if s.globals.JSON {
		return s.printJSON(explanation)
	}
	return failure(explanation.Text(s.Out))
}
