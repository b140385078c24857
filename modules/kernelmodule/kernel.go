package kernelmodule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/modules/internal/settings"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// canonical is the one of a module's names that the kernel shows.
func canonical(name string) string { return strings.ReplaceAll(name, "-", "_") }

// atBoot are the files of modules-load.d(5), one name a line.
func atBoot() settings.Kind {
	return settings.Kind{
		Dir: "/etc/modules-load.d", First: "/etc/modules",
		Parse: func(line string) (key, value string) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
				return "", ""
			}
			// In /etc/modules options may stand behind the name.
			name, options, _ := strings.Cut(line, " ")
			return canonical(name), options
		},
	}
}

// modprobe are the files of modprobe.d(5). Of its commands only these two count:
// "options NAME …" and "blacklist NAME".
func modprobe() settings.Kind {
	return settings.Kind{
		Dir: "/etc/modprobe.d",
		Parse: func(line string) (key, value string) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "options" && words[0] != "blacklist" {
				return "", ""
			}
			return words[0] + " " + canonical(words[1]), strings.Join(words[2:], " ")
		},
	}
}

// place is where the running kernel has a module.
type place int

const (
	unknown   place = iota // no kernel is to be seen
	notLoaded              // the kernel runs without it
	isLoaded
	builtin
)

const procModules = "/proc/modules"

// inKernel asks the running kernel.
func inKernel(h host.Reader, name string) (place, error) {
	release, err := host.ReadText(h, "/proc/sys/kernel/osrelease")
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, err
	}
	text, err := host.ReadText(h, procModules)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := h.Lstat("/sys/module/" + name); err == nil {
			return builtin, nil // it can be nothing else
		}
	} else if err != nil {
		return unknown, err
	}
	for line := range strings.Lines(text) {
		if first, _, _ := strings.Cut(line, " "); first == name {
			return isLoaded, nil
		}
	}
	text, err = host.ReadText(h, "/lib/modules/"+strings.TrimSpace(release)+"/modules.builtin")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unknown, err
	}
	for line := range strings.Lines(text) {
		if canonical(strings.TrimSuffix(path.Base(strings.TrimSpace(line)), ".ko")) == name {
			return builtin, nil
		}
	}
	return notLoaded, nil
}

// foresee does to the files of a Shadow what modprobe would to the kernel. What else comes with a module, or
// goes with it, are devices and parameters of the kernel.
func foresee(ctx context.Context, h host.Host, have, want *KernelModule) error {
	target := KernelModule{Loaded: new(false), Boot: new(false), Options: new(""), Blacklisted: new(false)}
	if want != nil {
		target = *want
	} else {
		target.Name = have.Name
	}
	where, err := inKernel(h, target.Name)
	if err != nil {
		return err
	}
	var along *states.Effects
	switch {
	case target.Loaded == nil:
	case *target.Loaded && where == notLoaded:
		err, along = foreseeLoad(ctx, h, target.Name), &states.Effects{Adds: []string{"/dev", "/sys"}}
	case !*target.Loaded && where == isLoaded:
		err, along = foreseeUnload(ctx, h, target.Name), &states.Effects{Paths: []string{"/dev", "/sys"}, Settings: []string{"*"}}
	case !*target.Loaded && where == builtin:
		err = fmt.Errorf("%s is built into the kernel, and cannot be unloaded", target.Name)
	}
	if err != nil {
		return err
	}
	if err := writeFiles(ctx, h, target); err != nil || along == nil {
		return err
	}
	return &states.EffectsError{Effects: *along, Err: host.ErrUnforeseeable}
}

// loads is an error where the kernel was made without a way to load modules.
func loads(h host.Reader) error {
	if _, err := h.Lstat(procModules); errors.Is(err, fs.ErrNotExist) {
		return errors.New("this kernel loads no modules (/proc/modules is not there)")
	}
	return nil
}

func foreseeLoad(ctx context.Context, h host.Host, name string) error {
	if err := loads(h); err != nil {
		return err
	}
	_, err := process.Query(ctx, h, host.Query{
		Command: host.Command{Argv: []string{"modprobe", "--dry-run", "--", name}, Env: []string{"LC_ALL=C.UTF-8"}},
		Reads:   []string{"/lib/modules"},
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this host has no modprobe, which the package kmod brings: %w", err)
	}
	if exit, failed := errors.AsType[*process.ExitError](err); failed {
		return fmt.Errorf("%w: %w", check.NotOnHost("module of the kernel", name), exit)
	}
	if err != nil {
		return err
	}
	text, err := host.ReadText(h, procModules)
	if err != nil {
		return err
	}
	return h.WriteFile(ctx, procModules, host.Text(text+name+" 16384 0 - Live 0x0000000000000000\n"), host.Meta{})
}

func foreseeUnload(ctx context.Context, h host.Host, name string) error {
	text, err := host.ReadText(h, procModules)
	if err != nil {
		return err
	}
	var left strings.Builder
	for line := range strings.Lines(text) {
		first, rest, _ := strings.Cut(line, " ")
		if first != name {
			left.WriteString(line)
			continue
		}
		if f := strings.Fields(rest); len(f) > 2 && f[1] != "0" {
			return fmt.Errorf("%s is in use (%s), and cannot be unloaded", name, strings.Trim(f[2], ",-"))
		}
	}
	return h.WriteFile(ctx, procModules, host.Text(left.String()), host.Meta{})
}
