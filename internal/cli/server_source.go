package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/packages/signature"
	api "github.com/tenetcm/tenet/server/api/client"
)

type serverSourceCmd struct {
	Add    sourceAddCmd    `cmd:"" help:"Have the server follow a source: what is new and right is deployed."`
	List   sourceListCmd   `cmd:"" default:"1" help:"List the sources that the server follows, and how each stands."`
	Show   sourceShowCmd   `cmd:"" help:"Show how a source stands, component by component."`
	Look   sourceLookCmd   `cmd:"" help:"Have the server look at a source now."`
	Remove sourceRemoveCmd `cmd:"" help:"Have the server follow a source no more. What was deployed stays."`
}

type sourceAddCmd struct {
	Name       string   `arg:"" help:"Name of the source."`
	Address    string   `arg:"" help:"git::URL//DIR?ref=BRANCH, or the absolute path of a folder of the server's machine."`
	Site       string   `help:"Name of the site that it is." required:"" placeholder:"NAME"`
	Signers    string   `help:"File of allowed signers. Only what one of them has signed is taken, and only what comes after what counts." placeholder:"FILE"`
	Hosts      string   `help:"Deploy to these hosts (default: to all of the site)." placeholder:"SELECTOR"`
	Plan       bool     `help:"Let each deployment wait until somebody has looked at its plan, and starts it."`
	Approve    bool     `help:"Let each deployment wait for an approval."`
	Poll       *span    `help:"Time between two looks (default: 5m)." placeholder:"DURATION"`
	PollWindow []hours  `help:"When it is looked at, such as \"22:00-04:00\" or \"sat,sun 00:00-24:00 Europe/Berlin\"; more than once for several (default: always)." placeholder:"HOURS" sep:"none"`
	Downtime   []string `sep:"none" help:"Time in which it is not looked at, and nothing counts as failed." placeholder:"FROM/TO[ REASON]"`
	Hints      bool     `help:"Show a secret by which a forge signs hints (a webhook) that there is something new."`
	Reason     string   `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run has the server follow a source.
func (cmd *sourceAddCmd) Run(ctx runContext, s *client) error {
	r := api.SourceRequest{Site: cmd.Site, Address: cmd.Address, Hosts: cmd.Hosts, Hints: cmd.Hints, Reason: cmd.Reason}
	switch {
	case cmd.Plan && cmd.Approve:
		return usage("leave one out", "--plan and --approve say both what a deployment waits for")
	case cmd.Poll != nil && time.Duration(*cmd.Poll) < 10*time.Second:
		return usage("", "--poll is 10s or more")
	case cmd.Plan:
		r.Consent = "start"
	case cmd.Approve:
		r.Consent = "approve"
	}
	if cmd.Poll != nil {
		r.Poll = int(time.Duration(*cmd.Poll).Seconds())
	}
	for _, w := range cmd.PollWindow {
		days, hours, zone := w.Texts()
		r.Windows = append(r.Windows, api.SourceWindow{Days: days, Hours: hours, Timezone: zone})
	}
	downtimes, err := parseDowntimes(cmd.Downtime)
	if err != nil {
		return err
	}
	for _, d := range downtimes {
		r.Downtimes = append(r.Downtimes, api.SourceDowntime(d))
	}
	if strings.HasPrefix(cmd.Address, git.Prefix) { // a mistake is told without asking
		if _, err := git.ParseReference(cmd.Address); err != nil {
			return usage("", "%w", err)
		}
	}
	if cmd.Signers != "" {
		data, err := os.ReadFile(cmd.Signers)
		if err == nil {
			_, err = signature.ParseSigners(cmd.Signers, data, nil)
		}
		if err != nil {
			return usage("a line of it: PRINCIPAL ssh-ed25519 AAAA…", "--signers: %w", err)
		}
		r.Signers = string(data)
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	secret, err := server.AddSource(ctx, cmd.Name, r)
	switch {
	case err != nil:
		return failure(err)
	case s.globals.JSON:
		return s.printJSON(map[string]string{"secret": secret})
	case secret != "":
		return s.print(fmt.Sprintf("Hints are taken at /v1/sources/%s/hint, signed by\n%s", cmd.Name, secret))
	}
	return s.say("tenet server source list tells how it stands")
}

type sourceListCmd struct{}

// Run lists the sources.
func (cmd *sourceListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	list, err := server.Sources(ctx)
	switch {
	case err != nil:
		return failure(err)
	case s.globals.JSON:
		return s.printJSON(list)
	case len(list) == 0:
		return s.say("The server follows no sources: tenet server source add NAME ADDRESS --site SITE")
	}
	for _, one := range list {
		if err := s.print(sourceText(one)); err != nil {
			return err
		}
	}
	return nil
}

type sourceLookCmd struct {
	Name string `arg:"" help:"Name of the source."`
}

// Run has the server look.
func (cmd *sourceLookCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	return failure(server.LookAtSource(ctx, cmd.Name))
}

type sourceRemoveCmd struct {
	Name   string `arg:"" help:"Name of the source."`
	Reason string `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run has the server follow a source no more.
func (cmd *sourceRemoveCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	return failure(server.RemoveSource(ctx, cmd.Name, cmd.Reason))
}
