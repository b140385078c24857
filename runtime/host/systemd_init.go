package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/godbus/dbus/v5"
)

// systemdInit is a systemd that runs, by its D-Bus interface; see
// org.freedesktop.systemd1(5).
type systemdInit struct {
	host  *Local
	buses *buses
	user  string // empty: the machine's own
	uid   int
}

// socket is where this systemd listens.
func (s *systemdInit) socket() string {
	if s.user == "" {
		return "/run/systemd/private"
	}
	return fmt.Sprintf("/run/user/%d/systemd/private", s.uid)
}

// System is Init.System.
func (s *systemdInit) System() string { return "systemd" }

// Services is Init.Services: what is loaded, and what has a file.
func (s *systemdInit) Services(ctx context.Context) ([]Service, error) {
	known := map[string]Service{}
	err := s.withBus(ctx, func(c *bus) error {
		units, err := c.ListUnitsByPatternsContext(ctx, nil, []string{"*.service"})
		if err != nil {
			return err
		}
		for _, u := range units {
			if u.LoadState != "not-found" {
				known[u.Name] = Service{Name: u.Name, Load: u.LoadState, Active: u.ActiveState, Sub: u.SubState}
			}
		}
		files, err := c.ListUnitFilesByPatternsContext(ctx, nil, []string{"*.service"})
		for _, f := range files {
			name := path.Base(f.Path)
			one, loaded := known[name]
			if !loaded {
				one = Service{Name: name, Load: "loaded", Active: "inactive", Sub: "dead"}
			}
			one.Enablement = f.Type
			known[name] = one
		}
		return err
	})
	var out []Service
	for _, one := range known {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	return out, explain(err, "")
}

// Service is Init.Service.
func (s *systemdInit) Service(ctx context.Context, name string) (out Service, err error) {
	err = s.withBus(ctx, func(c *bus) error {
		out, err = s.ask(ctx, c, name)
		return err
	})
	return out, explain(err, name)
}

func (s *systemdInit) ask(ctx context.Context, c *bus, name string) (Service, error) {
	asking, done := context.WithTimeout(ctx, busPatience)
	defer done()
	out, err := s.askWithin(asking, c, name)
	if err != nil && ctx.Err() == nil && asking.Err() != nil {
		err = errSilent
	}
	return out, err
}

func (s *systemdInit) askWithin(ctx context.Context, c *bus, name string) (Service, error) {
	out := Service{Name: name}
	if strings.Contains(name, "@.") { // a template is no unit that could run
		files, err := UnitFiles(s.host, s.user)
		if err == nil {
			out, err = files.Service(ctx, name)
		}
		out.Active, out.Sub = "inactive", "dead"
		return out, err
	}
	unit, err := c.GetUnitPropertiesContext(ctx, name)
	if err != nil {
		return out, err
	}
	out.Load, _ = unit["LoadState"].(string)
	out.Active, _ = unit["ActiveState"].(string)
	out.Sub, _ = unit["SubState"].(string)
	out.CanReload, _ = unit["CanReload"].(bool)
	out.NeedReload, _ = unit["NeedDaemonReload"].(bool)
	if out.Load == "not-found" && !out.NeedReload && out.Active != "active" {
		return out, &notKnown{name}
	}
	if path.Ext(name) == ".service" {
		for property, field := range map[string]*string{"Type": &out.Type, "Result": &out.Result} {
			p, err := c.GetServicePropertyContext(ctx, name, property)
			if err != nil {
				return out, err
			}
			*field, _ = p.Value.Value().(string)
		}
	}
	// The unit's own property is of the time when its files were read.
	state, err := c.fileState(ctx, name)
	switch {
	case isError(err, "org.freedesktop.DBus.Error.FileNotFound", "org.freedesktop.systemd1.NoSuchUnit"):
		out.Enablement, err = "", nil
	case err == nil && state == "generated":
		state, err = generatedState(s.host, name)
	}
	if err == nil {
		out.Enablement = state
	}
	return out, err
}

// fileState says how a unit is enabled, by its files as they are now.
func (c *bus) fileState(ctx context.Context, name string) (state string, err error) {
	manager := c.calls.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	err = manager.CallWithContext(ctx, "org.freedesktop.systemd1.Manager.GetUnitFileState", 0, name).Store(&state)
	return state, err
}

// generatedState tells whether a script of old, for which systemd makes a unit, is enabled.
func generatedState(h Reader, name string) (string, error) {
	script := strings.TrimSuffix(name, ".service")
	if !exists(h, "/etc/init.d/"+script) {
		return "generated", nil
	}
	on, err := enabledSysV(h, script)
	switch {
	case err != nil:
		return "", err
	case on:
		return "enabled", nil
	}
	return "disabled", nil
}

// Refresh is Init.Refresh.
func (s *systemdInit) Refresh(ctx context.Context) error {
	return explain(s.withBus(ctx, func(c *bus) error { return c.ReloadContext(ctx) }), "")
}

// Do is Init.Do. What systemd has read of the unit is brought up to date before; a
// service counts as started when it still runs a moment later.
func (s *systemdInit) Do(ctx context.Context, verb Verb, name string) error {
	err := s.withBus(ctx, func(c *bus) error {
		switch verb {
		case Enable, Disable, Mask, Unmask:
			return s.setEnablement(ctx, c, verb, name)
		}
		now, err := s.ask(ctx, c, name)
		switch {
		case err != nil:
			return err
		case now.Load == "masked" && verb != Stop && !now.NeedReload:
			return &maskedError{name}
		case now.NeedReload:
			if err := c.ReloadContext(ctx); err != nil {
				return err
			}
		}
		starts := verb == Start || verb == Restart
		if starts {
			err = c.resetStartLimit(ctx, name)
		}
		if err == nil {
			err = s.job(ctx, c, verb, name)
		}
		if err == nil && starts {
			err = s.checkStays(ctx, c, name)
		}
		return err
	})
	err = explain(err, name)
	if failure, ok := errors.AsType[*ServiceError](err); ok {
		failure.Log = s.status(ctx, name)
	}
	return err
}

// setEnablement enables, disables, masks and unmasks, and lets systemd know of it.
func (s *systemdInit) setEnablement(ctx context.Context, c *bus, verb Verb, name string) (err error) {
	state, err := c.fileState(ctx, name)
	if err == nil && state == "generated" && (verb == Enable || verb == Disable) {
		return s.byProgram(ctx, verb, name)
	}
	names := []string{name}
	switch verb {
	case Enable:
		var installable bool
		if installable, _, err = c.EnableUnitFilesContext(ctx, names, false, false); err == nil && !installable {
			err = notInstallable(name)
		}
	case Disable:
		_, err = c.DisableUnitFilesContext(ctx, names, false)
	case Mask:
		_, err = c.MaskUnitFilesContext(ctx, names, false, false)
	case Unmask:
		if _, err = c.UnmaskUnitFilesContext(ctx, names, false); err == nil {
			_, err = c.UnmaskUnitFilesContext(ctx, names, true)
		}
	}
	if err != nil {
		return err
	}
	return c.ReloadContext(ctx)
}

// byProgram is for scripts of old, which systemctl hands on to the programs that
// manage them.
func (s *systemdInit) byProgram(ctx context.Context, verb Verb, name string) error {
	r, err := s.host.Run(ctx, Command{Argv: []string{"systemctl", string(verb), "--", name}})
	if err == nil && r.ExitCode != 0 {
		err = &ServiceError{name, fmt.Errorf("systemctl %s ended with exit status %d", verb, r.ExitCode), r.Stderr}
	}
	return err
}

// status is what systemd and the unit's log say.
func (s *systemdInit) status(ctx context.Context, name string) []byte {
	c := Command{Argv: []string{"systemctl", "status", "--no-pager", "--full", "--lines=10", "--", name}}
	if s.user != "" {
		c.Argv = slices.Insert(c.Argv, 1, "--user")
		c.Env = []string{fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d", s.uid)}
		if s.uid != os.Geteuid() {
			c.User = s.user
		}
	}
	r, err := s.host.Run(ctx, c)
	if err != nil {
		return []byte(err.Error())
	}
	return r.Stdout
}

// isError reports whether an answer of the bus is one of these errors.
func isError(err error, names ...string) bool {
	e, ok := errors.AsType[dbus.Error](err)
	return ok && slices.Contains(names, e.Name)
}

// isLost reports whether the connection has ended: whoever waited for an answer then is
// told how, in one of several ways.
func isLost(err error) bool {
	for _, how := range []error{dbus.ErrClosed, io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, how) {
			return true
		}
	}
	return false
}

// explain puts systemd's errors into words that can be told apart.
func explain(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case isError(err, "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.DBus.Error.FileNotFound"):
		return &notKnown{name}
	case isError(err, "org.freedesktop.systemd1.UnitMasked"):
		return &maskedError{name}
	case isError(err, "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"):
		return forbiddenError(err)
	case isLost(err):
		return fmt.Errorf("systemd: %w", ErrLost)
	}
	if _, ok := errors.AsType[dbus.Error](err); ok {
		return &ServiceError{Name: cmp.Or(name, "systemd"), Err: err}
	}
	return err
}
