package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type roleCmd struct {
	List   roleListCmd   `cmd:"" help:"List roles with their grants."`
	Put    rolePutCmd    `cmd:"" help:"Make a role, or replace all that it has."`
	Remove roleRemoveCmd `cmd:"" help:"Remove a role from everybody."`
}

type roleListCmd struct{}

// Run lists roles.
func (cmd *roleListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	roles := []api.Role{}
	for r, err := range server.Roles(ctx) {
		if err != nil {
			return failure(err)
		}
		roles = append(roles, r)
	}
	if s.globals.JSON {
		return s.printJSON(roles)
	}
	if len(roles) == 0 {
		return s.say("there are no roles")
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, r := range roles {
		fmt.Fprintf(out, "%s\t%s\t%s\n", ui.Line(r.Name), orDash(ui.Line(strings.Join(r.Groups, ","))), grantText(r.Grants))
	}
	return unread(failure(out.Flush()))
}

type rolePutCmd struct {
	Name   string   `arg:"" help:"Letters, digits, and - _ . @ between them."`
	Grant  []string `help:"What it lets one do: \"VERBS HOSTS SITE\", such as \"read,plan web* shop\"." placeholder:"GRANT" sep:"none"`
	Group  []string `help:"Who is in this group of the provider of identity has it." placeholder:"GROUP" sep:"none"`
	None   bool     `help:"It lets one do nothing."`
	Reason string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run makes or replaces a role.
func (cmd *rolePutCmd) Run(ctx runContext, s *client) error {
	if cmd.None == (len(cmd.Grant) > 0) {
		return usage(`--grant "VERBS HOSTS SITE", or --none`, "it takes either grants or --none")
	}
	grants, err := readGrants(cmd.Grant)
	if err != nil {
		return err
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	if err := server.PutRole(ctx, api.Role{Name: cmd.Name, Groups: cmd.Group, Grants: grants}, cmd.Reason); err != nil {
		return failure(err)
	}
	return s.say("the role " + ui.Line(cmd.Name) + " has " + grantText(grants))
}

type roleRemoveCmd struct {
	Name   string `arg:"" help:"Its name."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run removes a role.
func (cmd *roleRemoveCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	if err := server.RemoveRole(ctx, cmd.Name, cmd.Reason); err != nil {
		return failure(err)
	}
	return s.say("the role " + ui.Line(cmd.Name) + " is removed")
}
