package cli

import api "github.com/tenetcm/tenet/server/api/client"

type hostApproveCmd struct {
	Host    string   `arg:"" help:"Its id, or the name for which it asks."`
	Name    string   `help:"Take it in under this name, in place of the one for which it asks." placeholder:"NAME"`
	Label   []string `help:"Give it this label; all that it claims are left out then." placeholder:"NAME=VALUE" sep:"none"`
	Replace bool     `help:"Revoke the host that has the name."`
	Reason  string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run takes a host in.
func (cmd *hostApproveCmd) Run(ctx runContext, s *client) error {
	labels, err := readLabels(cmd.Label)
	if err != nil {
		return err
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	id, err := pendingHost(ctx, server, cmd.Host)
	if err != nil {
		return err
	}
	h, err := server.ApproveHost(ctx, id, api.HostApproval{Name: cmd.Name, Labels: labels, Replace: cmd.Replace, Reason: cmd.Reason})
	return s.tellHost(h, err)
}

type hostActCmd struct {
	Host   string `arg:"" help:"Its name or id."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run locks, unlocks or revokes a host.
func (cmd *hostActCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	h, err := server.ChangeHost(ctx, cmd.Host, s.act(), cmd.Reason)
	return s.tellHost(h, err)
}

type hostRenameCmd struct {
	Host   string `arg:"" help:"Its name or id."`
	Name   string `arg:"" help:"Its name from then on."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run calls a host otherwise.
func (cmd *hostRenameCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	h, err := server.RenameHost(ctx, cmd.Host, cmd.Name, cmd.Reason)
	return s.tellHost(h, err)
}

type hostLabelCmd struct {
	Host   string   `arg:"" help:"Its name or id."`
	Labels []string `arg:"" optional:"" help:"All that it has from then on: NAME=VALUE."`
	None   bool     `help:"Leave it without labels."`
	Reason string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run gives a host labels.
func (cmd *hostLabelCmd) Run(ctx runContext, s *client) error {
	// What a script has lost in an empty variable must not take all labels away.
	if cmd.None == (len(cmd.Labels) > 0) {
		return usage("write NAME=VALUE for each label, or --none", "it takes either labels or --none")
	}
	labels, err := readLabels(cmd.Labels)
	if err != nil {
		return err
	}
	if cmd.None {
		labels = map[string]string{}
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	h, err := server.LabelHost(ctx, cmd.Host, labels, cmd.Reason)
	return s.tellHost(h, err)
}
