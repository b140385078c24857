package host_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

func factsOf(t *testing.T, files map[string]string, overrides map[string]any) *host.Facts {
	t.Helper()
	m := host.NewMemory()
	for path, text := range files {
		if err := m.Add(path, text); err != nil {
			t.Fatal(err)
		}
	}
	return host.NewFacts(m, overrides)
}

func TestFacts(t *testing.T) {
	type files = map[string]string
	for _, c := range []struct {
		name  string
		fact  string
		files files
		want  any
	}{
		{"debian", "os", files{"/etc/os-release": "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n"},
			map[string]any{"id": "debian", "family": "debian", "version": "12", "codename": "bookworm", "name": "Debian GNU/Linux"}},
		{"rocky", "os", files{"/usr/lib/os-release": "NAME='Rocky Linux'\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=9.3\n"},
			map[string]any{"id": "rocky", "family": "redhat", "version": "9.3", "codename": "", "name": "Rocky Linux"}},
		{"derived", "os", files{"/etc/os-release": "ID=mint\nID_LIKE=\"ubuntu debian\"\n"},
			map[string]any{"id": "mint", "family": "debian", "version": "", "codename": "", "name": "mint"}},
		{"no os-release", "os", nil,
			map[string]any{"id": "linux", "family": "linux", "version": "", "codename": "", "name": "linux"}},
		{"kernel", "kernel", files{"/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n"}, "6.1.0-18-amd64"},
		{"hostname", "hostname", files{"/etc/hostname": "web1.example.org\n"}, "web1"},
		{"hostname of the kernel", "hostname", files{"/etc/hostname": "old", "/proc/sys/kernel/hostname": "web2\n"}, "web2"},
		{"no hostname", "hostname", nil, nil},
		{"fqdn by name", "fqdn", files{"/etc/hostname": "web1.example.org\n"}, "web1.example.org"},
		{"fqdn by hosts", "fqdn", files{"/etc/hostname": "web1", "/etc/hosts": "127.0.0.1 localhost # web1\n127.0.1.1 web1.example.org web1\n"}, "web1.example.org"},
		{"fqdn by domain", "fqdn", files{"/etc/hostname": "web1", "/etc/hosts": "127.0.1.1 web1", "/etc/resolv.conf": "nameserver ::1\ndomain example.net\n"}, "web1.example.net"},
		{"fqdn of nothing", "fqdn", files{"/etc/hostname": "web1"}, "web1"},
		{"cpus", "cpus", files{"/proc/cpuinfo": "processor\t: 0\nflags: x\n\nprocessor\t: 1\n"}, json.Number("2")},
		{"memory", "memory", files{"/proc/meminfo": "MemTotal:       16384000 kB\nMemFree: 1 kB\n"}, json.Number("16777216000")},
		{"systemd", "init", files{"/run/systemd/system/x": ""}, "systemd"},
		{"openrc", "init", files{"/run/openrc/softlevel": ""}, "openrc"},
		{"sysv", "init", files{"/proc/1/comm": "init\n", "/etc/inittab": ""}, "sysv"},
		{"other init", "init", files{"/proc/1/comm": "bash\n"}, nil},
		{"apt", "package_manager", files{"/usr/bin/apt-get": "", "/usr/bin/dnf": ""}, "apt"},
		{"apk", "package_manager", files{"/sbin/apk": ""}, "apk"},
		{"no package manager", "package_manager", nil, nil},
		{"user", "user", files{"/etc/passwd": "admin:x:0:0::/home/admin:\n"}, "admin"},
		{"unknown user", "user", nil, "0"},
		{"uid", "uid", nil, json.Number("0")},
		{"home", "home", files{"/etc/passwd": "admin:x:0:0::/home/admin:\n"}, "/home/admin"},
		{"no home", "home", nil, "/"},
		{"nspawn", "virtual", files{"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"},
		{"docker", "virtual", files{"/.dockerenv": ""}, "docker"},
		{"lxc", "virtual", files{"/proc/1/environ": "A=b\x00container=lxc\x00"}, "lxc"},
		{"kvm", "virtual", files{"/sys/class/dmi/id/sys_vendor": "QEMU\n"}, "kvm"},
		{"some hypervisor", "virtual", files{"/proc/cpuinfo": "flags\t\t: fpu hypervisor lm\n"}, "vm"},
		{"no hypervisor", "virtual", files{"/proc/cpuinfo": "flags\t\t: fpu lm\n"}, "none"},
		{"no network", "ipv4", nil, nil},
		{"no interfaces", "interfaces", nil, map[string]any{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := factsOf(t, c.files, nil).Fact(c.fact)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, %v; want %#v", got, err, c.want)
			}
		})
	}
}

func TestFactOverride(t *testing.T) {
	f := factsOf(t, nil, map[string]any{"hostname": "given", "rack": json.Number("7")})
	for name, want := range map[string]any{"hostname": "given", "rack": json.Number("7")} {
		if got, err := f.Fact(name); got != want || err != nil {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	_, err := f.Fact("hostnam")
	if err == nil || !strings.Contains(err.Error(), `there is no fact "hostnam"; there are arch, cpus,`) || !strings.Contains(err.Error(), "rack") {
		t.Errorf("error %v", err)
	}
}

// A fact is gathered once: what is changed later is not seen.
func TestFactOnce(t *testing.T) {
	m := host.NewMemory()
	f := host.NewFacts(m, nil)
	for _, name := range []string{"first", "second"} {
		if err := m.Add("/etc/hostname", name); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Fact("hostname"); got != "first" || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// On a real machine every fact can be gathered, and is plain data.
func TestFactsOfThisMachine(t *testing.T) {
	l := local(t, "")
	for _, h := range []host.Host{l, host.NewShadow(l), local(t, t.TempDir())} {
		f := host.NewFacts(h, nil)
		for _, name := range f.Names() {
			v, err := f.Fact(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !plain(v) {
				t.Errorf("%s is %#v", name, v)
			}
		}
		for _, name := range []string{"kernel", "arch", "cpus", "memory", "hostname", "user"} {
			if v, err := f.Fact(name); v == nil || v == "" {
				t.Errorf("no %s: %v", name, err)
			}
		}
	}
}

func plain(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, json.Number:
		return true
	case []any:
		for _, e := range v {
			if !plain(e) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range v {
			if !plain(e) {
				return false
			}
		}
		return true
	}
	return false
}

// Text in single quotes is read as it is; whatever the text, nothing breaks.
func FuzzParseOSRelease(f *testing.F) {
	f.Add("ID=debian\nNAME=\"Debian \\\"x\\\"\"\n#c\nA='b c'\n")
	f.Add("=\nX\nA=\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		for name := range host.ParseOSRelease(text) {
			if name == "" || strings.ContainsAny(name, " \t\n=") {
				t.Errorf("a value named %q", name)
			}
		}
		if strings.ContainsAny(text, "'\n\r") || strings.TrimSpace(text) != text {
			return
		}
		if got := host.ParseOSRelease("A='" + text + "'")["A"]; got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
