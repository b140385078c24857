// Package restart is the module "restart": a unit of systemd is stopped and
// started again.
package restart

import (
	"context"

	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Restart names one unit.
type Restart struct {
	Name string `state:"name,key" doc:"Name of the unit; without a kind such as .timer it is a .service."`
}

const doc = `Restarts a unit of systemd; one that does not run is started.

At the top level of a site it is a handler: it runs when something that notifies it has changed. Changed unit files are read anew before. A unit that does not run afterwards is an error with the last lines of its log.`

const example = `file "/etc/app.conf" {
  content = "port = 8080\n"
  notify  = [restart.app]
}

restart "app" {}`

// Module is the module "restart".
var Module = states.Define(states.Type[Restart]{
	Name: "restart", Doc: doc, Example: example, Handler: true, Root: true, Locks: []string{"unit %s"},
	NoAbsent: "A restart is an act, and cannot be undone.",
	Validate: func(want Restart) error { return systemd.CheckName("name", want.Name) },
	Act:      act,
})

func act(ctx context.Context, h host.Host, want Restart) (bool, Restart, error) {
	if err := systemd.Require(h); err != nil {
		return false, want, err
	}
	status, err := systemd.Show(ctx, h, want.Name)
	if err != nil {
		return false, want, err
	}
	err = systemd.Start(ctx, h, "restart", status)
	return err == nil, want, err
}
