package cli

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/graph"
)

type compileCmd struct{ siteArg }

// Run prints a StateRun: the addresses in order, or all of it as JSON.
func (cmd *compileCmd) Run(ctx runContext, s *client) error {
	_, c, err := s.compile(ctx, cmd.Site)
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return failure(graph.JSON(s.Out, c.Run))
	}
	var out strings.Builder
	for _, inv := range c.Run.Invocations {
		fmt.Fprintln(&out, inv.Address)
		if s.globals.Verbose {
			for _, p := range inv.Parts {
				fmt.Fprintln(&out, "    "+p.Address)
			}
		}
	}
	_, err = s.Out.Write([]byte(out.String()))
	return failure(err)
}
