package runtime

import (
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// couldTouch reports whether an act could have touched what a part looks at, if it is
// done before. This is all that is known of that: what the act may touch, and what the part
// was seen to look at. A resource that the act leaves as it is wanted is read back, and so no
// other afterwards.
func (f *effects) couldTouch(x *effect, q *question) bool {
	switch {
	case x.identity != "" && x.identity == q.identity, x.touch.None():
		return false
	case q.isBoundless || q.program:
		return true
	case x.touch.Anything:
		return len(q.looks) > 0
	}
	return slices.ContainsFunc(q.looks, func(l host.Look) bool { return f.touches(x, q, l) })
}

// touches reports whether what somebody looks at is among what an act may touch.
func (f *effects) touches(x *effect, q *question, l host.Look) bool {
	e := &x.touch
	if e.Provides && l.Missing && (l.Needed || q.failed) {
		return true
	}
	switch l.Kind {
	case host.LookUser, host.LookGroup:
		return matches(e.Accounts, l.Name) || f.changesRecord(x, accountRecords())
	case host.LookNumber:
		return len(e.Accounts) > 0 || f.changesRecord(x, accountRecords())
	case host.LookService:
		return f.touchesService(x, l.Name)
	case host.LookProgram:
		return f.touchesProgram(x, l)
	case host.LookNetwork: // this machine may be who answers there
		return len(e.Services) > 0 || e.Provides || f.changesRecord(x, networkRecords())
	}
	return f.touchesPath(x, q, l)
}

// touchesPath is touches of a path. Of the host's records of accounts, packages and settings, a
// part that sets one of these up looks at that one only, and an act that names some changes what is of these.
func (f *effects) touchesPath(x *effect, q *question, l host.Look) bool {
	if l.All && l.Name == "/" {
		return true
	}
	for _, d := range domains() {
		if !d.holds(l.Name) {
			continue
		}
		own, named := d.subjects(&q.subjects), d.effects(&x.touch)
		switch {
		case own != nil:
			return slices.ContainsFunc(own, func(name string) bool { return matches(named, name) }) || len(named) == 0 && f.changesRecord(x, d.records)
		case d.isTouched(l.Name, named):
			return true
		}
	}
	return f.changesLook(x, l) || f.addsLook(x, l)
}

// changesLook reports whether one of the paths that an act changes is what somebody looks at, or
// on the way there.
func (f *effects) changesLook(x *effect, l host.Look) bool {
	if x.paths.none() {
		return false
	}
	at := f.way(l.Name)
	for _, name := range []string{l.Name, at.to} {
		if f.covers(&x.paths, name) || (l.All || l.Missing) && f.areBelow(&x.paths, name, l.All) {
			return true
		}
	}
	return slices.ContainsFunc(at.links, func(link string) bool { return f.covers(&x.paths, link) })
}

// addsLook reports whether one of the paths that an act adds is what somebody looks at. It is
// nothing to who looks at what is there.
func (f *effects) addsLook(x *effect, l host.Look) bool {
	if x.adds.none() || !l.Missing && !l.All {
		return false
	}
	for _, name := range []string{l.Name, f.way(l.Name).to} {
		if f.covers(&x.adds, name) || f.areBelow(&x.adds, name, l.All) {
			return true
		}
	}
	return false
}

// changesRecord reports whether one of the paths that an act changes is one of some records, or
// above, or is said to be in one.
func (f *effects) changesRecord(x *effect, records []string) bool {
	return slices.ContainsFunc(records, func(record string) bool {
		return f.covers(&x.paths, record) || slices.ContainsFunc(x.paths.plain, func(p string) bool {
			return f.matchesForm(p, func(form string) bool { return contains(record, form) })
		})
	})
}

// touchesService reports whether an act may touch a service, by its name or by the files of
// its unit.
func (f *effects) touchesService(x *effect, name string) bool {
	e := &x.touch
	if name == "*" {
		return len(e.Services) > 0 || e.Provides || f.changesRecord(x, serviceRecords())
	}
	if matches(e.Services, name) || matches(e.Services, strings.TrimSuffix(name, ".service")) {
		return true
	}
	if strings.Contains(name, "/") { // of an account, whose units are below its home
		return slices.ContainsFunc(x.paths.plain, func(p string) bool { return strings.Contains(p, "systemd") || !strings.HasPrefix(p, "/etc") })
	}
	unit := path.Base(name)
	for _, place := range serviceRecords() {
		if f.covers(&x.paths, place) {
			return true
		}
		for _, p := range x.paths.plain {
			if f.matchesForm(p, func(form string) bool {
				rest, isBelow := strings.CutPrefix(form, place+"/")
				return isBelow && mayBeOfUnit(rest, unit)
			}) {
				return true
			}
		}
		for _, g := range x.paths.groups {
			if contains(place, g.place) && slices.ContainsFunc(g.words, func(word string) bool { return strings.Contains(unit, word) }) {
				return true
			}
		}
	}
	return false
}

// mayBeOfUnit reports whether a path below a place of units may say something of one: its file,
// a drop-in, a link that enables it, or what counts for several.
func mayBeOfUnit(rest, unit string) bool {
	stem, _, isInstance := strings.Cut(unit, "@")
	names := strings.Split(rest, "/")
	if n := len(names) - 1; n > 0 && names[n] == "*" && (isUnitFile(names[n-1]) || scriptOf(names[n-1]) != names[n-1]) {
		names = names[:n] // nothing is below a file
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.ContainsAny(name, wildcards) || name == "service.d" || strings.TrimSuffix(name, ".d") == unit ||
			scriptOf(name) == strings.TrimSuffix(unit, ".service") || isInstance && strings.HasPrefix(name, stem+"@")
	})
}

// scriptOf gives the name of a SysV script, also of a link that starts or stops it in a runlevel,
// such as S01cron.
func scriptOf(name string) string {
	if ok, err := path.Match("[SK][0-9][0-9]?*", name); ok && err == nil {
		return name[len("S01"):]
	}
	return name
}

// isUnitFile reports whether a name is one of a unit's file, or of a link to one, and of no
// directory beside it.
func isUnitFile(name string) bool {
	return slices.Contains([]string{".service", ".socket", ".timer", ".path", ".mount", ".target"}, path.Ext(name))
}

// touchesProgram reports whether an act may touch a program that is asked something: itself, or
// the libraries of the system.
func (f *effects) touchesProgram(x *effect, l host.Look) bool {
	for _, dir := range []string{"/usr/lib", "/lib", "/usr/lib64", "/lib64"} {
		if f.covers(&x.paths, dir) {
			return true
		}
	}
	if slices.ContainsFunc(x.paths.plain, func(p string) bool { return f.matchesForm(p, isLibrary) }) {
		return true
	}
	if strings.Contains(l.Name, "/") {
		at := host.Look{Name: l.Name, Missing: l.Missing}
		return f.changesLook(x, at) || f.addsLook(x, at)
	}
	for _, dir := range host.ProgramDirs() {
		at := host.Look{Name: dir + l.Name, Missing: true}
		if f.changesLook(x, at) || f.addsLook(x, at) {
			return true
		}
	}
	return false
}

// isLibrary reports whether a path is that of a library of the system, or of a directory of such: one
// for a kind of machine, as in /usr/lib/x86_64-linux-gnu.
func isLibrary(name string) bool {
	names := strings.Split(strings.TrimPrefix(name, "/usr"), "/")
	if len(names) < 3 || names[1] != "lib" && names[1] != "lib64" {
		return false
	}
	return strings.Contains(names[2], "-linux-") || strings.Contains(path.Base(name), ".so")
}
