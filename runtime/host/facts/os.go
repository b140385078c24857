package facts

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"
)

// ParseOSRelease reads the NAME=value lines of os-release(5), with the quotes
// and escapes of a shell.
func ParseOSRelease(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || strings.HasPrefix(name, "#") || strings.ContainsAny(name, " \t") {
			continue
		}
		values[name] = unquoteShell(value)
	}
	return values
}

// unquoteShell takes quotes and backslashes off a word as a shell does;
// nothing is expanded.
func unquoteShell(s string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote == '"' && i+1 < len(s) && !strings.ContainsRune("$`\"\\", rune(s[i+1])):
			b.WriteByte(c)
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// os gives id, family, version, its first number, codename and name of the distribution.
func (f *Facts) os() (any, error) {
	release := text(f.host, "/etc/os-release")
	if release == "" {
		release = text(f.host, "/usr/lib/os-release")
	}
	v := ParseOSRelease(release)
	id := strings.ToLower(v["ID"])
	if id == "" {
		id = "linux" // what os-release(5) says of a missing ID
	}
	name := v["NAME"]
	if name == "" {
		name = id
	}
	return map[string]any{
		"id": id, "family": osFamily(id, v["ID_LIKE"]),
		"version": v["VERSION_ID"], "major": major(v["VERSION_ID"]), "codename": v["VERSION_CODENAME"], "name": name,
	}, nil
}

// major is the first number of a version.
func major(version string) string {
	first, _, _ := strings.Cut(version, ".")
	return first
}

// osFamily gives the distribution that others of its kind derive from.
func osFamily(id, like string) string {
	for _, name := range append([]string{id}, strings.Fields(strings.ToLower(like))...) {
		switch name {
		case "debian", "ubuntu":
			return "debian"
		case "rhel", "fedora", "centos", "rocky", "almalinux", "amzn", "ol":
			return "redhat"
		case "arch", "alpine", "gentoo", "nixos":
			return name
		case "suse", "opensuse", "sles", "opensuse-leap", "opensuse-tumbleweed":
			return "suse"
		}
	}
	return id
}

// packageManager is the first of the known ones that is installed.
func (f *Facts) packageManager() (any, error) {
	for _, m := range []struct{ name, program string }{
		{"apt", "apt-get"}, {"dnf", "dnf"}, {"yum", "yum"}, {"zypper", "zypper"},
		{"apk", "apk"}, {"pacman", "pacman"}, {"emerge", "emerge"},
	} {
		for _, dir := range []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"} {
			if exists(f.host, path.Join(dir, m.program)) {
				return m.name, nil
			}
		}
	}
	return nil, nil
}

// initSystem is what runs as process 1: systemd, openrc, sysv, runit, … Nil: it
// is none of them.
func (f *Facts) initSystem() (any, error) {
	switch {
	case exists(f.machine, "/run/systemd/system"):
		return "systemd", nil
	case exists(f.machine, "/run/openrc"):
		return "openrc", nil
	}
	switch comm := strings.TrimSpace(text(f.machine, "/proc/1/comm")); comm {
	case "runit", "dinit", "s6-svscan":
		return strings.TrimSuffix(comm, "-svscan"), nil
	case "init":
		if exists(f.machine, "/etc/inittab") {
			return "sysv", nil
		}
	}
	return nil, nil
}

func (f *Facts) actor() int {
	uid, _ := f.host.Actor()
	return uid
}

// user is the name of the acting user, or its number where it has none.
func (f *Facts) user() (any, error) {
	uid := f.actor()
	if u, err := f.host.UserID(uid); err == nil {
		return u.Name, nil
	}
	return strconv.Itoa(uid), nil
}

// uid is the number of the acting user.
func (f *Facts) uid() (any, error) { return json.Number(strconv.Itoa(f.actor())), nil }

// login is nobody: who serves somebody that has logged in overrides it.
func (f *Facts) login() (any, error) { return nil, nil }

// home is the acting user's directory.
func (f *Facts) home() (any, error) {
	u, err := f.host.UserID(f.actor())
	if err != nil || u.Home == "" {
		return "/", nil
	}
	return u.Home, nil
}
