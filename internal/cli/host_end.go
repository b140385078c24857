package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
)

type hostRejectCmd struct {
	Host   string `arg:"" optional:"" help:"Its id, or the name for which it asks."`
	Token  string `help:"All that have asked by this token: its id." placeholder:"ID"`
	Select string `help:"All for which a selector says so, by the names and labels for which they ask." placeholder:"SELECTOR"`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run rejects a host, or many.
func (cmd *hostRejectCmd) Run(ctx runContext, s *client) error {
	isMany := cmd.Token+cmd.Select != ""
	if isMany == (cmd.Host != "") {
		return usage("name one host, or write --token ID or --select SELECTOR", "it takes either a host or what names many")
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	if !isMany {
		id, err := pendingHost(ctx, server, cmd.Host)
		if err != nil {
			return err
		}
		h, err := server.ChangeHost(ctx, id, "reject", cmd.Reason)
		return s.tellHost(h, err)
	}
	n, err := server.RejectHosts(ctx, cmd.Token, cmd.Select, cmd.Reason)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(map[string]int{"rejected": n})
	}
	return s.say(fmt.Sprintf("hosts rejected: %d", n))
}

type hostForgetCmd struct {
	Hosts  []string `arg:"" help:"Their ids, or the names that they had."`
	Yes    bool     `short:"y" help:"Do not ask."`
	Reason string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run forgets hosts.
func (cmd *hostForgetCmd) Run(ctx runContext, s *client) error {
	if err := s.mayAsk(cmd.Yes, "host forget", "tenet host list --state revoked"); err != nil {
		return err
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	var ids []string
	for _, name := range cmd.Hosts {
		id, err := namelessHost(ctx, server, name, "revoked", "that were revoked or rejected were called", "tenet host list --state revoked shows when and why")
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if !cmd.Yes {
		names := ui.Clean(strings.Join(cmd.Hosts, ", "))
		if yes, err := s.ask(ctx, bufio.NewReader(s.In), "Forget "+names+", with what is wanted of them, reports, runs, facts and outputs?"); err != nil || !yes {
			return err
		}
	}
	for _, id := range ids {
		h, err := server.ChangeHost(ctx, id, "forget", cmd.Reason)
		if err != nil {
			return failure(err)
		}
		if s.globals.JSON {
			err = s.printJSON(h)
		} else {
			err = s.say(ui.Line(h.Name) + ": forgotten")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
