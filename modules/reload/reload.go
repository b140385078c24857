// Package reload is the module "reload": a unit of systemd reads its
// configuration anew.
package reload

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Reload names one unit.
type Reload struct {
	Name string `state:"name,key" doc:"Name of the unit; without a kind such as .socket it is a .service."`
}

const doc = `Lets a unit of systemd read its configuration anew, without a break.

At the top level of a site it is a handler: it runs when something that notifies it has changed. A unit that does not run has nothing to reload: it reads its configuration when it is started, and the part is unchanged. A unit that cannot reload is an error: use restart.`

const example = `file "/etc/nginx/conf.d/limits.conf" {
  content = "client_max_body_size 20m;\n"
  notify  = [reload.nginx]
}

reload "nginx" {}`

// Module is the module "reload".
var Module = states.Define(states.Type[Reload]{
	Name: "reload", Doc: doc, Example: example, Handler: true, Root: true, Locks: []string{"unit %s"},
	NoAbsent: "A reload is an act, and cannot be undone.",
	Validate: func(want Reload) error { return systemd.CheckName("name", want.Name) },
	Act:      act,
})

func act(ctx context.Context, h host.Host, want Reload) (bool, Reload, error) {
	if err := systemd.Require(h); err != nil {
		return false, want, err
	}
	status, err := systemd.Show(ctx, h, want.Name)
	switch {
	case err != nil:
		return false, want, err
	case !status.IsActive():
		return false, want, nil
	case !status.CanReload:
		return false, want, fmt.Errorf("%s cannot reload its configuration (restart %q {} restarts it)", status.Unit, want.Name)
	}
	err = systemd.Reload(ctx, h, status)
	return err == nil, want, err
}
