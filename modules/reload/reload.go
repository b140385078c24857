// Package reload is the module "reload": a service reads its configuration
// anew.
package reload

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Reload names one service.
type Reload struct {
	Name string  `state:"name,key" doc:"Name of the service, or of another unit with its kind, such as web.socket."`
	User *string `state:"user,key,optional,of_user" doc:"The account whose own service it is; otherwise it is the machine's."`
}

const doc = `Lets a service read its configuration anew, without a break.

At the top level of a site it is a handler: it runs when something that notifies it has changed. A service that does not run has nothing to reload: it reads its configuration when it is started, and the part is unchanged. So it is for a service that is not there, where a notification asks for the reload: one that is installed later reads its configuration then. One that cannot reload is an error: use restart.`

const example = `file "/etc/nginx/conf.d/limits.conf" {
  content = "client_max_body_size 20m;\n"
  notify  = [reload.nginx]
}

reload "nginx" {}`

// Module is the module "reload".
var Module = states.Define(states.Type[Reload]{
	Name: "reload", Doc: doc, Example: example, Handler: true, Root: true, Locks: []string{"unit %s"},
	NoAbsent: "A reload is an act, and cannot be undone.",
	Validate: func(want Reload) error {
		return errors.Join(systemd.CheckName("name", want.Name), check.Account("user", want.User))
	},
	Act: act, Effects: effects,
})

// effects are those of the service, which may run then and did not before.
func effects(want Reload, _ bool) states.Effects {
	e := systemd.Effects(want.Name, want.User)
	e.Services = append(e.Services, states.Literal(want.Name), states.Literal(want.Name)+".service")
	return e
}

func act(ctx context.Context, h host.Host, want Reload) (bool, Reload, error) {
	s, status, err := systemd.OpenForAct(ctx, h, want.Name, want.User)
	switch {
	case err != nil:
		return false, want, err
	case !status.Runs():
		return false, want, nil
	case !status.CanReload && !status.NeedReload:
		return false, want, fmt.Errorf("%s cannot reload its configuration (restart %q {} restarts it)", s.Name, want.Name)
	}
	err = s.Do(ctx, host.Reload)
	return err == nil, want, err
}
