package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type programCmd struct {
	List   programListCmd   `cmd:"" help:"List the tokens of your programs, without their secrets."`
	Add    programAddCmd    `cmd:"" help:"Make a token for a program, and print it."`
	Remove programRemoveCmd `cmd:"" help:"End a token."`
}

type programListCmd struct {
	All bool `help:"Those of everybody."`
}

// Run lists tokens.
func (cmd *programListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	programs := []api.Program{}
	for p, err := range server.Programs(ctx, cmd.All) {
		if err != nil {
			return failure(err)
		}
		programs = append(programs, p)
	}
	if s.globals.JSON {
		return s.printJSON(programs)
	}
	if len(programs) == 0 {
		return s.say("there are no programs")
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, p := range programs {
		used := "never used"
		if p.Used != nil {
			used = "used " + when(*p.Used)
		}
		fmt.Fprintf(out, "%s\t%s\tuntil %s\t%s\t%s\n", ui.Line(p.ID), ui.Line(p.Name), when(p.Ends), used, grantText(p.Grants))
	}
	return unread(failure(out.Flush()))
}

type programAddCmd struct {
	Name   string   `arg:"" help:"Letters, digits, and - _ . @ between them."`
	Grant  []string `help:"What it may do, of what you may: \"VERBS HOSTS SITE\", such as \"read,plan web* shop\"." placeholder:"GRANT" sep:"none" required:""`
	Valid  span     `help:"How long it is good, up to 365d." default:"90d" placeholder:"DURATION"`
	Reason string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run makes a token.
func (cmd *programAddCmd) Run(ctx runContext, s *client) error {
	if time.Duration(cmd.Valid) < time.Second {
		return usage("write a time such as 30d", "--valid is a second at least, not %s", cmd.Valid)
	}
	grants, err := readGrants(cmd.Grant)
	if err != nil {
		return err
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	p, err := server.AddProgram(ctx, cmd.Name, grants, time.Now().Add(time.Duration(cmd.Valid)), cmd.Reason)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(p)
	}
	if err := s.say(ui.Line(p.Name) + " may " + grantText(p.Grants) + " until " + when(p.Ends)); err != nil {
		return err
	}
	return s.print(ui.Clean(p.Secret))
}

type programRemoveCmd struct {
	ID     string `arg:"" name:"id" help:"Its id, as the list shows it."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run ends a token.
func (cmd *programRemoveCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	if err := server.RemoveProgram(ctx, cmd.ID, cmd.Reason); err != nil {
		return failure(err)
	}
	return s.say("the token has ended")
}
