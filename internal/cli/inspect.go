package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/lang"
)

type inspectCmd struct {
	What string `arg:"" optional:"" default:"all" help:"What to show: vars, states or all."`
	siteArg
}

// inspected is what inspect shows, as JSON.
type inspected struct {
	Variables []lang.VariableValue `json:"variables,omitempty"`
	States    []inspectedState     `json:"states,omitempty"`
}

type inspectedState struct {
	Address  string `json:"address"`
	Declared string `json:"declared"`
	Parts    int    `json:"parts"`
	Handler  bool   `json:"handler,omitempty"`
}

// settle takes a site that stands where the subject would for the site, of
// which all is shown.
func (cmd *inspectCmd) settle() error {
	switch cmd.What {
	case "vars", "states", "all":
		return nil
	case "roles", "hosts":
		return usage("inspect shows vars, states or all", "inspect %s is not supported yet", cmd.What)
	}
	if _, err := os.Stat(cmd.What); err != nil || cmd.Site != "." {
		return usage("write tenet inspect vars, states or all, and the site", "there is no %q to inspect", cmd.What)
	}
	cmd.What, cmd.Site = "all", cmd.What
	return nil
}

// Run shows a site's variables and states.
func (cmd *inspectCmd) Run(ctx runContext, s *client) error {
	if err := cmd.settle(); err != nil {
		return err
	}
	c, declarations, err := s.evaluate(ctx, cmd.Site)
	if err != nil {
		return err
	}
	if err := s.plan(c, declarations); err != nil {
		return err
	}
	var found inspected
	if cmd.What != "states" {
		values, diags := c.lang.Variables(ctx, c.target)
		if err := s.diagnose(c, diags); err != nil {
			return err
		}
		found.Variables = values
	}
	if cmd.What != "vars" {
		for _, inv := range append(c.run.Invocations, c.run.Handlers...) {
			found.States = append(found.States, inspectedState{
				Address: inv.Address, Declared: c.result.Sources[inv.Address].String(),
				Parts: len(inv.Parts), Handler: inv.Handler,
			})
		}
	}
	if s.globals.JSON {
		return s.printJSON(found)
	}
	return s.printInspected(found)
}

func (s *client) printInspected(found inspected) error {
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, v := range found.Variables {
		fmt.Fprintf(out, "var.%s\t= %s\t%s\n", v.Name, shown(v.Sensitive, v.Value), from(v.From))
		for _, o := range v.Overrode {
			fmt.Fprintf(out, "\t  %s\t%s\n", shown(v.Sensitive, o.Value), from(o))
		}
	}
	for _, st := range found.States {
		word := fmt.Sprintf("%d parts", st.Parts)
		if st.Parts == 1 {
			word = "1 part"
		}
		if st.Handler {
			word += ", a handler"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", st.Address, word, st.Declared)
	}
	return failed(out.Flush())
}

func shown(sensitive bool, v any) string {
	if sensitive {
		return "(sensitive)"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func from(source lang.VariableSource) string {
	return strings.TrimSpace(source.Level + " " + source.Range.String())
}
