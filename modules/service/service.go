// Package service is the module "service": whether a unit of systemd runs, and
// whether it starts at boot.
package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Service is the state of one unit, wanted or observed. A nil attribute is not
// managed.
type Service struct {
	Name    string `state:"name,key" doc:"Name of the unit; without a kind such as .timer it is a .service."`
	Running *bool  `state:"running" doc:"Whether it runs now."`
	Enabled *bool  `state:"enabled" doc:"Whether it starts at boot."`
	Masked  *bool  `state:"masked" doc:"Whether it cannot be started at all, by nobody."`

	enablement string         // as systemctl is-enabled says; read when Enabled or Masked is managed
	status     systemd.Status // read when Running is managed
}

const doc = `Whether a unit of systemd runs, whether it starts at boot, and whether it is masked.

The unit must be known to the host: it comes with a package, or with a unit file. Before it is started, changed unit files are read anew. A unit that does not run after it was started is an error with the last lines of its log.

Without a running systemd, as in a tree below --root, enabled and masked are still managed, by way of the unit's links; running is an error. A service does not react to changed configuration: notify a restart or reload.`

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
	Name: "service", Doc: doc, Example: example, Root: true, Locks: []string{"unit %s"},
	NoAbsent: "A service comes with its package or unit file: stop it with running = false and enabled = false, or mask it.",
	Validate: validate, Read: read, Write: write, Import: imported,
})

func validate(want Service) error {
	switch {
	case want.Running == nil && want.Enabled == nil && want.Masked == nil:
		return &states.AttributeError{Attribute: "running", Message: "none of running, enabled and masked is given",
			Hint: "say what is wanted: running = true"}
	case is(want.Masked, true) && (is(want.Running, true) || is(want.Enabled, true)):
		return &states.AttributeError{Attribute: "masked", Message: "a masked unit can neither run nor be enabled"}
	}
	return systemd.CheckName("name", want.Name)
}

func is(b *bool, value bool) bool { return b != nil && *b == value }

func read(ctx context.Context, h host.Host, want Service) (*Service, error) {
	have := &Service{Name: want.Name}
	if want.Enabled != nil || want.Masked != nil {
		if err := have.readEnablement(ctx, h, want); err != nil {
			return nil, err
		}
	}
	if want.Running == nil {
		return have, nil
	}
	if err := systemd.Require(h); err != nil {
		return nil, err
	}
	s, err := systemd.Show(ctx, h, want.Name)
	if err != nil {
		return nil, err
	}
	have.status, have.Running = s, new(s.IsActive())
	return have, nil
}

// imported leaves out whether it runs, where nothing does.
func imported(ctx context.Context, h host.Host, key Service) (*Service, error) {
	key.Enabled, key.Masked = new(bool), new(bool)
	running, err := systemd.Running(h)
	if running {
		key.Running = new(bool)
	}
	if err != nil {
		return nil, err
	}
	return read(ctx, h, key)
}

func (s *Service) readEnablement(ctx context.Context, h host.Host, want Service) error {
	state, err := systemd.Enablement(ctx, h, want.Name)
	maskOnly := is(want.Masked, true) && want.Running == nil
	if maskOnly && errors.Is(err, fs.ErrNotExist) {
		state, err = "disabled", nil // what is not there yet can be masked
	}
	if err != nil {
		return err
	}
	s.enablement = state
	if want.Enabled != nil {
		s.Enabled = new(state == "alias" || strings.HasPrefix(state, "enabled"))
	}
	if want.Masked != nil {
		s.Masked = new(strings.HasPrefix(state, "masked"))
	}
	return nil
}

func write(ctx context.Context, h host.Host, have *Service, want Service) error {
	if err := possible(*have, want); err != nil {
		return err
	}
	if is(have.Masked, true) && is(want.Masked, false) {
		if err := systemd.Change(ctx, h, "unmask", want.Name); err != nil {
			return err
		}
	}
	if is(have.Running, true) && is(want.Running, false) {
		if err := systemd.Stop(ctx, h, have.status); err != nil {
			return err
		}
	}
	if want.Enabled != nil && *want.Enabled != *have.Enabled {
		verb := "disable"
		if *want.Enabled {
			verb = "enable"
		}
		if err := systemd.Change(ctx, h, verb, want.Name); err != nil {
			return err
		}
	}
	if is(have.Masked, false) && is(want.Masked, true) {
		if err := systemd.Change(ctx, h, "mask", want.Name); err != nil {
			return err
		}
	}
	if is(have.Running, false) && is(want.Running, true) {
		return start(ctx, h, *have, want)
	}
	return nil
}

func start(ctx context.Context, h host.Host, have, want Service) error {
	status := have.status
	if is(have.Masked, true) { // it was unmasked just now
		var err error
		if status, err = systemd.Show(ctx, h, want.Name); err != nil {
			return err
		}
	}
	return systemd.Start(ctx, h, "start", status)
}

// possible finds what systemctl would refuse, before anything is changed.
func possible(have, want Service) error {
	unit := systemd.Unit(want.Name)
	unmasks := is(want.Masked, false)
	masked := strings.HasPrefix(have.enablement, "masked") || have.status.Load == "masked"
	switch {
	case masked && !unmasks && (is(want.Enabled, true) || is(want.Running, true)):
		return fmt.Errorf("%s is masked (masked = false lifts that)", unit)
	case is(want.Enabled, true) && have.enablement == "static":
		return fmt.Errorf("%s cannot be enabled: its unit file has no [Install] section, so other units start it", unit)
	}
	return nil
}
