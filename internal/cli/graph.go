package cli

import (
	"io"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

type graphCmd struct {
	siteArg
	Format string `help:"Form of the output: ${enum}." enum:"text,dot,mermaid,json" default:"text"`
}

// Run draws the graph of a site.
func (cmd *graphCmd) Run(ctx runContext, s *client) error {
	_, c, err := s.compile(ctx, cmd.Site)
	if err != nil {
		return err
	}
	draw := map[string]func(io.Writer, *states.StateRun) error{
		"text": graph.Text, "dot": graph.DOT, "mermaid": graph.Mermaid, "json": graph.JSON,
	}[cmd.Format]
	if s.globals.JSON {
		draw = graph.JSON
	}
	return failure(draw(s.Out, c.Run))
}
