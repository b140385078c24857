package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type hostTokenCmd struct {
	Make   hostTokenMakeCmd   `cmd:"" default:"withargs" help:"Make a token, and print how a host joins by it."`
	List   hostTokenListCmd   `cmd:"" help:"List tokens, the newest first, without their secrets."`
	Revoke hostTokenRevokeCmd `cmd:"" help:"Make a token useless; hosts that have come by it stay."`
}

type hostTokenMakeCmd struct {
	Valid  span     `help:"How long it is good, such as 2h or 7d." default:"1h" placeholder:"DURATION"`
	Uses   int64    `help:"For how many hosts; for several, --manual is needed." default:"1" placeholder:"N"`
	Manual bool     `help:"Hosts are pending until somebody approves them (default: the one host is approved at once)."`
	Names  string   `help:"The names for which hosts may ask: names, globs, !NOT, with commas (default: any)." placeholder:"SELECTOR"`
	Label  []string `help:"A label that hosts may claim, with a glob of its values." placeholder:"NAME=GLOB" sep:"none"`
	Note   string   `help:"What it is for, as the list shows it." placeholder:"TEXT"`
	Reason string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run makes a token.
func (cmd *hostTokenMakeCmd) Run(ctx runContext, s *client) error {
	switch {
	case cmd.Uses < 1:
		return usage("", "--uses is a number of hosts from 1, not %d", cmd.Uses)
	case time.Duration(cmd.Valid) < time.Second:
		return usage("write a time such as 1h or 7d", "--valid is a second at least, not %s", cmd.Valid)
	case cmd.Uses > 1 && !cmd.Manual:
		return usage("add --manual, and approve each: tenet host approve NAME", "a token for several hosts approves none of them by itself")
	}
	labels, err := readLabels(cmd.Label)
	if err != nil {
		return err
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	t, err := server.AddToken(ctx, api.TokenRequest{Note: cmd.Note, Seconds: int64(time.Duration(cmd.Valid).Seconds()), Uses: cmd.Uses, Auto: !cmd.Manual,
		Names: cmd.Names, Labels: labels, Reason: cmd.Reason})
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(t)
	}
	return s.print("echo " + ui.Clean(t.Secret) + " | tenet agent join")
}

type hostTokenListCmd struct{}

// Run lists tokens.
func (cmd *hostTokenListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	tokens := []api.Token{}
	for t, err := range server.Tokens(ctx) {
		if err != nil {
			return failure(err)
		}
		tokens = append(tokens, t)
	}
	if s.globals.JSON {
		return s.printJSON(tokens)
	}
	if len(tokens) == 0 {
		return s.say("there are no tokens")
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tMADE BY\tVALID\tUSED\tAPPROVAL\tNAMES\tLABELS\tNOTE")
	for _, t := range tokens {
		approval, end := "manual", "until "+when(t.ExpiresAt)
		if t.Auto {
			approval = "automatic"
		}
		if t.RevokedAt != nil {
			end = "revoked " + when(*t.RevokedAt)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%d of %d\t%s\t%s\t%s\t%s\n", ui.Line(t.ID), ui.Line(t.MadeBy), end, t.Used, t.Uses, approval,
			ui.Line(t.Names), orDash(ui.Line(labelText(t.Labels))), ui.Line(t.Note))
	}
	return unread(failure(out.Flush()))
}

type hostTokenRevokeCmd struct {
	ID     string `arg:"" name:"id" help:"Its id, as the list shows it."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run makes a token useless.
func (cmd *hostTokenRevokeCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	if err := server.RevokeToken(ctx, cmd.ID, cmd.Reason); err != nil {
		return failure(err)
	}
	return s.say("the token is useless now")
}
