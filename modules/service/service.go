// Package service is the module "service": whether a service runs, and whether it
// starts at boot.
package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Service is the state of one service, wanted or observed. A nil attribute is not
// managed.
type Service struct {
	Name    string  `state:"name,key,service" doc:"Name of the service, or of another unit with its kind, such as backup.timer."`
	User    *string `state:"user,key,optional,of_user" doc:"The account whose own service it is; otherwise it is the machine's."`
	Running *bool   `state:"running" doc:"Whether it runs now."`
	Enabled *bool   `state:"enabled" doc:"Whether it starts at boot, an account's own with its first login."`
	Masked  *bool   `state:"masked" doc:"Whether it cannot be started at all, by nobody. Only systemd can."`

	status host.Service
}

const doc = `Whether a service runs, whether it starts at boot, and whether it is masked.

The service must be known to the host: it comes with a package, or with a unit file (see systemd_unit). Before it is started, changed unit files are read anew. A service that does not run after it was started is an error with the last lines of its log.

systemd is asked over its own bus. OpenRC and SysV scripts are told by their programs, rc-service and rc-update, or service and update-rc.d (chkconfig where there is only that); those of Debian 12 are tried in the lab, chkconfig is not. Without a running init system, as in a tree below --root, enabled and masked are still managed, by way of the links that stand for them; running is an error.

With user it is a service of that account's own systemd, which must run: it does while the account is logged in, or always after "loginctl enable-linger". A service does not react to changed configuration: notify a restart or reload.`

const example = `service "nginx" {
  running = true
  enabled = true
}

service "apt-daily.timer" {
  running = false
  masked  = true
}`

// Module is the module "service".
var Module = states.Define(states.Type[Service]{
	Name: "service", Doc: doc, Example: example, Root: true, HandlerType: "restart", Locks: []string{"unit %s"},
	NoAbsent: "A service comes with its package or unit file: stop it with running = false and enabled = false, or mask it.",
	Validate: validate, Read: read, Write: write, Effects: effects, Import: importService, List: list,
})

// effects are those of the service where it is started or stopped. That it is enabled is foreseen.
func effects(want Service, _ bool) states.Effects {
	if want.Running == nil {
		return states.Effects{}
	}
	return systemd.Effects(want.Name, want.User)
}

func validate(want Service) error {
	switch {
	case want.Running == nil && want.Enabled == nil && want.Masked == nil:
		return states.InvalidAttribute("running", "none of running, enabled and masked is given",
			"say what is wanted: running = true")
	case equals(want.Masked, true) && (equals(want.Running, true) || equals(want.Enabled, true)):
		return states.InvalidAttribute("masked", "a masked unit can neither run nor be enabled", "write running = false and enabled = false beside it, or leave them out")
	}
	return errors.Join(systemd.CheckName("name", want.Name), check.Account("user", want.User))
}

func equals(b *bool, value bool) bool { return b != nil && *b == value }

func read(ctx context.Context, h host.Host, want Service) (*Service, error) {
	s, err := systemd.Open(ctx, h, want.Name, want.User)
	if err != nil {
		return nil, err
	}
	look := s.Status
	if want.Running != nil {
		look = s.Running
	}
	status, err := look(ctx)
	maskOnly := equals(want.Masked, true) && want.Running == nil
	if maskOnly && errors.Is(err, fs.ErrNotExist) {
		status, err = host.Service{Enablement: "disabled"}, nil // what is not there yet can be masked
	}
	if err != nil {
		return nil, err
	}
	have := &Service{Name: want.Name, User: want.User, status: status}
	if want.Running != nil {
		have.Running = new(status.Runs())
	}
	if want.Enabled != nil {
		have.Enabled = new(isEnabled(status))
	}
	if want.Masked != nil {
		// A mask until the next boot is to be lifted, and is not enough to keep.
		have.Masked = new(isMasked(status) && (!*want.Masked || status.Enablement == "masked"))
	}
	return have, nil
}

// isEnabled reports whether a service starts at boot: one that is enabled until the next
// boot does not.
func isEnabled(s host.Service) bool { return s.Enablement == "alias" || s.Enablement == "enabled" }

func isMasked(s host.Service) bool { return strings.HasPrefix(s.Enablement, "masked") }

// importService leaves out whether it runs, where nothing does.
func importService(ctx context.Context, h host.Host, key Service) (*Service, error) {
	s, err := systemd.Open(ctx, h, key.Name, key.User)
	if err != nil {
		return nil, err
	}
	status, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	have := &Service{Name: key.Name, User: key.User}
	if status.Enablement == "masked" {
		have.Masked = new(true)
	} else {
		have.Enabled = new(isEnabled(status))
	}
	// One that does its work and ends is not to be kept from it.
	if ends := status.Type == "oneshot" && !status.Runs(); status.Active != "" && !ends {
		have.Running = new(status.Runs())
	}
	return have, nil
}

// list names the machine's services that somebody has decided on: those that start
// at boot, and those that are masked.
func list(ctx context.Context, h host.Host, _ []string) ([]Service, error) {
	init, err := host.InitOf(ctx, h, "")
	if err != nil {
		return nil, err
	}
	services, err := init.Services(ctx)
	if err != nil {
		return nil, err
	}
	var keys []Service
	for _, s := range services {
		if !strings.Contains(s.Name, "@.") && isChosen(h, s) {
			keys = append(keys, Service{Name: strings.TrimSuffix(s.Name, ".service")})
		}
	}
	return keys, nil
}

// isChosen reports whether a service is as somebody wanted it: it is enabled; it is
// masked, and not by its package; or it is disabled, and Debian had enabled it.
func isChosen(h host.Reader, s host.Service) bool {
	there := func(name string) bool {
		_, err := h.Lstat(name)
		return err == nil
	}
	switch s.Enablement {
	case "enabled":
		return true
	case "masked":
		return !there("/usr/lib/systemd/system/"+s.Name) && !there("/lib/systemd/system/"+s.Name) || there("/etc/systemd/system/"+s.Name)
	case "disabled":
		return there("/var/lib/systemd/deb-systemd-helper-enabled/" + s.Name + ".dsh-also")
	}
	return false
}

// write lifts a mask first and puts one last. What a service does as it stops cannot
// be foreseen, but what follows can.
func write(ctx context.Context, h host.Host, have *Service, want Service) error {
	s, err := systemd.Open(ctx, h, want.Name, want.User)
	if err == nil {
		err = possible(s.Name, *have, want)
	}
	if err != nil {
		return err
	}
	var unforeseen error
	for _, step := range []struct {
		due  bool
		verb host.Verb
	}{
		{equals(have.Masked, true) && equals(want.Masked, false), host.Unmask},
		{equals(have.Running, true) && equals(want.Running, false), host.Stop},
		{equals(have.Enabled, true) && equals(want.Enabled, false), host.Disable},
		{equals(have.Enabled, false) && equals(want.Enabled, true), host.Enable},
		{equals(have.Masked, false) && equals(want.Masked, true), host.Mask},
		{equals(have.Running, false) && equals(want.Running, true), host.Start},
	} {
		if !step.due {
			continue
		}
		err := s.Do(ctx, step.verb)
		if errors.Is(err, host.ErrUnforeseeable) {
			unforeseen = err
		} else if err != nil {
			return err
		}
	}
	return unforeseen
}

// possible finds what would be refused, before anything is changed.
func possible(name string, have, want Service) error {
	isMasked := isMasked(have.status) || have.status.Load == "masked"
	switch {
	case isMasked && !equals(want.Masked, false) && (equals(want.Enabled, true) || equals(want.Running, true)):
		return &diag.HintError{Message: name + " is masked", Hint: "masked = false lifts that"}
	case equals(want.Enabled, true) && slices.Contains([]string{"static", "indirect"}, have.status.Enablement):
		return fmt.Errorf("%s cannot be enabled: its unit file has no [Install] section, so other units start it", name)
	}
	return nil
}
