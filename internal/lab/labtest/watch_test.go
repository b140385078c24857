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
// in it. Names of two lines are left out.
const inventory = `find / /run /tmp /dev/shm -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o ! -name '*
*' -printf 'path %p\t%y %m %U %G %l\n' > /root/.things
find / /run /tmp /dev/shm -xdev -type f ! -path '/proc/*' ! -name '*
*' ! -path /root/.things -printf 'content %p\t%s %T@\n' >> /root/.things
getent passwd | sed 's/^\([^:]*\):/account \1\t/' >> /root/.things
getent group | sed 's/^\([^:]*\):/account \1 (group)\t/' >> /root/.things
dpkg-query -W -f 'package ${Package}\t${Status} ${Version}\n' >> /root/.things
systemctl list-units --plain --no-legend | awk '{print "service " $1 "\t" $3}' >> /root/.things
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

// watchActs lets an act go ahead, and tells what it has touched that the modules of the site's parts of
// some types do not declare. Where they may touch anything, nothing is looked at.
func (m *machine) watchActs(site string, act func(), types ...string) {
	m.Helper()
	parts := m.declared(site, types)
	var all states.Effects
	for _, p := range parts {
		all.Add(p.effects)
	}
	if all.Anything {
		act()
		return
	}
	m.calm()
	before := m.things()
	act()
	for _, thing := range undeclared(parts, before, m.things()) {
		m.Errorf("%s\nhas touched what its module does not declare: %s; declared are %+v", site, thing, all)
	}
}

// calm ends what a host of Debian does at certain times, and waits for what it has begun.
func (m *machine) calm() {
	m.Helper()
	m.shell(`cd /usr/lib/systemd/system; for t in *.timer; do if systemctl is-active -q "$t"; then systemctl stop "$t"; fi; done`)
	m.until(`[ "$(systemctl list-jobs --no-legend | wc -l)" = 0 ] && ! systemctl list-units --plain --no-legend --state=activating,deactivating | grep .`)
}

// watched is a part whose act is watched.
type watched struct {
	module  *states.Module
	values  map[string]any
	effects states.Effects // those that are declared
}

// declared gives the parts of these types that a site declares.
func (m *machine) declared(text string, types []string) (out []watched) {
	m.Helper()
	files := fstest.MapFS{"site.hcl": {Data: []byte(text)}}
	for name := range strings.Lines(m.shell("cd /root/site && { test ! -e files || find files -type f; }")) {
		files[strings.TrimSpace(name)] = &fstest.MapFile{}
	}
	site, diags := lang.Load(files, lang.Options{Registry: modules.Standard()})
	if diags.HasErrors() {
		m.Fatal(diags)
	}
	d, diags := site.Evaluate(m.Context(), lang.Target{Host: "host"})
	if diags.HasErrors() {
		m.Fatal(diags)
	}
	for _, decl := range d.List {
		for _, p := range decl.Parts {
			if !slices.Contains(types, p.Type) {
				continue
			}
			w := watched{module: modules.Standard().Lookup(p.Type), values: p.Values}
			want, err := w.module.Decode(p.Values, nil)
			switch {
			case err != nil:
				m.Fatal(err)
			case w.module.Effects != nil:
				w.effects = w.module.Effects(want, p.Options.Ensure == states.Absent)
			}
			out = append(out, w)
		}
	}
	return out
}

// undeclared lists what differs, and is neither what the parts are nor among their effects.
func undeclared(parts []watched, before, after map[string]string) (out []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, thing := range slices.Sorted(maps.Keys(all)) {
		if before[thing] == after[thing] {
			continue
		}
		kind, name, _ := strings.Cut(thing, " ")
		name, what, _ := strings.Cut(name, " (")
		if isNoise(kind, name) || slices.ContainsFunc(parts, func(w watched) bool {
			return w.isOwn(kind, name, before[thing] == "") || mayTouch(&w.effects, kind, name, before[thing] == "") ||
				what == "group)" && w.isMembership(before[thing], after[thing])
		}) {
			continue
		}
		out = append(out, fmt.Sprintf("%s (%q → %q)", thing, before[thing], after[thing]))
	}
	return out
}

// mayTouch reports whether effects cover a thing.
func mayTouch(e *states.Effects, kind, name string, isNew bool) bool {
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return matchesPattern(p, name) || matchesPattern(p, strings.TrimSuffix(name, ".service"))
		})
	}
	covers := func(pattern string) bool {
		want, have := strings.Split(pattern, "/"), strings.Split(name, "/")
		return len(have) >= len(want) && matchesPattern(pattern, strings.Join(have[:len(want)], "/"))
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

func matchesPattern(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// What watches the acts of others sees what they touch.
func TestWatchedHost(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("groupadd project")
	m.calm()
	before := m.things()
	// What a new host forwards depends on the machine that it is on.
	m.shell("touch /etc/new; chmod 0600 /etc/profile; useradd -M alice; echo changed >> /etc/issue; rm /etc/motd; sysctl -qw net.ipv4.ip_forward=$((1 - $(cat /proc/sys/net/ipv4/ip_forward))); systemctl disable -q --now cron")
	command := watched{modules.Standard().Lookup("command"), map[string]any{"argv": []any{"true"}}, states.Effects{Paths: []string{"/etc/ne*"}}}
	touched := undeclared([]watched{command}, before, m.things())
	for _, want := range []string{"path /etc/profile", "account alice", "content /etc/issue", "path /etc/motd", "setting net/ipv4/ip_forward", "service cron.service", "content /etc/passwd"} {
		if !slices.ContainsFunc(touched, func(x string) bool { return strings.HasPrefix(x, want+" (") }) {
			t.Errorf("%s is missing in %q", want, touched)
		}
	}
	if slices.ContainsFunc(touched, func(x string) bool { return strings.Contains(x, "/etc/new ") }) {
		t.Errorf("what is declared is told: %q", touched)
	}
}

// A host on which tenet does nothing stays as it is. An effect that a module would not declare is
// found, and nothing else.
func TestWatchedModule(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.calm()
	before := m.things()
	m.site("print \"nothing\" {\n  message = \"x\"\n}\n")
	m.apply()
	if touched := undeclared(nil, before, m.things()); len(touched) > 0 {
		t.Errorf("a host changes by itself: %q", touched)
	}
	const site = "group \"project\" {}\n"
	parts := m.declared(site, []string{"group"})
	e := &parts[0].effects
	e.Paths = slices.DeleteFunc(e.Paths, func(p string) bool { return p == "/etc/gshadow-" })
	m.site(site)
	before = m.things()
	m.apply()
	touched := undeclared(parts, before, m.things())
	if len(touched) == 0 || slices.ContainsFunc(touched, func(x string) bool { return !strings.Contains(x, " /etc/gshadow- (") }) {
		t.Errorf("found were %q", touched)
	}
}
