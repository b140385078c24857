package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type deploymentsCmd struct {
	List     deploymentsListCmd    `cmd:"" default:"withargs" help:"List deployments, the newest first."`
	Show     deploymentsShowCmd    `cmd:"" help:"Show a deployment, its hosts, and what they wait for."`
	Start    deploymentsConsentCmd `cmd:"" help:"Start a deployment that waits for it, by the plan that was shown."`
	Approve  deploymentsConsentCmd `cmd:"" help:"Approve the plan of a deployment that somebody else has asked for."`
	Pause    deploymentsSteerCmd   `cmd:"" help:"Have nothing begin until it is continued."`
	Continue deploymentsSteerCmd   `cmd:"" help:"Continue a deployment that is paused."`
	Abort    deploymentsSteerCmd   `cmd:"" help:"End a deployment; hosts that have not begun keep what they have."`
}

type deploymentsListCmd struct {
	Site string `help:"Only those of this site." placeholder:"SITE"`
	Last int    `short:"n" help:"How many at most; 0: all." default:"20" placeholder:"N"`
}

// Run lists deployments.
func (cmd *deploymentsListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	list := []api.Deployment{}
	for d, err := range server.Deployments(ctx, cmd.Site) {
		if err != nil {
			return failure(err)
		}
		if list = append(list, d); len(list) == cmd.Last {
			break
		}
	}
	if s.globals.JSON {
		return s.printJSON(list)
	}
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tSITE\tREVISION\tBEGUN\tBY\tPHASE")
	for _, d := range list {
		fmt.Fprintf(out, "%d\t%s\t%d\t%s\t%s\t%s%s\n", d.ID, ui.Clean(d.Site), d.Revision, when(d.At), ui.Clean(d.By), ui.Clean(d.Phase), reasonText(d.Why))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(list) == 0 {
		return s.say("there are no deployments")
	}
	return s.print(strings.TrimSuffix(text.String(), "\n"))
}

type deploymentsShowCmd struct {
	ID int64 `arg:"" name:"id" help:"Its number."`
}

// Run shows a deployment.
func (cmd *deploymentsShowCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	d, err := server.Deployment(ctx, cmd.ID)
	if err != nil {
		return failure(err)
	}
	return s.tellDeployment(&d)
}

type deploymentsConsentCmd struct {
	ID     int64  `arg:"" name:"id" help:"Its number."`
	Plan   string `help:"The digest of the plan, as it was shown." required:"" placeholder:"DIGEST"`
	Reason string `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run starts or approves a deployment.
func (cmd *deploymentsConsentCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	d, err := server.Consent(ctx, cmd.ID, s.act(), cmd.Plan, cmd.Reason)
	if err != nil {
		return failure(err)
	}
	return s.tellDeployment(&d)
}

type deploymentsSteerCmd struct {
	ID     int64  `arg:"" name:"id" help:"Its number."`
	Reason string `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run pauses, continues or aborts a deployment.
func (cmd *deploymentsSteerCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	d, err := server.Steer(ctx, cmd.ID, s.act(), cmd.Reason)
	if err != nil {
		return failure(err)
	}
	return s.tellDeployment(&d)
}

// act is the last word of the command that was given, but for its arguments.
func (s *client) act() string {
	words := strings.Fields(s.command)
	for len(words) > 0 && strings.HasPrefix(words[len(words)-1], "<") {
		words = words[:len(words)-1]
	}
	return words[len(words)-1]
}

// tellDeployment prints one, as JSON if that is wanted.
func (s *client) tellDeployment(d *api.Deployment) error {
	if s.globals.JSON {
		return s.printJSON(d)
	}
	return s.showDeployment(d)
}

// showDeployment prints one, with its plan and hosts.
func (s *client) showDeployment(d *api.Deployment) error {
	var text strings.Builder
	fmt.Fprintf(&text, "deployment %d of %s, revision %d: %s%s\n", d.ID, ui.Clean(d.Site), d.Revision, ui.Clean(d.Phase), reasonText(d.Why))
	if d.Why != nil && d.Why.Ask != "" {
		fmt.Fprintf(&text, "hint: %s\n", ui.Clean(d.Why.Ask))
	}
	if p := d.Plan; p != nil && d.Phase == "planned" {
		fmt.Fprintf(&text, "\nplan %s of %s:\n", ui.Clean(p.Digest), plural(len(p.Hosts), "host"))
		if err := s.print(text.String()); err != nil {
			return err
		}
		if err := s.showDeployPlan(p); err != nil {
			return err
		}
		text.Reset()
	}
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	if len(d.Members) > 0 {
		fmt.Fprintln(out)
	}
	for _, h := range d.Members {
		turn := "–"
		if h.Turn > 0 {
			turn = fmt.Sprint("turn ", h.Turn)
		}
		reason := ""
		if h.Why != nil {
			reason = ui.Clean(h.Why.Text)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", ui.Clean(h.Name), turn, ui.Clean(h.State), reason)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return s.print(strings.TrimSuffix(text.String(), "\n"))
}

type rollbackCmd struct {
	Site   string `arg:"" help:"Name of the site."`
	Hosts  string `arg:"" help:"Names, globs, LABEL=VALUE, !NOT, with commas."`
	To     int64  `help:"The number of the revision (default: the one before that which each has)." placeholder:"N"`
	Empty  bool   `help:"That nothing is wanted any more of a host, or that rules delete all that they have made, is meant."`
	Reason string `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run brings hosts back to a former revision, and pins them.
func (cmd *rollbackCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	pins, err := server.Rollback(ctx, cmd.Site, api.RollbackRequest{Hosts: cmd.Hosts, To: cmd.To, Empty: cmd.Empty, Reason: cmd.Reason})
	return s.tellPins(pins, err, "pinned to revision %s")
}

type unpinCmd struct {
	Site   string `arg:"" help:"Name of the site."`
	Hosts  string `arg:"" help:"Names, globs, LABEL=VALUE, !NOT, with commas."`
	Reason string `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run lets hosts follow what is deployed.
func (cmd *unpinCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	pins, err := server.Unpin(ctx, cmd.Site, cmd.Hosts, cmd.Reason)
	return s.tellPins(pins, err, "no longer pinned to revision %s")
}

// tellPins prints what has become of hosts.
func (s *client) tellPins(pins []api.Pin, err error, form string) error {
	switch {
	case err != nil:
		return failure(err)
	case s.globals.JSON:
		return s.printJSON(append([]api.Pin{}, pins...))
	}
	for _, p := range pins {
		if err := s.say(ui.Clean(p.Name) + ": " + fmt.Sprintf(form, ui.Clean(p.Revision))); err != nil {
			return err
		}
	}
	return nil
}
