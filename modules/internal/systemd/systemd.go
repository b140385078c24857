// Package systemd is what the modules share that deal with services and the files
// of units.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// CheckName says what is wrong with the name of a service. There is one spelling for
// each, so that no two parts are about the same one.
func CheckName(attribute, name string) error {
	if err := CheckUnit(attribute, name); err != nil {
		return err
	}
	if short, long := strings.CutSuffix(name, ".service"); long {
		return states.InvalidAttribute(attribute, fmt.Sprintf("%q is named without .service", name),
			fmt.Sprintf("write %q", short))
	}
	return nil
}

// CheckUnit says what is wrong with the name of a unit, with its kind or without.
func CheckUnit(attribute, name string) error {
	if len(name) > 255 {
		return states.InvalidAttribute(attribute, "the name of a unit has at most 255 characters", "")
	}
	if strings.HasPrefix(name, ".") {
		return states.InvalidAttribute(attribute, fmt.Sprintf("%q is no name of a unit", name), "")
	}
	return check.Name(attribute, name, ":-_.\\@")
}

// IsUnit reports whether a name is the whole one of a unit, with its kind.
func IsUnit(name string) bool {
	kinds := []string{
		".service", ".socket", ".target", ".timer", ".mount", ".path", ".device",
		".automount", ".swap", ".slice", ".scope",
	}
	return slices.Contains(kinds, path.Ext(name)) && path.Ext(name) != name
}

// Unit gives a unit's whole name: "nginx" is "nginx.service".
func Unit(name string) string {
	if IsUnit(name) {
		return name
	}
	return name + ".service"
}

// Running reports whether systemd runs on the host. It does not in a
// container without it, and in a tree below --root.
func Running(h host.Reader) (bool, error) {
	_, err := h.Lstat("/run/systemd/system")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Require is an error where systemd does not run.
func Require(h host.Reader) error {
	running, err := Running(h)
	if err == nil && !running {
		err = &host.NotRunning{System: "systemd", Missing: "/run/systemd/system is not there"}
	}
	return err
}

// Service is one service of a host, as its init system knows it.
type Service struct {
	init host.Init
	h    host.Host
	user *string
	Name string // as the init system has it
}

// Open gives a service by its name in a site; user is the account whose own it is,
// nil: the machine's.
func Open(ctx context.Context, h host.Host, name string, user *string) (*Service, error) {
	account := ""
	if user != nil {
		account = *user
	}
	init, err := host.InitOf(ctx, h, account)
	if err != nil {
		return nil, err
	}
	if init.System() == "systemd" {
		name = Unit(name)
	}
	return &Service{init, h, user, name}, nil
}

// Status says how it is. One that is not known is an error that wraps
// fs.ErrNotExist.
func (s *Service) Status(ctx context.Context) (host.Service, error) {
	status, err := s.init.Service(ctx, s.Name)
	if errors.Is(err, fs.ErrNotExist) {
		what := "service"
		if s.init.System() == "systemd" {
			what = "unit"
		}
		err = check.NotOnHost(what, s.Name)
	}
	return status, err
}

// Running says how it is, and is an error where none can run.
func (s *Service) Running(ctx context.Context) (host.Service, error) {
	status, err := s.Status(ctx)
	if err == nil && status.Active == "" {
		err = &host.NotRunning{System: s.init.System()}
	}
	return status, err
}

// OpenForAct is Open for an act that a notification asks for, and says how the service is. It
// is an error where none can run, and a *states.MissingError where that one is not there.
func OpenForAct(ctx context.Context, h host.Host, name string, user *string) (*Service, host.Service, error) {
	s, err := Open(ctx, h, name, user)
	if err != nil {
		return nil, host.Service{}, err
	}
	status, err := s.Running(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		err = &states.MissingError{Err: err}
	}
	return s, status, err
}

// Do carries out a verb. In a plan its error tells what may be touched beside. What the service and its log have said stands in the error.
func (s *Service) Do(ctx context.Context, verb host.Verb) error {
	err := s.init.Do(ctx, verb, s.Name)
	if errors.Is(err, host.ErrLost) {
		return fmt.Errorf("%w: %w", states.ErrUnknown, err)
	}
	if errors.Is(err, host.ErrUnforeseeable) && verb != host.Reload {
		return s.withAlong(ctx, verb, err)
	}
	if failure, ok := errors.AsType[*host.ServiceError](err); ok {
		if said := process.Tail(failure.Log, 15); said != "" {
			return fmt.Errorf("%w\n%s", err, said)
		}
	}
	return err
}

// Refresh lets an init system know of changed files, if there is one that runs.
func Refresh(ctx context.Context, h host.Host, user *string) error {
	s, err := Open(ctx, h, "none", user)
	if errors.Is(err, host.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.init.Refresh(ctx)
}

// Retire stops and disables a unit whose file is about to go. What cannot be foreseen
// of that is not the last result.
func Retire(ctx context.Context, h host.Host, name string, user *string) (unforeseen, err error) {
	s, err := Open(ctx, h, name, user)
	if errors.Is(err, host.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	status, err := s.Status(ctx)
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(s.Name, "@.") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if status.Active != "" && status.Active != "inactive" {
		err = s.Do(ctx, host.Stop)
		if errors.Is(err, host.ErrUnforeseeable) {
			unforeseen, err = err, nil
		}
	}
	if err == nil && strings.HasPrefix(status.Enablement, "enabled") {
		err = s.Do(ctx, host.Disable)
	}
	return unforeseen, err
}
