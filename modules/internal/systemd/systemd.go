// Package systemd asks and tells systemd by way of systemctl.
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
)

// CheckName says what is wrong with the name of a unit.
func CheckName(attribute, name string) error { return check.Name(attribute, name, ":-_.\\@") }

// Unit gives a unit's whole name: "nginx" is "nginx.service".
func Unit(name string) string {
	kinds := []string{
		".service", ".socket", ".target", ".timer", ".mount", ".path", ".device",
		".automount", ".swap", ".slice", ".scope",
	}
	if slices.Contains(kinds, path.Ext(name)) {
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
		err = errors.New("no systemd runs on this host (/run/systemd/system is not there), so no unit can be started, stopped or reloaded")
	}
	return err
}

// Status is what systemd says about a unit.
type Status struct {
	Unit       string
	Load       string // loaded, not-found, masked, bad-setting, error
	Active     string // active, inactive, failed, activating, …
	Sub        string
	Result     string // success, or why the last run failed
	Type       string // simple, notify, oneshot, …
	CanReload  bool
	NeedReload bool // its files have changed since systemd read them
}

// IsActive reports whether the unit runs.
func (s Status) IsActive() bool { return s.Active == "active" || s.Active == "reloading" }

// Show asks for a unit's status. A unit that is not known is an error; a masked
// one is not.
func Show(ctx context.Context, h host.Processes, name string) (Status, error) {
	s := Status{Unit: Unit(name)}
	r, err := query(ctx, h, s.Unit, "show", "--no-pager",
		"--property=LoadState,ActiveState,SubState,Result,Type,CanReload,NeedDaemonReload", "--", s.Unit)
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(r.Stdout)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "LoadState":
			s.Load = value
		case "ActiveState":
			s.Active = value
		case "SubState":
			s.Sub = value
		case "Result":
			s.Result = value
		case "Type":
			s.Type = value
		case "CanReload":
			s.CanReload = value == "yes"
		case "NeedDaemonReload":
			s.NeedReload = value == "yes"
		}
	}
	if s.Load == "not-found" {
		return s, notKnown(s.Unit)
	}
	return s, nil
}

func notKnown(unit string) error { return check.NotOnHost("unit", unit) }

// Enablement asks how a unit is enabled: enabled, disabled, static, masked, ….
// It works without a running systemd, too. A unit that is not known is an
// error that wraps fs.ErrNotExist.
func Enablement(ctx context.Context, h host.Host, name string) (string, error) {
	unit := Unit(name)
	args, err := offline(h, "is-enabled", "--", unit)
	if err != nil {
		return "", err
	}
	r, err := query(ctx, h, unit, args...)
	said := strings.TrimSpace(string(r.Stdout))
	switch exit, ok := errors.AsType[*process.ExitError](err); {
	case err != nil && !ok:
		return "", err
	case said == "not-found", said == "" && strings.Contains(string(r.Stderr), "No such file"):
		return "", notKnown(unit)
	case said == "":
		return "", exit
	}
	return said, nil
}

// Change runs one of enable, disable, mask and unmask, which work without a
// running systemd, too.
func Change(ctx context.Context, h host.Host, verb, name string) error {
	args, err := offline(h, verb, "--", Unit(name))
	if err != nil {
		return err
	}
	return systemctl(ctx, h, args...)
}

// offline lets systemctl act on the files itself where no systemd runs.
func offline(h host.Host, args ...string) ([]string, error) {
	running, err := Running(h)
	if !running {
		args = append([]string{"--root=/"}, args...)
	}
	return args, err
}

func systemctl(ctx context.Context, h host.Processes, args ...string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: append([]string{"systemctl"}, args...)})
	return explainMissing(err)
}

func query(ctx context.Context, h host.Processes, unit string, args ...string) (host.Result, error) {
	r, err := process.Query(ctx, h, host.Query{
		Command: host.Command{Argv: append([]string{"systemctl"}, args...), Env: []string{"LC_ALL=C.UTF-8"}},
		Reads:   files(unit),
	})
	return r, explainMissing(err)
}

func explainMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this host has no systemctl: %w", err)
	}
	return err
}

// files are the paths on which systemd's answer about a unit depends.
func files(unit string) []string {
	names := []string{unit, unit + ".d"}
	if prefix, rest, ok := strings.Cut(unit, "@"); ok && rest != path.Ext(unit) {
		template := prefix + "@" + path.Ext(unit)
		names = append(names, template, template+".d")
	}
	var out []string
	for _, dir := range []string{"/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		for _, name := range names {
			out = append(out, path.Join(dir, name))
		}
	}
	return append(out, "/etc/init.d/"+strings.TrimSuffix(unit, ".service"))
}
