package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/trust"
	api "github.com/tenetcm/tenet/server/api/client"
)

type hostSettleCmd struct {
	Hosts  []string `arg:"" optional:"" help:"Their names or ids (default: list those about which there is a question)."`
	Accept bool     `help:"They are the right ones: what each says next counts." xor:"how"`
	Lock   bool     `help:"They are not: lock them." xor:"how"`
	All    bool     `help:"All about which there is a question."`
	Reason string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run decides on hosts, or lists those on which somebody has to decide.
func (cmd *hostSettleCmd) Run(ctx runContext, s *client) error {
	decides := cmd.Accept || cmd.Lock
	switch {
	case decides && cmd.All == (len(cmd.Hosts) > 0):
		return usage("name hosts, or write --all", "it takes either hosts or --all")
	case !decides && (cmd.All || len(cmd.Hosts) > 0):
		return usage("--accept if they are the right ones, --lock if not", "say what is to become of them")
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	var ids []trust.ID
	if len(cmd.Hosts) == 0 {
		hosts, err := questions(ctx, server)
		if err != nil || !decides {
			return s.tellQuestions(hosts, err)
		}
		for _, h := range hosts {
			ids = append(ids, h.ID)
		}
		if len(ids) == 0 {
			return s.say("there is no question about any host")
		}
	}
	for _, name := range cmd.Hosts {
		h, err := server.Host(ctx, name)
		if err != nil {
			return failure(err)
		}
		ids = append(ids, h.ID)
	}
	settled, err := server.SettleHosts(ctx, ids, cmd.Accept, cmd.Reason)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(settled)
	}
	what := "locked"
	if cmd.Accept {
		what = "the right one"
	}
	for _, h := range settled {
		if err := s.say(ui.Line(h.Name) + " is " + what); err != nil {
			return err
		}
	}
	if rest := len(ids) - len(settled); rest > 0 {
		return s.say(fmt.Sprintf("about %d there was no question", rest))
	}
	return nil
}

// questions lists the hosts on which somebody has to decide.
func questions(ctx runContext, server *api.Client) ([]api.Host, error) {
	hosts := []api.Host{}
	for h, err := range server.Hosts(ctx, api.HostFilter{Question: true}) {
		if err != nil {
			return nil, failure(err)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func (s *client) tellQuestions(hosts []api.Host, err error) error {
	switch {
	case err != nil:
		return err
	case s.globals.JSON:
		return s.printJSON(hosts)
	case len(hosts) == 0:
		return s.say("there is no question about any host")
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, h := range hosts {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", ui.Line(h.Name), ui.Line(h.State), ui.Line(string(h.ID)), ui.Line(h.Reason))
	}
	return unread(failure(out.Flush()))
}
