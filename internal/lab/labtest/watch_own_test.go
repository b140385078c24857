//go:build lab

package labtest

import (
	"path"
	"slices"
	"strings"
)

// isOwn reports whether a thing is what a part sets up, which a plan sees: the resource itself, in the
// records of the host.
func (w watched) isOwn(kind, name string, isNew bool) bool {
	key := w.module.Key(w.values)
	switch kind {
	case "path", "content":
		return slices.ContainsFunc(w.module.Paths(w.values), func(p string) bool { return isAtOrBelow(p, name) || isNew && isAtOrBelow(name, p) }) ||
			slices.Contains(w.module.Locks, name) || w.isOwnRecord(key, name)
	case "account":
		return (w.module.Name == "user" || w.module.Name == "group") && name == key
	case "service":
		switch w.module.Name {
		case "service", "systemd_unit":
			return name == key || name == key+".service"
		case "systemd_timer":
			return name == key+".timer" || name == key+".service"
		}
		return w.module.Name == "mount" && name == mountUnit(key)
	case "package":
		return w.module.Name == "package" && name == key
	}
	// Each network device brings settings of its own.
	return w.module.Name == "sysctl" && strings.ReplaceAll(name, "/", ".") == key || strings.Contains(name, "/"+key+"/")
}

// isOwnRecord reports whether a path is one of those in which the host keeps what a part sets up.
func (w watched) isOwnRecord(key, name string) bool {
	switch w.module.Name {
	case "user":
		home, _ := w.values["home"].(string)
		return slices.Contains(accountTables(), name) || isAtOrBelow("/home/"+key, name) || home != "" && isAtOrBelow(home, name)
	case "group":
		return slices.Contains(accountTables(), name)
	case "package":
		return isAtOrBelow("/var/lib/dpkg", name) || isAtOrBelow("/var/lib/apt", name) || isAtOrBelow("/var/cache/apt", name)
	case "service":
		return isOfUnit(key, name)
	case "systemd_unit":
		unit, _ := w.values["name"].(string)
		return isOfUnit(unit, name)
	case "systemd_timer":
		return isOfUnit(key+".timer", name) || isOfUnit(key+".service", name)
	case "hostname":
		return name == "/etc/machine-info"
	case "timezone":
		return name == "/etc/timezone" || name == "/etc/localtime"
	case "sysctl":
		return name == "/etc/sysctl.d/70-tenet.conf"
	case "limits":
		return name == "/etc/security/limits.d/70-tenet.conf"
	case "kernel_module":
		return name == "/etc/modules-load.d/"+key+".conf" || name == "/etc/modprobe.d/"+key+".conf"
	case "sudoers":
		return name == "/etc/sudoers.d/"+key
	case "cron":
		return name == "/etc/cron.d/"+key
	case "apt_repository":
		return matchesPattern("/etc/apt/*/"+key+".*", name)
	case "authorized_keys", "known_host":
		return slices.ContainsFunc([]string{"/home/*/.ssh", "/home/*/.ssh/authorized_keys", "/home/*/.ssh/known_hosts"}, func(p string) bool { return matchesPattern(p, name) })
	case "mount":
		return strings.HasPrefix(name, "/run/systemd/generator/") && (path.Base(name) == mountUnit(key) || strings.HasPrefix(path.Base(name), "local-fs.target."))
	}
	return false
}

// mountUnit is the unit that systemd makes of a mount: see systemd-escape(1), as far as the tests go.
func mountUnit(at string) string {
	return strings.NewReplacer("/", "-", " ", `\x20`).Replace(strings.Trim(at, "/")) + ".mount"
}

func accountTables() []string {
	return []string{"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"}
}

// isOfUnit reports whether a path is the file of a unit, a drop-in of it, or a link that enables
// or masks it, with the directory for such.
func isOfUnit(key, name string) bool {
	if path.Ext(key) == "" {
		key += ".service"
	}
	const hers = "/home/alice/.config/systemd/user" // the tests' one account with units of its own
	if strings.HasPrefix(name, "/home/alice/") && isAtOrBelow(name, hers) {
		return true // a directory that is made for it
	}
	rest, ok := strings.CutPrefix(strings.Replace(name, hers, "/etc/systemd/system", 1), "/etc/systemd/system/")
	if !ok {
		return matchesPattern("/etc/rc?.d/[SK]??"+strings.TrimSuffix(key, ".service"), name)
	}
	dir, file, isBelow := strings.Cut(rest, "/")
	enables := strings.HasSuffix(dir, ".wants") || strings.HasSuffix(dir, ".requires")
	return rest == key || isAtOrBelow(key+".d", rest) || enables && (!isBelow || file == key)
}

func isAtOrBelow(place, name string) bool { return name == place || strings.HasPrefix(name, place+"/") }

// isMembership reports whether a group differs in that the user of the part is a member or not, and in
// nothing else.
func (w watched) isMembership(before, after string) bool {
	if w.module.Name != "user" || before == "" || after == "" {
		return false
	}
	without := func(line string) string {
		i := strings.LastIndexByte(line, ':') + 1
		members := strings.Split(strings.TrimSuffix(line[i:], "\n"), ",")
		members = slices.DeleteFunc(members, func(m string) bool { return m == w.module.Key(w.values) })
		return line[:i] + strings.Join(members, ",")
	}
	return without(before) == without(after)
}

// isNoise reports whether something changes on a host by itself, or as tenet runs: its own records
// and the site, those of the journal and of logins, and what systemd keeps of the units that run.
func isNoise(kind, name string) bool {
	switch kind {
	case "path", "content":
		return slices.ContainsFunc([]string{
			"/var/lib/tenet", "/var/cache/tenet", "/run/tenet", "/root/site", "/root/.things",
			"/var/log/journal", "/run/log/journal", "/run/systemd/journal", "/run/systemd/units", "/run/systemd/systemd-units-load", "/run/systemd/notify",
			"/run/systemd/sessions", "/run/systemd/users", "/run/user", "/var/log/wtmp", "/run/utmp",
			"/var/log/nginx", // what the tests' server says of being asked
		}, func(p string) bool { return isAtOrBelow(p, name) })
	case "service": // what comes and goes with logins, and with what is asked over the bus
		return strings.HasPrefix(name, "user@") || strings.HasPrefix(name, "user-runtime-dir@") || strings.HasPrefix(name, "run-user-") ||
			slices.Contains([]string{".scope", ".slice", ".device"}, path.Ext(name)) ||
			slices.Contains([]string{"systemd-hostnamed.service", "systemd-timedated.service", "systemd-localed.service"}, name)
	}
	return false
}
