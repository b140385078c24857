package cli

import (
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/trust"
)

type hostTrustCmd struct {
	Host string `arg:"" help:"Its name."`
	ID   string `arg:"" name:"id" help:"Its identity, as the machine itself says."`
}

// Run notes with the login which host a name stands for.
func (cmd *hostTrustCmd) Run(_ runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	former, err := server.TrustHost(cmd.Host, trust.ID(cmd.ID))
	switch {
	case err != nil:
		return failure(err)
	case s.globals.JSON:
		return s.printJSON(struct {
			Host   string   `json:"host"`
			ID     trust.ID `json:"id"`
			Former trust.ID `json:"former,omitempty"`
		}{cmd.Host, trust.ID(cmd.ID), former})
	}
	text := ui.Line(cmd.Host) + " is " + cmd.ID + " from now on"
	if former != "" && former != trust.ID(cmd.ID) {
		text += ", and was " + string(former)
	}
	return s.say(text)
}
