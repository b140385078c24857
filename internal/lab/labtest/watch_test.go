//go:build lab

package labtest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

// inventory is a script that lists what is on a host, a line for each thing: its kind, its name
// and, after a tab, how it is. Of a directory its times do not count, for they tell of what is
// in it.
const inventory = `find / /run /tmp /dev/shm -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o -printf 'path %p\t%y %m %U %G %l\n' > /root/.things
find / /run /tmp -xdev -type f ! -path '/proc/*' ! -path /root/.things -printf 'content %p\t%s %T@ %i\n' >> /root/.things
getent passwd | sed 's/^\([^:]*\):/account \1\t/' >> /root/.things
getent group | sed 's/^\([^:]*\):/account \1 (group)\t/' >> /root/.things
dpkg-query -W -f 'package ${Package}\t${Status} ${Version}\n' >> /root/.things
systemctl list-units --all --plain --no-legend | awk '{print "service " $1 "\t" $3}' >> /root/.things
systemctl list-unit-files --plain --no-legend | awk '{print "service " $1 " (at boot)\t" $2}' >> /root/.things
cd /proc/sys && grep -rs . vm net/core net/ipv4 kernel/hostname kernel/domainname kernel/sysrq kernel/panic | sed 's/^\([^:]*\):/setting \1\t/' >> /root/.things
cat /root/.things; rm /root/.things`

// things gives what is on the host now, and how it is.
func (m *machine) things() map[string]string {
	m.Helper()
	out := map[string]string{}
	for line := range strings.Lines(m.shell(inventory)) {
		name, how, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		out[name] += how + "\n"
	}
	return out
}

// watchAct lets the act of the site's one part of a type go ahead, and tells what it has touched that
// the module has not declared.
func (m *machine) watchAct(typ, site string, act func()) {
	m.Helper()
	module := modules.Standard().Lookup(typ)
	if module.Effects == nil { // a plan sees what it does, or it may touch anything
		act()
		return
	}
	part := m.declared(typ, site)
	want, err := module.Decode(part.Values, nil)
	if err != nil {
		m.Fatal(err)
	}
	e := module.Effects(want, part.Options.Ensure == states.Absent)
	if e.Anything {
		act()
		return
	}
	before := m.things()
	act()
	for _, thing := range undeclared(module, part.Values, &e, before, m.things()) {
		m.Errorf("%s\nhas touched what its module does not declare: %s; declared are %+v", site, thing, e)
	}
}

// declared gives the last part of a type that a site declares.
func (m *machine) declared(typ, text string) (part states.PartDeclaration) {
	m.Helper()
	site, diags := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(text)}}, lang.Options{Registry: modules.Standard()})
	if diags.HasErrors() {
		m.Fatal(diags)
	}
	d, diags := site.Evaluate(m.Context(), lang.Target{Host: "host"})
	if diags.HasErrors() {
		m.Fatal(diags)
	}
	for _, decl := range d.List {
		for _, p := range decl.Parts {
			if p.Type == typ {
				part = p
			}
		}
	}
	return part
}

// undeclared lists what differs, and is neither the resource itself nor among the effects.
func undeclared(module *states.Module, values map[string]any, e *states.Effects, before, after map[string]string) (out []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	own := ownOf(module, values)
	for _, thing := range slices.Sorted(maps.Keys(all)) {
		if before[thing] == after[thing] {
			continue
		}
		kind, name, _ := strings.Cut(thing, " ")
		name, _, _ = strings.Cut(name, " (")
		if !isNoise(kind, name) && !mayTouch(&own, kind, name, before[thing] == "") && !mayTouch(e, kind, name, before[thing] == "") {
			out = append(out, fmt.Sprintf("%s (%q → %q)", thing, before[thing], after[thing]))
		}
	}
	return out
}

// ownOf is what a plan sees of a module's parts: the resource itself, in the records of the host.
func ownOf(module *states.Module, values map[string]any) (e states.Effects) {
	for _, p := range module.Paths(values) {
		e.Paths = append(e.Paths, states.Literal(p))
	}
	key := module.Key(values)
	switch module.Name {
	case "user", "group":
		e.Paths = append(e.Paths, "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/home/"+key)
		if home, ok := values["home"].(string); ok {
			e.Paths = append(e.Paths, home)
		}
		e.Accounts = []string{"*"} // in whose groups it is; each lifecycle looks at these itself
	case "package":
		e.Paths = append(e.Paths, "/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt")
	case "service", "systemd_unit", "restart":
		e.Paths = append(e.Paths, "/etc/systemd/system")
		e.Services = []string{key, key + ".service"}
	case "hostname":
		e.Paths = append(e.Paths, "/etc/machine-info")
	}
	return e
}

// isNoise reports whether something changes on a host by itself, or as tenet runs: its own records,
// those of the journal and of logins, and what systemd keeps of the units that run.
func isNoise(kind, name string) bool {
	switch kind {
	case "path", "content":
		return slices.ContainsFunc([]string{
			"/var/lib/tenet", "/run/tenet", "/root", "/root/.things", "/var/log/journal", "/run/log/journal", "/run/systemd/journal", "/run/systemd/units",
			"/run/systemd/notify", "/run/systemd/sessions", "/run/systemd/users", "/var/log/wtmp", "/run/utmp", "/var/cache/ldconfig",
			"/var/lib/systemd/timers", "/var/lib/logrotate", "/var/cache/man", // what timers do at their times
		}, func(p string) bool { return p == name || strings.HasPrefix(name, p+"/") })
	case "service":
		return strings.HasPrefix(name, "systemd-") || strings.HasPrefix(name, "run-") || strings.HasPrefix(name, "session-") ||
			slices.Contains([]string{".scope", ".slice", ".device", ".mount", ".swap"}, path.Ext(name))
	}
	return false
}

// mayTouch reports whether effects cover a thing.
func mayTouch(e *states.Effects, kind, name string, isNew bool) bool {
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, name)
			short, _ := path.Match(p, strings.TrimSuffix(name, ".service"))
			return err == nil && (ok || short)
		})
	}
	covers := func(pattern string) bool {
		want, have := strings.Split(pattern, "/"), strings.Split(name, "/")
		if len(have) < len(want) {
			return false
		}
		ok, err := path.Match(pattern, strings.Join(have[:len(want)], "/"))
		return ok && err == nil
	}
	switch kind {
	case "path", "content":
		return slices.ContainsFunc(e.Paths, covers) || isNew && slices.ContainsFunc(e.Adds, covers)
	case "account":
		return matches(e.Accounts)
	case "package":
		return matches(e.Packages)
	case "service":
		return matches(e.Services)
	}
	name = strings.ReplaceAll(name, "/", ".")
	return matches(e.Settings)
}

// What watches the acts of others sees what they touch.
func TestWatchedHost(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("groupadd project")
	before := m.things()
	m.shell("touch /etc/new; chmod 0600 /etc/hostname; useradd -M alice; echo changed >> /etc/issue; rm /etc/motd; sysctl -qw net.ipv4.ip_forward=1; systemctl disable -q --now cron")
	command := modules.Standard().Lookup("command")
	touched := undeclared(command, map[string]any{"argv": []any{"true"}}, &states.Effects{Paths: []string{"/etc/ne*"}}, before, m.things())
	for _, want := range []string{"path /etc/hostname", "account alice", "content /etc/issue", "path /etc/motd", "setting net/ipv4/ip_forward", "service cron.service", "content /etc/passwd"} {
		if !slices.ContainsFunc(touched, func(x string) bool { return strings.HasPrefix(x, want+" (") }) {
			t.Errorf("%s is missing in %q", want, touched)
		}
	}
	if slices.ContainsFunc(touched, func(x string) bool { return strings.Contains(x, "/etc/new ") }) {
		t.Errorf("what is declared is told: %q", touched)
	}
}
