package host

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// scripts is an init system whose services are scripts in /etc/init.d: OpenRC or
// SysV. They are started by programs; how they are enabled stands in links.
type scripts struct {
	h             Host
	system        string
	stoppedReason error // why nothing can be started; nil: it can
}

func newScripts(system string, h Host) *scripts { return &scripts{h: h, system: system} }

const scriptDir = "/etc/init.d"

// System is Init.System.
func (s *scripts) System() string { return s.system }

// Refresh is Init.Refresh: scripts are read when they are run.
func (s *scripts) Refresh(context.Context) error { return nil }

// Services is Init.Services.
func (s *scripts) Services(ctx context.Context) ([]Service, error) {
	entries, err := s.h.ReadDir(scriptDir)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Service
	for _, e := range entries {
		if e.Kind == Directory || !scriptName().MatchString(e.Name) || slices.Contains([]string{"README", "skeleton", "functions", "functions.sh"}, e.Name) {
			continue
		}
		one, err := s.Service(ctx, e.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

var (
	// scriptName leaves out what cannot be told from an option or a path.
	scriptName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`) })
	// openrcReload and sysvReload tell scripts that can reload.
	openrcReload = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*extra(?:_started)?_commands=.*\breload\b`)
	})
	sysvReload = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*(?:[\w"|-]+\|)*"?reload"?(?:\|[\w"|-]+)*\)`)
	})
)

// Service is Init.Service.
func (s *scripts) Service(ctx context.Context, name string) (Service, error) {
	out := Service{Name: name, Load: "loaded", Enablement: "disabled"}
	if !scriptName().MatchString(name) {
		return out, &notKnown{name}
	}
	f, err := s.h.Open(path.Join(scriptDir, name))
	if isMissing(err) {
		return out, &notKnown{name}
	}
	if err != nil {
		return out, err
	}
	text, err := readAtMost(f, maxUnit)
	if err = errors.Join(err, f.Close()); err != nil {
		return out, err
	}
	reload, enabled := sysvReload(), enabledSysV
	if s.system == "openrc" {
		reload, enabled = openrcReload(), enabledOpenRC
	}
	out.CanReload = reload.Match(text)
	on, err := enabled(s.h, name)
	if err != nil {
		return out, err
	}
	if on {
		out.Enablement = "enabled"
	}
	if s.stoppedReason != nil {
		return out, nil
	}
	r, err := s.h.Query(ctx, Query{Command: Command{Argv: s.argv(name, "status")}, Reads: []string{path.Join(scriptDir, name)}})
	if err != nil {
		return out, err
	}
	out.Active, out.Sub, out.Result = statusOf(r.ExitCode)
	return out, nil
}

// statusOf reads the exit status of a script's status, as LSB and OpenRC have it.
func statusOf(code int) (active, sub, result string) {
	switch code {
	case 0:
		return "active", "running", "success"
	case 8:
		return "activating", "starting", "success"
	case 32, 1, 2: // OpenRC: crashed; LSB: dead, though its PID or lock file is there
		return "failed", "dead", "crashed"
	}
	return "inactive", "dead", "success"
}

// argv is how a script is told something.
func (s *scripts) argv(name, verb string) []string {
	if s.system == "openrc" {
		return []string{"rc-service", "--nocolor", name, verb}
	}
	return []string{"service", name, verb}
}

// Do is Init.Do.
func (s *scripts) Do(ctx context.Context, verb Verb, name string) error {
	if _, err := s.Service(ctx, name); err != nil {
		return err
	}
	argvs := [][]string{s.argv(name, string(verb))}
	switch verb {
	case Mask, Unmask:
		return cannotMask(s.system)
	case Enable, Disable:
		levels, err := levelsOf(s.h, name)
		if err != nil {
			return err
		}
		argvs = s.enableCommands(verb == Enable, name, levels)
	default:
		if s.stoppedReason != nil {
			return s.stoppedReason
		}
	}
	var said []byte
	for _, argv := range argvs {
		r, err := s.h.Run(ctx, Command{Argv: argv})
		if err != nil {
			return err
		}
		said = append(append(said, r.Stdout...), r.Stderr...)
		if r.ExitCode != 0 {
			return &ServiceError{name, fmt.Errorf("%s ended with exit status %d", strings.Join(argv, " "), r.ExitCode), said}
		}
	}
	if verb != Start && verb != Restart {
		return nil
	}
	now, err := s.Service(ctx, name)
	if err == nil && !now.Runs() {
		err = &ServiceError{name, fmt.Errorf("it does not run (%s, %s)", now.Active, now.Result), said}
	}
	return err
}

// enableCommands are the programs that let a service start at boot, or no more. A script
// without links is enabled by its defaults; links that stop it tell the package that
// it comes from to leave it so.
func (s *scripts) enableCommands(on bool, name string, levels []string) [][]string {
	switch {
	case s.system == "openrc" && on:
		return [][]string{{"rc-update", "--nocolor", "add", name, "default"}}
	case s.system == "openrc" && len(levels) == 0:
		return nil
	case s.system == "openrc":
		return [][]string{append([]string{"rc-update", "--nocolor", "del", name}, levels...)}
	case !exists(s.h, "/usr/sbin/update-rc.d") && exists(s.h, "/sbin/chkconfig"):
		return [][]string{{"chkconfig", name, map[bool]string{true: "on", false: "off"}[on]}}
	case on:
		return [][]string{{"update-rc.d", name, "defaults"}, {"update-rc.d", name, "enable"}}
	}
	return [][]string{{"update-rc.d", name, "defaults"}, {"update-rc.d", name, "disable"}}
}

// enabledOpenRC reports whether a service is in a runlevel.
func enabledOpenRC(h Reader, name string) (bool, error) {
	levels, err := levelsOf(h, name)
	return len(levels) > 0, err
}

// levelsOf lists the runlevels of OpenRC that a service is in.
func levelsOf(h Reader, name string) (in []string, err error) {
	levels, err := h.ReadDir("/etc/runlevels")
	if err != nil && !isMissing(err) {
		return nil, err
	}
	for _, level := range levels {
		_, err := h.Lstat(path.Join("/etc/runlevels", level.Name, name))
		if err == nil {
			in = append(in, level.Name)
		} else if !isMissing(err) {
			return nil, err
		}
	}
	return in, nil
}

// enabledSysV reports whether a script has a link that starts it, in any runlevel
// that a machine works in.
func enabledSysV(h Reader, name string) (bool, error) {
	for _, level := range []string{"S", "2", "3", "4", "5"} {
		for _, dir := range []string{"/etc/rc" + level + ".d", "/etc/rc.d/rc" + level + ".d"} {
			entries, err := h.ReadDir(dir)
			if err != nil && !isMissing(err) {
				return false, err
			}
			for _, e := range entries {
				if len(e.Name) > 3 && e.Name[0] == 'S' && e.Name[3:] == name {
					return true, nil
				}
			}
		}
	}
	return false, nil
}
