package fake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

const (
	unitDir   = "/lib/systemd/system/"
	adminDir  = "/etc/systemd/system/"
	wantsDir  = adminDir + "multi-user.target.wants/"
	activeDir = "/run/fake/active/"
	// SystemdLog is a file with a line for each start, stop and reload.
	SystemdLog = "/run/fake/log"
)

// Systemd adds systemctl, and what it needs to run. A unit is its file: it
// fails to start where that says ExecStart=/bin/false, and can reload where it
// says ExecReload.
func Systemd(t testing.TB, h *host.Memory) {
	t.Helper()
	for _, dir := range []string{"/run/systemd/system", "/run/fake/active", "/lib/systemd/system", "/etc/systemd/system/multi-user.target.wants"} {
		Dir(t, h, dir, 0o755)
	}
	handle(h, "systemctl", "--root= --no-pager --property= --full --lines=", systemctl)
}

// Unit adds a unit file.
func Unit(t testing.TB, h host.Host, name, text string) {
	t.Helper()
	Put(t, h, unitDir+name, text, 0o644)
}

// Start makes a unit run.
func Start(t testing.TB, h host.Host, name string) {
	t.Helper()
	Put(t, h, activeDir+name, "", 0o644)
}

func systemctl(p *program) (host.Result, error) {
	if len(p.args) == 1 && p.args[0] == "daemon-reload" {
		return p.done()
	}
	if len(p.args) != 2 {
		return p.fail(1, "systemctl: wrong arguments %q", p.args)
	}
	verb, unit := p.args[0], p.args[1]
	text := Text(p.h, unitDir+unit)
	known := Exists(p.h, unitDir+unit)
	_, offline := p.flags["--root"]
	switch verb {
	case "show":
		return p.show(unit, text, known)
	case "is-enabled":
		return p.isEnabled(unit, text, known)
	case "status":
		fmt.Fprintf(&p.out, "× %s\nMain process exited, code=exited, status=1/FAILURE\n", unit)
		return p.fail(3, "")
	case "enable", "disable", "mask", "unmask":
		return p.links(verb, unit)
	}
	if offline {
		return p.fail(1, "Running in chroot, ignoring request")
	}
	if !known || p.masked(unit) {
		return p.fail(5, "Failed to %s %s: Unit not found or masked.", verb, unit)
	}
	if err := p.write(SystemdLog, Text(p.h, SystemdLog)+verb+" "+unit+"\n"); err != nil {
		return host.Result{}, err
	}
	return p.process(verb, unit, text)
}

func (p *program) process(verb, unit, text string) (host.Result, error) {
	running := Exists(p.h, activeDir+unit)
	switch verb {
	case "start", "restart":
		if strings.Contains(text, "ExecStart=/bin/false") {
			if strings.Contains(text, "Type=simple") {
				return p.done() // systemd does not wait to see it end
			}
			return p.fail(1, "Job for %s failed because the control process exited with error code.", unit)
		}
		if err := p.write(activeDir+unit, ""); err != nil {
			return host.Result{}, err
		}
	case "stop":
		if running {
			if err := p.h.Remove(activeDir + unit); err != nil {
				return host.Result{}, err
			}
		}
	case "reload":
		if !strings.Contains(text, "ExecReload=") || strings.Contains(text, "ExecReload=/bin/false") {
			return p.fail(1, "Job for %s failed.", unit)
		}
	}
	return p.done()
}

func (p *program) masked(unit string) bool { return Exists(p.h, adminDir+unit) }

func (p *program) show(unit, text string, known bool) (host.Result, error) {
	load, active, kind, reload := "loaded", "inactive", "notify", "no"
	switch {
	case p.masked(unit):
		load = "masked"
	case !known:
		load = "not-found"
	}
	if Exists(p.h, activeDir+unit) {
		active = "active"
	}
	if strings.Contains(text, "Type=simple") {
		kind = "simple"
	}
	if strings.Contains(text, "ExecReload=") {
		reload = "yes"
	}
	fmt.Fprintf(&p.out, "Type=%s\nLoadState=%s\nActiveState=%s\nSubState=dead\nResult=exit-code\nCanReload=%s\nNeedDaemonReload=no\n",
		kind, load, active, reload)
	return p.done()
}

func (p *program) isEnabled(unit, text string, known bool) (host.Result, error) {
	switch {
	case p.masked(unit):
		p.out.WriteString("masked\n")
		return p.fail(1, "")
	case !known:
		return p.fail(1, "Failed to get unit file state for %s: No such file or directory", unit)
	case Exists(p.h, wantsDir+unit):
		p.out.WriteString("enabled\n")
		return p.done()
	case !strings.Contains(text, "[Install]"):
		p.out.WriteString("static\n")
		return p.done()
	}
	p.out.WriteString("disabled\n")
	return p.fail(1, "")
}

func (p *program) links(verb, unit string) (host.Result, error) {
	var err error
	switch verb {
	case "enable":
		err = p.h.Symlink(unitDir+unit, wantsDir+unit, host.Meta{})
	case "disable":
		err = p.h.Remove(wantsDir + unit)
	case "mask":
		err = p.h.Symlink("/dev/null", adminDir+unit, host.Meta{})
	case "unmask":
		err = p.h.Remove(adminDir + unit)
	}
	if err != nil {
		return p.fail(1, "%v", err)
	}
	return p.done()
}
