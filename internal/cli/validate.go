package cli

import "fmt"

type validateCmd struct{ siteArg }

// Run checks a site.
func (cmd *validateCmd) Run(ctx runContext, s *client) error {
	c, err := s.compile(ctx, cmd.Site)
	if err != nil {
		return err
	}
	parts := 0
	for _, inv := range c.run.Invocations {
		parts += len(inv.Parts)
	}
	if s.globals.JSON {
		return s.printJSON(map[string]any{"valid": true, "invocations": len(c.run.Invocations), "parts": parts})
	}
	if s.globals.Quiet {
		return nil
	}
	return s.print(fmt.Sprintf("The site is right: %d parts in %d invocations.", parts, len(c.run.Invocations)))
}
