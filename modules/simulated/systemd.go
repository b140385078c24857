package simulated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
)

const (
	unitDir   = "/usr/lib/systemd/system/"
	adminDir  = "/etc/systemd/system/"
	activeDir = "/run/simulated/active/"
	// SystemdLog is a file with a line for each start, stop and reload.
	SystemdLog = "/run/simulated/systemd.log"
	// bootID is where Linux names the time since it was started.
	bootID = "/proc/sys/kernel/random/boot_id"
)

// AddSystemd adds systemctl, and what it needs to run. A unit is its file: it
// fails to start where that says ExecStart=/bin/false, and can reload where it
// says ExecReload.
func AddSystemd(ctx context.Context, h *host.Memory) error {
	b := &builder{h: h}
	for _, dir := range []string{"/run/systemd/system", activeDir, unitDir, adminDir + "multi-user.target.wants/"} {
		b.must(MakeDirectory(h, strings.TrimSuffix(dir, "/"), nil))
	}
	s := &suite{h: h}
	h.SetInit(func(_ context.Context, user string) (host.Init, error) { return initOf(h, user) })
	b.must(WriteFile(ctx, h, bootID, "simulated-1\n", host.Meta{Mode: new(fs.FileMode(0o444))}))
	s.handle("systemctl", "--root= --no-pager --property= --full --lines= --quiet -q --now --system --message=", 1, systemctl)
	return b.err
}

// AddUnit adds a unit file, as a package does.
func AddUnit(ctx context.Context, h host.Host, name, text string) error {
	return WriteFile(ctx, h, unitDir+name, text, host.Meta{})
}

// StartUnit makes a unit run.
func StartUnit(ctx context.Context, h host.Host, name string) error {
	return WriteFile(ctx, h, activeDir+name, "", host.Meta{})
}

// unitName gives a unit's whole name: "nginx" is "nginx.service".
func unitName(name string) string {
	if slices.Contains([]string{".service", ".socket", ".target", ".timer", ".mount", ".path"}, path.Ext(name)) {
		return name
	}
	return name + ".service"
}

// addService adds a unit in the described condition.
func (b *builder) addService(name string, s Service) error {
	switch {
	case name == "" || strings.ContainsAny(name, "/\n\x00 "):
		return errors.New("this is no name of a unit")
	case !Exists(b.h, "/run/systemd/system"):
		return errors.New("systemd does not run on this machine")
	case s.Running && s.Masked:
		return errors.New("it cannot run and be masked")
	}
	unit, text := unitName(name), s.Unit
	p := &program{ctx: b.ctx, h: b.h}
	// What a package has brought already is as it is described.
	err := errors.Join(removeAll(b.h, activeDir+unit), p.unlink(unit))
	if text == "" {
		text = cmp.Or(Text(b.h, unitDir+unit), plainUnit(unit))
	}
	if err == nil {
		err = AddUnit(b.ctx, b.h, unit, text)
	}
	if s.Enabled && err == nil {
		err = p.link(unit)
	}
	if s.Masked && err == nil {
		err = Link(b.h, "/dev/null", adminDir+unit)
	}
	if s.Running && err == nil {
		err = StartUnit(b.ctx, b.h, unit)
	}
	return err
}

// plainUnit is the text of a unit of which nothing is known.
func plainUnit(unit string) string {
	name := strings.TrimSuffix(unit, path.Ext(unit))
	if path.Ext(unit) != ".service" {
		return "[Unit]\nDescription=" + name + "\n\n[Install]\nWantedBy=multi-user.target\n"
	}
	return "[Unit]\nDescription=" + name + "\n\n[Service]\nExecStart=/usr/sbin/" + name +
		"\nExecReload=/bin/kill -HUP $MAINPID\n\n[Install]\nWantedBy=multi-user.target\n"
}

// ServiceOf gives the condition of a unit, and whether there is one of this
// name.
func ServiceOf(h host.Reader, name string) (Service, bool) {
	unit := unitName(name)
	text, known := unitText(h, unit)
	s := Service{Running: Exists(h, activeDir+unit), Enabled: Exists(h, wants(unit, text)), Masked: isMasked(h, unit), Unit: text}
	return s, known || s.Masked
}

// unitText gives the text of a unit's file: the administrator's, or the
// package's; of an instance without one, its template's.
func unitText(h host.Reader, unit string) (string, bool) {
	names := []string{unit}
	if prefix, rest, ok := strings.Cut(unit, "@"); ok && rest != path.Ext(unit) {
		names = append(names, prefix+"@"+path.Ext(unit))
	}
	for _, name := range names {
		for _, dir := range []string{adminDir, "/run/systemd/system/", unitDir} {
			if Exists(h, dir+name) && !(dir == adminDir && isMasked(h, name)) {
				return Text(h, dir+name), true
			}
		}
	}
	return "", false
}

func isMasked(h host.Reader, unit string) bool {
	target, err := h.ReadLink(adminDir + unit)
	return err == nil && target == "/dev/null"
}

// wants is the link that enables a unit.
func wants(unit, text string) string {
	target := "multi-user.target"
	if m := wantedBy().FindStringSubmatch(text); m != nil {
		target = m[1]
	}
	return adminDir + target + ".wants/" + unit
}

var wantedBy = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:Wanted|Required)By=(\S+)`) })

func systemctl(p *program) (host.Result, error) {
	if len(p.args) == 1 && p.args[0] == "daemon-reload" {
		return p.result()
	}
	if len(p.args) == 1 && p.args[0] == "reboot" {
		return p.reboot()
	}
	if len(p.args) != 2 {
		return p.fail(1, "systemctl: wrong arguments %q", p.args)
	}
	verb, unit := p.args[0], unitName(p.args[1])
	_, known := unitText(p.h, unit)
	_, offline := p.flags["--root"]
	switch verb {
	case "is-enabled":
		return p.isEnabled(unit)
	case "status":
		fmt.Fprintf(&p.out, "× %s\nMain process exited, code=exited, status=1/FAILURE\n", unit)
		return p.fail(3, "")
	case "is-active":
		return p.isActive(unit)
	case "enable", "disable", "mask", "unmask":
		return p.links(verb, unit)
	case "start", "stop", "restart", "reload":
	default:
		return p.fail(1, "Unknown command verb %s.", verb)
	}
	if offline {
		return p.fail(1, "Running in chroot, ignoring request")
	}
	if !known || isMasked(p.h, unit) {
		return p.fail(5, "Failed to %s %s: Unit not found or masked.", verb, unit)
	}
	return p.process(verb, unit)
}

// process lets a unit do something, by the init system of the machine.
func (p *program) process(verb, unit string) (host.Result, error) {
	i, err := initOf(p.h, "")
	if err == nil {
		err = i.Do(p.ctx, host.Verb(verb), unit)
	}
	if failure, ok := errors.AsType[*host.ServiceError](err); ok {
		return p.fail(1, "%v", failure.Err)
	}
	if err != nil {
		return p.fail(1, "%v", err)
	}
	return p.result()
}

func (p *program) isEnabled(unit string) (host.Result, error) {
	files, err := host.UnitFiles(p.h, "")
	if err != nil {
		return host.Result{}, err
	}
	status, err := files.Service(p.ctx, unit)
	if err != nil {
		return p.fail(1, "Failed to get unit file state for %s: No such file or directory", unit)
	}
	p.out.WriteString(status.Enablement + "\n")
	if status.Enablement == "enabled" || status.Enablement == "static" {
		return p.result()
	}
	return p.fail(1, "")
}

func (p *program) isActive(unit string) (host.Result, error) {
	if Exists(p.h, activeDir+unit) {
		p.out.WriteString("active\n")
		return p.result()
	}
	p.out.WriteString("inactive\n")
	return p.fail(3, "")
}

func (p *program) links(verb, unit string) (host.Result, error) {
	files, err := host.UnitFiles(p.h, "")
	if err == nil {
		err = files.Do(p.ctx, host.Verb(verb), unit)
	}
	if err != nil {
		return p.fail(1, "Failed to %s unit: %v", verb, err)
	}
	if _, now := p.flags["--now"]; !now {
		return p.result()
	}
	then := map[string]string{"enable": "start"}[verb]
	if then == "" {
		then = "stop"
	}
	return p.process(then, unit)
}

// link enables a unit.
func (p *program) link(unit string) error {
	text, _ := unitText(p.h, unit)
	return Link(p.h, unitDir+unit, wants(unit, text))
}

// unlink disables a unit, if it is enabled.
func (p *program) unlink(unit string) error {
	text, _ := unitText(p.h, unit)
	return removeAll(p.h, wants(unit, text))
}
