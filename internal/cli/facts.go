package cli

import (
	"fmt"
	"slices"
	"text/tabwriter"
)

type factsCmd struct {
	Names []string `arg:"" optional:"" help:"Facts to show (default: all)."`
}

// Run shows facts.
func (cmd *factsCmd) Run(_ runContext, s *session) error {
	h, err := s.newHost()
	if err != nil {
		return err
	}
	facts, err := s.facts(h)
	if err != nil {
		return err
	}
	names := cmd.Names
	if len(names) == 0 {
		names = facts.Names()
	}
	values := map[string]any{}
	for _, name := range names {
		if !slices.Contains(facts.Names(), name) {
			return usage("tenet facts lists them", "there is no fact %q", name)
		}
		if values[name], err = facts.Fact(name); err != nil {
			return failed(err)
		}
	}
	if s.globals.JSON {
		return s.printJSON(values)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, name := range names {
		fmt.Fprintf(out, "%s\t%s\n", name, shown(false, values[name]))
	}
	return failed(out.Flush())
}
