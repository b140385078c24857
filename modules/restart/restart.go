// Package restart is the module "restart": a service is stopped and started
// again.
package restart

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Restart names one service.
type Restart struct {
	Name string  `state:"name,key" doc:"Name of the service, or of another unit with its kind, such as backup.timer."`
	User *string `state:"user,key,optional,of_user" doc:"The account whose own service it is; otherwise it is the machine's."`
}

const doc = `Restarts a service; one that does not run is started.

At the top level of a site it is a handler: it runs when something that notifies it has changed. Changed unit files are read anew before. Where a notification asks to restart a service that is not there, nothing is to be done: one that is installed later starts with what is there then. A service that does not run afterwards is an error with the last lines of its log.`

const example = `file "/etc/app.conf" {
  content = "port = 8080\n"
  notify  = [restart.app]
}

restart "app" {}`

// Module is the module "restart".
var Module = states.Define(states.Type[Restart]{
	Name: "restart", Doc: doc, Example: example, Handler: true, Root: true, Locks: []string{"unit %s"},
	NoAbsent: "A restart is an act, and cannot be undone.",
	Validate: func(want Restart) error {
		return errors.Join(systemd.CheckName("name", want.Name), check.Account("user", want.User))
	},
	Act: act, Effects: effects,
})

// effects are those of the service, which may run then and did not before.
func effects(want Restart, _ bool) states.Effects {
	e := systemd.Effects(want.Name, want.User)
	e.Services = append(e.Services, states.Literal(want.Name), states.Literal(want.Name)+".service")
	return e
}

func act(ctx context.Context, h host.Host, want Restart) (bool, Restart, error) {
	s, status, err := systemd.OpenForAct(ctx, h, want.Name, want.User)
	if err == nil && status.Load == "masked" && !status.NeedReload {
		err = fmt.Errorf("%s is masked and cannot be started (a service part with masked = false lifts that)", s.Name)
	}
	if err == nil {
		err = s.Do(ctx, host.Restart)
	}
	return err == nil, want, err
}
