package cli

import (
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type serverPolicyCmd struct {
	Show policyShowCmd `cmd:"" default:"withargs" help:"Show what every deployment of a site has to have."`
	Set  policySetCmd  `cmd:"" help:"Demand of every deployment of a site what is named, and nothing else."`
}

type policyShowCmd struct {
	Site string `arg:"" help:"Name of the site; \"*\": what holds for all of them."`
}

// Run shows the policy of a site.
func (cmd *policyShowCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	p, err := server.Policy(ctx, cmd.Site)
	return s.tellPolicy(p, err)
}

type policySetCmd struct {
	Site    string `arg:"" help:"Name of the site; \"*\": all of them, and those that come later."`
	Approve bool   `help:"Another person has to approve the plan."`
	Sign    bool   `help:"An operator has to sign: tenet deploy --sign KEY."`
	Reason  string `help:"Why, for the audit." required:"" placeholder:"TEXT"`
}

// Run sets the policy of a site.
func (cmd *policySetCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	p, err := server.SetPolicy(ctx, cmd.Site, api.Demands{Approvals: cmd.Approve, Signed: cmd.Sign}, cmd.Reason)
	return s.tellPolicy(p, err)
}

// tellPolicy prints one.
func (s *client) tellPolicy(p api.SitePolicy, err error) error {
	switch {
	case err != nil:
		return failure(err)
	case s.globals.JSON:
		return s.printJSON(p)
	}
	text := ui.Clean(p.Site) + ": " + demandsText(p.Demanded)
	if p.Demanded != p.Demands {
		text += "\n  of its own policy: " + demandsText(p.Demands)
	}
	if p.At != nil {
		text += "\n  set by " + ui.Clean(p.By) + ", " + p.At.UTC().Format("2006-01-02 15:04:05") + " UTC: " + ui.Clean(p.Reason)
	}
	return s.print(text)
}

func demandsText(d api.Demands) string {
	var list []string
	if d.Approvals {
		list = append(list, "another person approves every deployment")
	}
	if d.Signed {
		list = append(list, "an operator signs every deployment")
	}
	if len(list) == 0 {
		return "nothing is demanded of deployments"
	}
	return strings.Join(list, "; ")
}
