package simulated_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

func like(t testing.TB, kind string) *host.Memory {
	t.Helper()
	h, err := simulated.New(t.Context(), simulated.Machine{Like: kind})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Each kind can be made, and has what is said of all of them.
func TestKinds(t *testing.T) {
	for _, kind := range simulated.KindNames() {
		h := like(t, kind)
		for _, name := range []string{
			"/etc/passwd", "/etc/os-release", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/vm/swappiness",
			"/usr/bin/bash", "/usr/bin/systemctl", "/usr/lib/systemd/system/systemd-journald.service", "/etc/login.defs",
		} {
			if !simulated.Exists(h, name) {
				t.Errorf("%s has no %s", kind, name)
			}
		}
		for _, account := range []string{"root", "www-data", "nobody", "_apt", "systemd-network"} {
			if _, err := h.User(account); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if s, there := simulated.ServiceOf(h, "dbus"); !there || !s.Running {
			t.Errorf("%s: dbus is %+v", kind, s)
		}
		if version, _ := simulated.InstalledVersion(h, "bash"); version == "" {
			t.Errorf("%s has no bash", kind)
		}
		if kind == "minimal" {
			continue
		}
		for _, name := range []string{"/usr/share/zoneinfo/Europe/Berlin", "/etc/sudoers", "/usr/sbin/visudo", "/etc/ssh/sshd_config"} {
			if !simulated.Exists(h, name) {
				t.Errorf("%s has no %s", kind, name)
			}
		}
		for _, name := range []string{"ssh", "cron"} {
			if s, _ := simulated.ServiceOf(h, name); !s.Running || !s.Enabled {
				t.Errorf("%s: %s is %+v", kind, name, s)
			}
		}
	}
	if _, err := simulated.New(t.Context(), simulated.Machine{Like: "debian13"}); err == nil || !strings.Contains(err.Error(), "debian12-server") {
		t.Errorf("another kind: %v", err)
	}
}

// What is on offer is installed with what it needs, its units run, and it goes again.
func TestOffers(t *testing.T) {
	h := like(t, "debian12-server")
	run := func(argv ...string) host.Result {
		r, err := h.Run(t.Context(), host.Command{Argv: argv})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if _, err := h.Run(t.Context(), host.Command{Argv: []string{"nginx", "-t"}}); err == nil {
		t.Error("nginx is there before its package")
	}
	if r := run("apt-get", "-y", "install", "nginx"); r.ExitCode != 0 {
		t.Fatalf("%s", r.Stderr)
	}
	for _, name := range []string{"nginx", "nginx-common"} {
		if version, _ := simulated.InstalledVersion(h, name); !strings.HasPrefix(version, "1.22.1") {
			t.Errorf("%s is %q", name, version)
		}
	}
	if s, _ := simulated.ServiceOf(h, "nginx"); !s.Running || !s.Enabled || !strings.Contains(s.Unit, "ExecReload") {
		t.Errorf("the service is %+v", s)
	}
	if r := run("nginx", "-t"); r.ExitCode != 0 {
		t.Errorf("its check: %s", r.Stderr)
	}
	if _, err := h.Run(t.Context(), host.Command{Argv: []string{"nginx", "-s", "quit"}}); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("what is not known of it: %v", err)
	}
	run("apt-get", "-y", "remove", "nginx-common")
	if s, there := simulated.ServiceOf(h, "nginx"); there || !simulated.Exists(h, "/etc/nginx/nginx.conf") {
		t.Errorf("the service after its end: %+v, its configuration: %v", s, simulated.Exists(h, "/etc/nginx/nginx.conf"))
	}
	run("apt-get", "-y", "purge", "nginx-common")
	if simulated.Exists(h, "/etc/nginx/nginx.conf") {
		t.Error("its configuration is there after a purge")
	}
	if r := run("apt-get", "-y", "install", "ngnix"); r.ExitCode == 0 {
		t.Error("a package that is not on offer was installed")
	}
}

// What a machine is described as counts before what its kind has.
func TestLikeAndMore(t *testing.T) {
	h, err := simulated.New(t.Context(), simulated.Machine{
		Like:     "debian12-server",
		Files:    map[string]simulated.File{"/etc/login.defs": {Content: "UMASK 077\n"}},
		Packages: map[string]simulated.Package{"nginx": {Available: []string{"9.0"}, Services: []string{"web"}}},
		Services: map[string]simulated.Service{"cron": {Enabled: true}},
		Users:    map[string]simulated.User{"www-data": {UID: new(4000)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := simulated.Text(h, "/etc/login.defs"); text != "UMASK 077\n" {
		t.Errorf("the file holds %q", text)
	}
	if u, err := h.User("www-data"); err != nil || u.UID != 4000 {
		t.Errorf("the user is %+v, %v", u, err)
	}
	if s, _ := simulated.ServiceOf(h, "cron"); s.Running || !s.Enabled {
		t.Errorf("the service is %+v", s)
	}
	if _, err := h.Run(t.Context(), host.Command{Argv: []string{"apt-get", "-y", "install", "nginx"}}); err != nil {
		t.Fatal(err)
	}
	if version, _ := simulated.InstalledVersion(h, "nginx"); version != "9.0" {
		t.Errorf("the package is %q", version)
	}
	if _, there := simulated.ServiceOf(h, "nginx"); there {
		t.Error("the distribution's unit was installed")
	}
}

// The programs act on the tree as the real ones do.
func TestLikePrograms(t *testing.T) {
	h := like(t, "debian12-server")
	for _, c := range []struct {
		argv   string
		stdin  string
		status int
		stdout string
	}{
		{argv: "sysctl --values vm.swappiness", stdout: "60\n"},
		{argv: "sysctl --quiet --write vm.swappiness=10"},
		{argv: "sysctl vm.swappiness", stdout: "vm.swappiness = 10\n"},
		{argv: "sysctl -n no.such", status: 255},
		{argv: "getent passwd root", stdout: "root:x:0:0:root:/root:/bin/bash\n"},
		{argv: "getent passwd nosuch", status: 2},
		{argv: "visudo --check --file=-", stdin: "Defaults env_reset\nroot ALL=(ALL:ALL) ALL\n"},
		{argv: "visudo --check --file=-", stdin: "root may do everything\n", status: 1},
		{argv: "visudo -c -q -f /etc/sudoers"},
		{argv: "locale -a", stdout: "C\nC.utf8\nPOSIX\n"},
		{argv: "sshd -t"},
		{argv: "true"}, {argv: "false", status: 1},
	} {
		r, err := h.Run(t.Context(), host.Command{Argv: strings.Fields(c.argv), Stdin: []byte(c.stdin)})
		if err != nil || r.ExitCode != c.status || string(r.Stdout) != c.stdout && c.stdout != "" {
			t.Errorf("%s: %d %q %q %v", c.argv, r.ExitCode, r.Stdout, r.Stderr, err)
		}
	}
}
