package systemd

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// Effects is what a service of this name may touch as it starts, ends, or reloads: what bears its
// name where services keep what they have, what is only there while the machine runs, and the
// services that belong to it. One of an account may touch anything, and so may one that
// brings others up.
//
// A service keeps to that by convention (file-hierarchy(7), and RuntimeDirectory and its like in
// systemd.exec(5)); nothing makes it.
func Effects(name string, user *string) states.Effects {
	stem := Stem(name)
	if user != nil || stem == "" || strings.HasSuffix(name, ".target") || slices.Contains(runners(), stem) {
		return states.Effects{Anything: true}
	}
	own := states.Literal(stem)
	e := states.Effects{
		Paths: []string{
			// /run, without the units in /run/systemd.
			"/run/[^s]*", "/run/s[^y]*", "/run/sy[^s]*", "/run/systemd/[^sgtu]*",
			"/tmp", "/var/tmp", "/dev/shm", "/var/log",
			"/var/lib/*" + own + "*", "/var/cache/*" + own + "*", "/var/spool/*" + own + "*",
			"/var/lib/private", "/var/cache/private", "/var/lib/systemd",
		},
		Services: []string{own + "@*", own + "-*", own + ".socket", own + ".timer", own + ".path"},
	}
	if slices.Contains(tuners(), stem) {
		e.Settings = []string{"*"}
	}
	return e
}

// Stem is what a service and what belongs to it have in common in their names: that of
// postgresql@15-main.service is postgresql.
func Stem(name string) string {
	name, _, _ = strings.Cut(name, "@")
	for _, kind := range []string{".service", ".socket", ".timer", ".path"} {
		name = strings.TrimSuffix(name, kind)
	}
	return strings.TrimRight(name, "0123456789.-")
}

// runners start programs of others as they start. Those of cron start by the clock, as they would
// if nobody did anything.
func runners() []string {
	return []string{
		"atd", "anacron", "rc-local", "rc.local", "cloud-init", "cloud-config", "cloud-final", "systemd-firstboot",
		"puppet", "chef-client", "salt-minion", "unattended-upgrades", "apt-daily", "apt-daily-upgrade", "packagekit",
	}
}

// tuners set parameters of the kernel.
func tuners() []string {
	return []string{
		"systemd-sysctl", "procps", "systemd-networkd", "networking", "NetworkManager", "network", "tuned", "docker", "containerd",
		"libvirtd", "ufw", "firewalld", "keepalived", "kubelet", "k3s",
	}
}
