package cli

import (
	"context"
	"errors"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

type forgetCmd struct {
	lockFlags
	Site      string   `help:"The site that lets go, where several have what is named: its name or, if it has none, where it lies." placeholder:"SITE"`
	Addresses []string `arg:"" name:"addr" help:"The address of a declaration, or TYPE[\"KEY\"] of what it has created."`
}

// Run lets go of what a site has created, and of what handlers are owed. Machines stay as
// they are.
func (cmd *forgetCmd) Run(ctx runContext, s *client) error {
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	f := machine.ForgetRequest{Addresses: graph.StateAddresses(cmd.Addresses), Site: cmd.Site, LockTimeout: time.Duration(cmd.LockTimeout)}
	list, err := ask(ctx, s, t, question[[]states.Event]{Question: fleet.Question[[]states.Event]{Task: "forget",
		Ask: func(ctx context.Context, m *fleet.Member, o machine.Observer, _ machine.RunRef) ([]states.Event, error) {
			return m.Forget(ctx, f, o)
		}}})
	if err != nil {
		return err
	}
	for _, a := range list {
		if f := a.failure(); f != nil && t.hasNames && s.globals.JSON {
			err = errors.Join(err, s.printLine(hostError{a.host.Name, f}))
		}
		for _, ev := range a.value {
			if t.hasNames {
				ev.Host = a.host.Name
			}
			switch {
			case s.globals.JSON:
				err = errors.Join(err, s.printLine(ev))
			case t.hasNames:
				err = errors.Join(err, s.tell("%s: %s", a.host.Name, ui.Line(ev.Reason)))
			default:
				err = errors.Join(err, s.tell("%s", ui.Clean(ev.Reason)))
			}
		}
	}
	if several, ok := errors.AsType[*machine.SeveralError](list[0].outcome.Err); ok && !t.hasNames {
		return usage("name one by --site", "%w", several)
	}
	return errors.Join(err, s.showFailures(t, common(list)))
}
