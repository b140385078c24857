package stdlib_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

// trial is a component as it is used, on a machine of its own.
type trial struct {
	name    string // of the golden file
	site    string
	machine simulated.Machine
	prepare func(*host.Memory)
	files   map[string]string // what a file holds afterwards
	stays   []string          // those that are there when the component is absent again
	check   func(*testing.T, *host.Memory)
}

// ok is a program that accepts whatever it is asked.
func ok(names ...string) []simulated.Command {
	var out []simulated.Command
	for _, name := range names {
		out = append(out, simulated.Command{Name: name})
	}
	return out
}

// script answers one of the components' scripts, by the name that it is called by.
func script(name string, c simulated.Command) simulated.Command {
	c.Name, c.Argv = "sh", []string{"sh", "-c", simulated.AnyOne, name, simulated.AnyRest}
	return c
}

// parcels are packages that apt offers, with the services that they bring.
func parcels(services map[string][]string) map[string]simulated.Package {
	out := map[string]simulated.Package{}
	for name, brings := range services {
		out[name] = simulated.Package{Available: []string{"1.0"}, Services: brings}
	}
	return out
}

const aliceKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHexgb9aiHLxvHbJdmpHE5kGHJyQfEx0KqkLxLzzNkyu alice@laptop"

// hostTrials are of the components for the host itself.
var hostTrials = []trial{
	{
		name: "motd",
		site: `
component "motd" {
  source = "std/motd"
  vars = {
    text   = "Welcome."
    banner = "Authorised use only.\n"
  }
}

component "notice" {
  source = "std/motd"
  vars = {
    name = "maintenance"
    text = "Down on Sunday.\n"
  }
}
`,
		files: map[string]string{
			"/etc/motd": "Welcome.\n", "/etc/motd.d/maintenance": "Down on Sunday.\n", "/etc/issue": "Authorised use only.\n",
		},
	},
	{
		name: "cron",
		site: `
component "jobs" {
  source = "std/cron"
  vars = {
    jobs = {
      backup = {
        schedule    = "30 2 * * mon"
        command     = "/usr/local/bin/backup --name $(date +%F)"
        user        = "www-data"
        environment = { MAILTO = "ops@example.test" }
        description = "Every Monday."
      }
      rotate = {
        schedule = "@daily"
        command  = "/usr/local/bin/rotate"
      }
    }
  }
}

component "more" {
  source = "std/cron"
  vars = {
    prefix = "more-"
    jobs = {
      rotate = {
        schedule = "*/5 8-18 1,15 * 1-5"
        command  = "/usr/local/bin/rotate --more"
      }
    }
  }
}
`,
		machine: simulated.Machine{
			Packages: parcels(map[string][]string{"cron": {"cron"}}),
			Commands: []simulated.Command{
				{Name: "getent", Argv: []string{"getent", "passwd", "root"}},
				{Name: "getent", Argv: []string{"getent", "passwd", "www-data"}},
			},
		},
		files: map[string]string{
			"/etc/cron.d/backup": "# Kept by tenet.\n# Every Monday.\nMAILTO=\"ops@example.test\"\n" +
				"30 2 * * mon www-data /usr/local/bin/backup --name $(date +\\%F)\n",
			"/etc/cron.d/rotate":      "# Kept by tenet.\n@daily root /usr/local/bin/rotate\n",
			"/etc/cron.d/more-rotate": "# Kept by tenet.\n*/5 8-18 1,15 * 1-5 root /usr/local/bin/rotate --more\n",
		},
	},
	{
		name: "sysctl",
		site: `
component "kernel" {
  source = "std/sysctl"
  vars = {
    settings = {
      "net.ipv4.ip_forward" = true ? 1 : 0
      "vm.swappiness"       = "10"
    }
  }
}
`,
		machine: simulated.Machine{Commands: []simulated.Command{
			{Name: "sysctl", Argv: []string{"sysctl", "--values", "net.ipv4.ip_forward"}, Stdout: "1\n"},
			{Name: "sysctl", Argv: []string{"sysctl", "--values", "vm.swappiness"}, Stdout: "60\n", Missing: "/proc/sys/vm/swappiness"},
			{Name: "sysctl", Argv: []string{"sysctl", "--values", "vm.swappiness"}, Stdout: "10\n", Exists: "/proc/sys/vm/swappiness"},
			{Name: "sysctl", Argv: []string{"sysctl", "--quiet", "--write", "vm.swappiness=10"},
				Creates: map[string]string{"/proc/sys/vm/swappiness": "10"}},
		}},
		files: map[string]string{
			"/etc/sysctl.d/60-tenet.conf": "# Kept by tenet.\nnet.ipv4.ip_forward = 1\nvm.swappiness = 10\n",
			"/proc/sys/vm/swappiness":     "10",
		},
		stays: []string{"/proc/sys/vm/swappiness"},
	},
	{
		name: "apt_mirror",
		site: `
component "mirror" {
  source = "std/apt_mirror"
  vars = {
    url        = "http://mirror.example.test/debian"
    components = ["main", "contrib"]
  }
}

component "own" {
  source = "std/apt_mirror"
  vars = {
    name         = "own"
    url          = "file:///srv/packages"
    suites       = ["./"]
    components   = []
    signed_by    = "trusted"
  }
}
`,
		machine: simulated.Machine{
			Files: map[string]simulated.File{"/etc/apt/sources.list": {Content: "own\n"}},
			Commands: []simulated.Command{{
				Name: "mv", Argv: []string{"mv", "-f", "/etc/apt/sources.list", "/etc/apt/sources.list.disabled"},
				Creates: map[string]string{"/etc/apt/sources.list.disabled": "own\n"}, Removes: []string{"/etc/apt/sources.list"},
			}},
		},
		files: map[string]string{
			"/etc/apt/sources.list.d/mirror.sources": "# Kept by tenet.\n" +
				"\nTypes: deb\nURIs: http://mirror.example.test/debian\nSuites: bookworm bookworm-updates\n" +
				"Components: main contrib\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n" +
				"\nTypes: deb\nURIs: http://security.debian.org/debian-security\nSuites: bookworm-security\n" +
				"Components: main contrib\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
			"/etc/apt/sources.list.d/own.sources": "# Kept by tenet.\n" +
				"\nTypes: deb\nURIs: file:///srv/packages\nSuites: ./\nTrusted: yes\n",
		},
		check: func(t *testing.T, h *host.Memory) {
			if got := simulated.Text(h, simulated.AptLog); !strings.Contains(got, "update\n") {
				t.Errorf("apt-get was called: %q", got)
			}
			if simulated.Exists(h, "/etc/apt/sources.list") {
				t.Error("the distribution's sources are still there")
			}
		},
	},
	{
		name: "users",
		site: `
component "people" {
  source = "std/users"
  vars = {
    groups = {
      developers = { gid = 3000 }
    }
    users = {
      alice = {
        uid    = 2001
        groups = ["developers", "sudo"]
        keys   = ["` + aliceKey + `"]
        sudo   = true
      }
      bob = {
        shell = "/bin/sh"
        sudo  = "NOPASSWD"
      }
      carol = { absent = true }
    }
    passwords = { alice = "$6$salt$hash" }
  }
}
`,
		machine: simulated.Machine{
			Packages: parcels(map[string][]string{"sudo": nil}),
			Users:    map[string]simulated.User{"carol": {}},
			Files: map[string]simulated.File{
				"/home/carol/.ssh/authorized_keys": {Content: "x"}, "/home/carol/letter": {Content: "x"},
				"/etc/sudoers.d/carol": {Content: "carol ALL=(ALL:ALL) ALL\n"},
			},
			Commands: []simulated.Command{{Name: "visudo", Argv: []string{"visudo", "-c", "-q", "-f", simulated.AnyOne}, Package: "sudo"}},
		},
		files: map[string]string{
			"/home/alice/.ssh/authorized_keys": aliceKey + "\n", "/home/bob/.ssh/authorized_keys": "",
			"/etc/sudoers.d/alice": "# Kept by tenet.\nalice ALL=(ALL:ALL) ALL\n",
			"/etc/sudoers.d/bob":   "# Kept by tenet.\nbob ALL=(ALL:ALL) NOPASSWD: ALL\n",
			"/home/carol/letter":   "x",
		},
		stays: []string{"/home/carol/letter"},
		check: checkUsers,
	},
}

func checkUsers(t *testing.T, h *host.Memory) {
	alice, err := h.User("alice")
	if err != nil || alice.UID != 2001 || alice.Shell != "/bin/bash" || alice.Home != "/home/alice" {
		t.Errorf("alice is %+v (%v)", alice, err)
	}
	if got := simulated.Text(h, "/etc/shadow"); !strings.Contains(got, "alice:$6$salt$hash:") {
		t.Errorf("alice has no password: %q", got)
	}
	if g, err := h.Group("developers"); err != nil || g.GID != 3000 || !slices.Contains(g.Members, "alice") {
		t.Errorf("developers are %+v (%v)", g, err)
	}
	for name, want := range map[string]fs.FileMode{
		"/home/alice/.ssh": 0o700, "/home/alice/.ssh/authorized_keys": 0o600, "/etc/sudoers.d/alice": 0o440,
	} {
		info, err := h.Lstat(name)
		if err != nil || info.Mode != want || strings.HasPrefix(name, "/home") && info.UID != 2001 {
			t.Errorf("%s is %+v (%v)", name, info, err)
		}
	}
	if _, err := h.User("carol"); err == nil || simulated.Exists(h, "/home/carol/.ssh/authorized_keys") || simulated.Exists(h, "/etc/sudoers.d/carol") {
		t.Error("carol is still there")
	}
}
