package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/lang"
)

type inspectCmd struct {
	What  string `arg:"" optional:"" default:"all" help:"What to show: vars, states, hosts, roles or all."`
	First string `arg:"" optional:"" name:"host" help:"Of which host, where the site declares several: before the site."`
	Last  string `arg:"" optional:"" name:"site" help:"Directory with state files, or one such file."`

	site string
}

// inspection is what inspect shows, as JSON.
type inspection struct {
	Variables []lang.VariableValue `json:"variables,omitempty"`
	States    []inspectedState     `json:"states,omitempty"`
	Hosts     []lang.Host          `json:"hosts,omitempty"`
	Roles     []lang.Role          `json:"roles,omitempty"`
	// Recorded is what was recorded of hosts for others, by their names.
	Recorded map[string]*recordedHost `json:"recorded,omitempty"`
}

type inspectedState struct {
	Address  string `json:"address"`
	Declared string `json:"declared"`
	Parts    int    `json:"parts"`
	Handler  bool   `json:"handler,omitempty"`
}

// settle finds out what the arguments are: what to show, a host, the site. A
// site that stands where the subject would is shown whole.
func (cmd *inspectCmd) settle(s *client) error {
	var args []string
	for _, arg := range []string{cmd.First, cmd.Last} {
		if arg != "" {
			args = append(args, arg)
		}
	}
	switch cmd.What {
	case "vars", "states", "hosts", "roles", "all":
	default:
		if _, err := os.Stat(cmd.What); err != nil || len(args) > 0 {
			return usage("write tenet inspect vars, states, hosts, roles or all, and the site", "there is no %q to inspect", cmd.What)
		}
		cmd.What, args = "all", []string{cmd.What}
	}
	perHost := cmd.What == "vars" || cmd.What == "states" || cmd.What == "all"
	if perHost && len(args) > 0 {
		if _, err := os.Stat(args[0]); err != nil || len(args) > 1 {
			s.globals.Limit, args = args[0], args[1:]
		}
	}
	switch len(args) {
	case 0:
		cmd.site = "."
	case 1:
		cmd.site = args[0]
	default:
		return usage("write tenet inspect vars, states, hosts, roles or all, and the site", "there are too many arguments")
	}
	return nil
}

// Run shows a site's variables, states, hosts and roles.
func (cmd *inspectCmd) Run(ctx runContext, s *client) error {
	if err := cmd.settle(s); err != nil {
		return err
	}
	var found inspection
	var err error
	switch cmd.What {
	case "hosts", "roles":
		err = s.inspectInventory(ctx, cmd, &found)
	default:
		// Secrets stay hidden among variables anyway, so that no key is needed.
		s.secretsHidden = cmd.What == "vars"
		return s.inspectHosts(ctx, cmd)
	}
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printJSON(found)
	}
	return s.printInspection(found)
}

// inspectInventory looks at the hosts or the roles.
func (s *client) inspectInventory(ctx context.Context, cmd *inspectCmd, found *inspection) error {
	c, err := s.loadBy(ctx, cmd.site, s.openInventory)
	if err != nil {
		return err
	}
	if cmd.What == "hosts" {
		if found.Hosts, err = s.selectHosts(ctx, c); err == nil {
			found.Recorded, err = s.recordedHosts(c.Name(), found.Hosts)
		}
		return err
	}
	roles, diags := c.Roles(ctx, c.Target)
	found.Roles = roles
	return s.diagnose(c, diags)
}

// inspectHosts looks at what the site is for one host, or for several that --limit
// names.
func (s *client) inspectHosts(ctx context.Context, cmd *inspectCmd) error {
	c, err := s.load(ctx, cmd.site)
	if err != nil {
		return err
	}
	if s.globals.Limit != "" {
		if hosts, err := s.selectHosts(ctx, c); err != nil {
			return err
		} else if len(hosts) > 1 {
			return s.inspectEach(ctx, cmd, c, hosts)
		}
	}
	if err := s.choose(ctx, c); err != nil {
		return err
	}
	found, err := s.inspectHost(ctx, cmd, c)
	switch {
	case err != nil:
		return err
	case s.globals.JSON:
		return s.printJSON(found)
	}
	return s.printInspection(*found)
}

// inspectHost looks at what the site is for the host that was chosen.
func (s *client) inspectHost(ctx context.Context, cmd *inspectCmd, c *site) (*inspection, error) {
	compiled, err := s.compileFor(ctx, c)
	if err != nil {
		return nil, c.silence(err)
	}
	found := &inspection{}
	if cmd.What != "states" {
		stop := s.limitEvaluation()
		values, diags := c.Variables(ctx, c.Target)
		stop()
		if err := s.diagnose(c, diags); err != nil {
			return nil, err
		}
		found.Variables = values
	}
	if cmd.What == "vars" {
		return found, nil
	}
	for _, inv := range append(compiled.Run.Invocations, compiled.Run.Handlers...) {
		found.States = append(found.States, inspectedState{
			Address: inv.Address, Declared: compiled.Result.Sources[inv.Address].String(),
			Parts: len(inv.Parts), Handler: inv.Handler,
		})
	}
	return found, nil
}

func (s *client) printInspection(found inspection) error {
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, v := range found.Variables {
		fmt.Fprintf(out, "var.%s\t= %s\t%s\n", v.Name, printable(v.Sensitive, v.Value), sourceName(v.From))
		for _, o := range v.Overridden {
			fmt.Fprintf(out, "\t  %s\t%s\n", printable(v.Sensitive || o.Sensitive, o.Value), sourceName(o))
		}
	}
	for _, st := range found.States {
		word := people(st.Parts, "part", "parts")
		if st.Handler {
			word += ", a handler"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", st.Address, word, st.Declared)
	}
	if len(found.Hosts) > 0 {
		for _, row := range hostTable(found.Hosts) {
			fmt.Fprintln(out, strings.Join(row, "\t"))
		}
	}
	for _, r := range found.Roles {
		taken := ""
		if len(r.Roles) > 0 {
			taken = "\ttakes in " + strings.Join(r.Roles, ", ")
		}
		fmt.Fprintf(out, "%s\t%s\t%s%s\n", r.Name, strings.Join(r.Hosts, ", "), strings.Join(r.Declares, ", "), taken)
	}
	if err := out.Flush(); err != nil {
		return failure(err)
	}
	return s.printRecorded(found.Hosts, found.Recorded)
}

func printable(sensitive bool, v any) string {
	if sensitive {
		return "(sensitive)"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func sourceName(source lang.VariableSource) string {
	return strings.TrimSpace(source.Level + " " + source.Range.String())
}
