package cli

import (
	"errors"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

type forgetCmd struct {
	locking
	Site      string   `help:"The site that lets go, where several have what is named: its name or, if it has none, where it lies." placeholder:"SITE"`
	Addresses []string `arg:"" name:"addr" help:"The address of a declaration, or TYPE[\"KEY\"] of what it has created."`
}

// Run lets go of what a site has created on this machine, and of what handlers
// are owed. The machine stays as it is.
func (cmd *forgetCmd) Run(ctx runContext, s *client) error {
	if s.onHosts() {
		return s.forgetHosts(ctx, cmd)
	}
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	err = local.Forget(ctx, runner.Forgetting{Addresses: cmd.Addresses, Site: cmd.Site, LockTimeout: time.Duration(cmd.LockTimeout)}, func(ev states.Event) error {
		if s.globals.JSON {
			return s.printLine(ev)
		}
		if s.globals.Quiet {
			return nil
		}
		return unread(s.print(ui.Clean(ev.Reason)))
	})
	if several, ok := errors.AsType[*runner.SeveralError](err); ok {
		return usage("name one by --site", "%w", several)
	}
	return s.ran(err)
}
