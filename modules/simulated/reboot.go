package simulated

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// reboot starts the machine anew, at once: the units that are enabled run then,
// and no others, and nothing asks for a start any more.
func (p *program) reboot() (host.Result, error) {
	var n int
	if _, err := fmt.Sscanf(Text(p.h, bootID), "simulated-%d", &n); err != nil {
		return p.fail(1, "Failed to reboot: %v", err)
	}
	line := "reboot"
	if message := p.flags["--message"]; message != "" {
		line += " (" + message + ")"
	}
	if err := p.write(SystemdLog, Text(p.h, SystemdLog)+line+"\n"); err != nil {
		return host.Result{}, err
	}
	if err := p.startEnabled(); err != nil {
		return host.Result{}, err
	}
	for _, name := range []string{"/run/reboot-required", "/run/reboot-required.pkgs"} {
		if err := removeAll(p.h, name); err != nil {
			return host.Result{}, err
		}
	}
	if err := p.write(bootID, fmt.Sprintf("simulated-%d\n", n+1)); err != nil {
		return host.Result{}, err
	}
	return p.result()
}

// startEnabled makes exactly the enabled units run.
func (p *program) startEnabled() error {
	running, err := p.h.ReadDir(strings.TrimSuffix(activeDir, "/"))
	if err != nil {
		return err
	}
	for _, unit := range running {
		if err := p.h.Remove(activeDir + unit.Name); err != nil {
			return err
		}
	}
	targets, err := p.h.ReadDir(strings.TrimSuffix(adminDir, "/"))
	if err != nil {
		return err
	}
	var enabled []string
	for _, target := range targets {
		if !strings.HasSuffix(target.Name, ".wants") {
			continue
		}
		units, err := p.h.ReadDir(adminDir + target.Name)
		if err != nil {
			return err
		}
		for _, unit := range units {
			enabled = append(enabled, unit.Name)
		}
	}
	for _, unit := range slices.Compact(slices.Sorted(slices.Values(enabled))) {
		text, known := unitText(p.h, unit)
		if !known || isMasked(p.h, unit) {
			continue
		}
		if err := perform(p.ctx, p.h, host.Start, activeDir+unit, unit, text); err != nil {
			return err
		}
	}
	return nil
}
