package simulated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// initOf is the machine's systemd, or an account's own, where systemd runs; its unit
// files where it does not. All of it stands in the machine's tree.
func initOf(h *host.Memory, user string) (host.Init, error) {
	files, err := host.UnitFiles(h, user)
	if err != nil || !Exists(h, "/run/systemd/system") {
		return files, err
	}
	return &initSystem{files, h, user}, nil
}

// initSystem is a systemd that runs. A unit is its file: it fails to start where
// that says ExecStart=/bin/false, and can reload where it says ExecReload.
type initSystem struct {
	host.Init
	h    *host.Memory
	user string
}

// active is the file that stands for a unit that runs.
func (i *initSystem) active(unit string) string {
	if i.user != "" {
		return activeDir + i.user + ":" + unit
	}
	return activeDir + unit
}

// Services is Init.Services.
func (i *initSystem) Services(ctx context.Context) ([]host.Service, error) {
	services, err := i.Init.Services(ctx)
	for k := range services {
		services[k] = i.observe(services[k])
	}
	return services, err
}

// Service is Init.Service.
func (i *initSystem) Service(ctx context.Context, name string) (host.Service, error) {
	s, err := i.Init.Service(ctx, name)
	return i.observe(s), err
}

func (i *initSystem) observe(s host.Service) host.Service {
	s.Active, s.Sub, s.Result = "inactive", "dead", "success"
	if Exists(i.h, i.active(s.Name)) {
		s.Active, s.Sub = "active", "running"
	}
	return s
}

// Do is Init.Do.
func (i *initSystem) Do(ctx context.Context, verb host.Verb, name string) error {
	switch verb {
	case host.Enable, host.Disable, host.Mask, host.Unmask:
		return i.Init.Do(ctx, verb, name)
	}
	s, err := i.Service(ctx, name)
	switch {
	case err != nil:
		return err
	case s.Load == "masked" && verb != host.Stop:
		return &host.ServiceError{Name: name, Err: errors.New("the unit is masked")}
	}
	log := Text(i.h, SystemdLog) + string(verb) + " " + name
	if i.user != "" {
		log += " of " + i.user
	}
	if err := WriteFile(ctx, i.h, SystemdLog, log+"\n", host.Meta{}); err != nil {
		return err
	}
	text, err := i.text(name)
	if err != nil {
		return err
	}
	return perform(ctx, i.h, verb, i.active(name), name, text)
}

// text is what the file of a unit says.
func (i *initSystem) text(name string) (string, error) {
	if i.user == "" {
		text, _ := unitText(i.h, name)
		return text, nil
	}
	u, err := i.h.User(i.user)
	return Text(i.h, u.Home+"/.config/systemd/user/"+name), err
}

// remains reports whether a unit counts as running once its program has ended.
func remains(text string) bool {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "RemainAfterExit="); ok {
			return isOn(value)
		}
	}
	return false
}

// isOn reports whether systemd takes a value for yes.
func isOn(value string) bool {
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

// perform does what a unit does when it is told to; active is the file that stands
// for its running.
func perform(ctx context.Context, h *host.Memory, verb host.Verb, active, unit, text string) error {
	failed := func(why, said string) error {
		return &host.ServiceError{Name: unit, Err: errors.New(why), Log: []byte(said)}
	}
	switch verb {
	case host.Start, host.Restart:
		switch {
		case strings.Contains(text, "ExecStart=/bin/false") && strings.Contains(text, "Type=simple"):
			return failed("it does not run (inactive, dead; result: exit-code)", "")
		case strings.Contains(text, "ExecStart=/bin/false"):
			return failed("Job for "+unit+" failed because the control process exited with error code.",
				"× "+unit+"\nMain process exited, code=exited, status=1/FAILURE")
		case strings.Contains(text, "Type=oneshot") && !remains(text):
			return nil // it has done its work, and ended
		}
		return WriteFile(ctx, h, active, "", host.Meta{})
	case host.Stop:
		return removeAll(h, active)
	case host.Reload:
		switch {
		case !Exists(h, active):
			return failed("the unit is not active", "")
		case !strings.Contains(text, "ExecReload="), strings.Contains(text, "ExecReload=/bin/false"):
			return failed("Job for "+unit+" failed.", "")
		}
		return nil
	}
	return fmt.Errorf("%s: %w", verb, host.ErrUnsupported)
}
