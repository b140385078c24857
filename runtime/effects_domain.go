package runtime

import (
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// subjects are the accounts, packages, kernel settings and services that a part sets up, by name.
// In the host's records of these it looks for them only, and changes nothing else.
type subjects struct{ accounts, packages, settings, services []string }

// subjectsOf gives those of a part.
func subjectsOf(m *states.Module, values map[string]any) (s subjects) {
	if m == nil {
		return s
	}
	own, needed := m.Accounts(values)
	for _, account := range own {
		s.accounts = append(s.accounts, bare(account))
	}
	if s.accounts != nil {
		for _, account := range needed {
			s.accounts = append(s.accounts, bare(account))
		}
	}
	for _, a := range m.Attributes {
		name, _ := values[a.Name].(string)
		switch {
		case name == "":
		case a.Package:
			s.packages = append(s.packages, name)
		case a.Setting:
			s.settings = append(s.settings, name)
		case a.Service:
			s.services = append(s.services, name)
		}
	}
	return s
}

// bare cuts the kind off an account: "user root".
func bare(account string) string {
	_, name, _ := strings.Cut(account, " ")
	return name
}

// domain is a kind of things that a host keeps in records of its own.
type domain struct {
	records  []string // where these are: paths, with all below
	subjects func(*subjects) []string
	effects  func(*states.Effects) []string
	// touched reports whether an act on those of these names touches a record of this path.
	isTouched func(record string, names []string) bool
}

// domains are all of them.
func domains() []domain {
	always := func(_ string, names []string) bool { return len(names) > 0 }
	return []domain{
		{
			accountRecords(), func(s *subjects) []string { return s.accounts },
			func(e *states.Effects) []string { return e.Accounts }, always,
		},
		{
			packageRecords(), func(s *subjects) []string { return s.packages },
			func(e *states.Effects) []string { return e.Packages }, always,
		},
		{
			settingRecords(), func(s *subjects) []string { return s.settings },
			func(e *states.Effects) []string { return e.Settings }, isSettingTouched,
		},
	}
}

// holds reports whether a path is one of the domain's records, or in one.
func (d *domain) holds(name string) bool {
	return slices.ContainsFunc(d.records, func(record string) bool { return contains(record, name) })
}

// accountRecords are those of accounts, and what a new one's home begins with.
func accountRecords() []string {
	return []string{"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/skel"}
}

func packageRecords() []string {
	return []string{
		"/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/etc/apt",
		"/lib/apk", "/etc/apk", "/var/cache/apk",
		"/var/lib/rpm", "/usr/lib/sysimage/rpm", "/etc/yum.repos.d", "/etc/dnf", "/var/cache/dnf", "/etc/zypp", "/var/cache/zypp",
		"/var/lib/pacman", "/etc/pacman.d", "/etc/pacman.conf",
	}
}

const kernelSettings = "/proc/sys"

func settingRecords() []string {
	return []string{
		kernelSettings, "/etc/sysctl.conf", "/etc/sysctl.d", "/run/sysctl.d",
		"/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d",
	}
}

// isSettingTouched reports whether a path below /proc/sys is one of these settings, or above.
func isSettingTouched(record string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		at := path.Join(kernelSettings, strings.ReplaceAll(name, ".", "/"))
		return covers(at, record) || isAbove(record, at)
	})
}

// serviceRecords are the places of the files of units and of scripts.
func serviceRecords() []string {
	return []string{
		"/etc/systemd/system", "/run/systemd/system", "/run/systemd/transient", "/run/systemd/generator",
		"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
		"/etc/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user",
		"/etc/init.d", "/etc/rc0.d", "/etc/rc1.d", "/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d", "/etc/rc6.d", "/etc/rcS.d", "/etc/runlevels",
	}
}

// networkRecords say by what names others are found, and who is trusted.
func networkRecords() []string {
	return []string{"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ssl/certs"}
}
