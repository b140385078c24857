package packages

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// effects are those of a package of which nobody has asked yet what comes with it.
func effects(want Package, absent bool) states.Effects {
	e := effectsOf([]string{want.Name}, absent || want.Version != nil)
	e.Packages = []string{"*"}
	return e
}

// effectsOf are what the package manager and the scripts of packages may touch; there: some of them
// are on the host already. Which files a package has is not known before it is there, so this
// goes by the places that packages use (deb-policy, filesystem hierarchy standard): what is
// there already stays, but for what the packages themselves have, and the lists that many
// packages write to. In places that are for all, such as /etc and /var/lib, what is a package's
// bears its name, and so do its services and accounts.
func effectsOf(names []string, there bool) states.Effects {
	e := states.Effects{
		Paths: []string{
			"/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/mailcap", "/etc/shells", "/etc/.pwd.lock",
			"/etc/ca-certificates.conf", "/etc/inittab", "/etc/ucf.conf",
			"/tmp", "/var/tmp", "/var/log", "/var/cache/*", "/var/backups", "/run/[^s]*",
			"/var/lib/systemd", "/var/lib/ucf", "/var/lib/update-*", "/var/lib/pam", "/var/lib/misc", "/var/lib/polkit-1", "/var/lib/dbus",
		},
		Adds: slices.Concat(systemPlaces(), []string{
			"/etc/default", "/etc/init.d", "/etc/X11", "/etc/xdg", "/etc/dpkg", "/etc/perl", "/etc/python3*", "/etc/terminfo",
			"/var/www/html", "/etc/systemd/system/*.wants", "/etc/systemd/system/dbus-*", "/etc/systemd/user",
		}),
		Provides: true,
	}
	words := map[string]bool{}
	for _, name := range names {
		bare, _, _ := strings.Cut(name, ":")
		e.Packages = append(e.Packages, states.Literal(bare), states.Literal(bare)+":*")
		for _, word := range namesOf(bare) {
			words[word] = true
		}
	}
	for word := range words {
		forms := []string{"*" + word + "*"}
		if len(word) < 4 { // which is in many words
			forms = []string{word, word + `[._0-9@\-]*`}
		}
		for _, form := range forms {
			for _, place := range sharedPlaces() {
				e.Paths = append(e.Paths, place+"/"+form)
			}
			e.Accounts, e.Services = append(e.Accounts, form), append(e.Services, form)
		}
		e.Accounts = append(e.Accounts, beginnings(word)...)
	}
	if there { // what is there may be changed, with what needs it
		e.Paths = append(e.Paths, systemPlaces()...)
		e.Services = append(e.Services, "*")
	}
	return e
}

// systemPlaces are those where nothing but packages puts anything.
func systemPlaces() []string {
	return []string{
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/libx32", "/usr/share", "/usr/include",
		"/usr/src", "/usr/games", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot",
	}
}

// sharedPlaces are those where each has what bears its name, packages and whoever keeps the
// machine alike.
func sharedPlaces() []string {
	return []string{
		"/etc", "/etc/*", "/etc/*.d", "/etc/cron.*", "/etc/default", "/etc/logcheck", "/etc/pam.d", "/etc/security", "/etc/ssl", "/etc/X11", "/etc/dbus-1",
		"/etc/rc?.d", "/etc/systemd/system", "/etc/systemd/system/*", "/etc/apt/*",
		"/var/lib", "/var/spool", "/var/mail", "/var/www", "/var/opt", "/run", "/run/systemd/[^sgtu]*", "/opt", "/srv",
	}
}

// namesOf are the words by which what belongs to a package is found: its own name, that of the
// program without version and kind, and those that are known to be others.
func namesOf(name string) []string {
	words := []string{name}
	stem := strings.TrimLeft(strings.TrimPrefix(name, "default-"), "-")
	for _, kind := range kinds() {
		stem = strings.TrimSuffix(stem, kind)
	}
	stem = strings.TrimRight(stem, "0123456789.-+")
	for _, kind := range kinds() {
		stem = strings.TrimSuffix(stem, kind)
	}
	if len(stem) > 1 {
		words = append(words, stem)
	}
	for prefix, others := range otherNames() {
		if strings.HasPrefix(stem, prefix) {
			words = append(words, others...)
		}
	}
	for i := range words {
		words[i] = states.Literal(words[i])
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// kinds are endings by which packages of one program differ.
func kinds() []string {
	return []string{"-server", "-client", "-common", "-core", "-daemon", "-bin", "-utils", "-tools", "-full", "-light", "-extras", "-base"}
}

// otherNames are those under which packages are found on a host that are not their own, by the
// beginnings of these.
func otherNames() map[string][]string {
	return map[string][]string{
		"apache": {"apache", "httpd", "www-data"}, "bind": {"bind", "named"}, "chrony": {"chrony", "ntp"}, "cron": {"cron"},
		"docker": {"docker", "containerd"}, "exim": {"exim", "aliases"}, "httpd": {"httpd", "apache"}, "isc-dhcp": {"dhcp"},
		"mariadb": {"mysql", "mariadb"}, "mysql": {"mysql"}, "openssh": {"ssh"}, "openssl": {"ssl"}, "php": {"php"},
		"postfix": {"postfix", "postdrop", "aliases", "mailname"}, "postgresql": {"postgres"}, "redis": {"redis"},
		"rsyslog": {"rsyslog", "syslog"}, "sudo": {"sudo"}, "tzdata": {"timezone", "localtime"}, "locales": {"locale"},
		"netbase": {"protocols", "services", "rpc"}, "nftables": {"nft"}, "mosquitto": {"mosquitto"}, "unbound": {"unbound"},
	}
}

// beginnings are the shorter forms that an account of a program may have.
func beginnings(word string) []string {
	const shortest = 4
	var out []string
	for n := shortest; n < len(word); n++ {
		out = append(out, word[:n], "_"+word[:n], "Debian-"+word[:n])
	}
	return append(out, "_"+word, "Debian-"+word)
}
