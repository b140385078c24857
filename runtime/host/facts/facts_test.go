package facts_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
)

func factsOf(t *testing.T, files map[string]string, overrides map[string]any) *facts.Facts {
	t.Helper()
	m := host.NewMemory()
	for path, text := range files {
		if err := m.Add(path, text); err != nil {
			t.Fatal(err)
		}
	}
	return facts.New(m, overrides)
}

func local(t *testing.T, root string) *host.Local {
	t.Helper()
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return h
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
			map[string]any{"id": "debian", "family": "debian", "version": "12", "major": "12", "codename": "bookworm", "name": "Debian GNU/Linux"}},
		{"rocky", "os", files{"/usr/lib/os-release": "NAME='Rocky Linux'\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=9.3\n"},
			map[string]any{"id": "rocky", "family": "redhat", "version": "9.3", "major": "9", "codename": "", "name": "Rocky Linux"}},
		{"derived", "os", files{"/etc/os-release": "ID=mint\nID_LIKE=\"ubuntu debian\"\n"},
			map[string]any{"id": "mint", "family": "debian", "version": "", "major": "", "codename": "", "name": "mint"}},
		{"no os-release", "os", nil,
			map[string]any{"id": "linux", "family": "linux", "version": "", "major": "", "codename": "", "name": "linux"}},
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
		{"ubuntu", "os", files{"/etc/os-release": "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nVERSION=\"24.04.1 LTS (Noble Numbat)\"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\n"},
			map[string]any{"id": "ubuntu", "family": "debian", "version": "24.04", "major": "24", "codename": "noble", "name": "Ubuntu"}},
		{"alpine", "os", files{"/etc/os-release": "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME=\"Alpine Linux v3.20\"\n"},
			map[string]any{"id": "alpine", "family": "alpine", "version": "3.20.3", "major": "3", "codename": "", "name": "Alpine Linux"}},
		{"fedora", "os", files{"/etc/os-release": "NAME=\"Fedora Linux\"\nVERSION=\"41 (Server Edition)\"\nRELEASE_TYPE=stable\nID=fedora\nVERSION_ID=41\nVERSION_CODENAME=\"\"\nPLATFORM_ID=\"platform:f41\"\n"},
			map[string]any{"id": "fedora", "family": "redhat", "version": "41", "major": "41", "codename": "", "name": "Fedora Linux"}},
		{"arch linux", "os", files{"/etc/os-release": "NAME=\"Arch Linux\"\nPRETTY_NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\nANSI_COLOR=\"38;2;23;147;209\"\n"},
			map[string]any{"id": "arch", "family": "arch", "version": "", "major": "", "codename": "", "name": "Arch Linux"}},
		{"opensuse", "os", files{"/etc/os-release": "NAME=\"openSUSE Leap\"\nVERSION=\"15.6\"\nID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\n"},
			map[string]any{"id": "opensuse-leap", "family": "suse", "version": "15.6", "major": "15", "codename": "", "name": "openSUSE Leap"}},
		{"amazon", "os", files{"/etc/os-release": "NAME=\"Amazon Linux\"\nVERSION=\"2023\"\nID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\n"},
			map[string]any{"id": "amzn", "family": "redhat", "version": "2023", "major": "2023", "codename": "", "name": "Amazon Linux"}},
		{"swap", "swap", files{"/proc/meminfo": "MemTotal: 1 kB\nSwapTotal:       2048 kB\n"}, json.Number("2097152")},
		{"machine id", "machine_id", files{"/etc/machine-id": "0123456789abcdef0123456789abcdef\n"}, "0123456789abcdef0123456789abcdef"},
		{"machine id of an image", "machine_id", files{"/etc/machine-id": "uninitialized\n"}, nil},
		{"boot id", "boot_id", files{"/proc/sys/kernel/random/boot_id": "a-b\n"}, "a-b"},
		{"time zone in a file", "timezone", files{"/etc/timezone": "Asia/Tokyo\n"}, "Asia/Tokyo"},
		{"no time zone", "timezone", nil, "UTC"},
		{"locale", "locale", files{"/etc/locale.conf": "LANG=\"de_DE.UTF-8\"\n"}, "de_DE.UTF-8"},
		{"locale of debian", "locale", files{"/etc/default/locale": "#  x\nLANG=C.UTF-8\n"}, "C.UTF-8"},
		{"no locale", "locale", nil, nil},
		{"dns", "dns", files{"/etc/resolv.conf": "# x\ndomain a.test\nsearch b.test c.test\nnameserver 192.0.2.1\nnameserver 2001:db8::1\noptions edns0\n"},
			map[string]any{"servers": []any{"192.0.2.1", "2001:db8::1"}, "search": []any{"b.test", "c.test"}}},
		{"no dns", "dns", nil, map[string]any{"servers": []any{}, "search": []any{}}},
		{"mounts", "mounts", files{"/proc/self/mounts": "/dev/sda1 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\n/dev/sdb1 /srv/a\\040b xfs ro 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/sdc /tmp ext4 rw 0 0\nbroken\n"},
			map[string]any{
				"/":        map[string]any{"device": "/dev/sda1", "type": "ext4", "options": []any{"rw", "relatime"}},
				"/srv/a b": map[string]any{"device": "/dev/sdb1", "type": "xfs", "options": []any{"ro"}},
				"/tmp":     map[string]any{"device": "/dev/sdc", "type": "ext4", "options": []any{"rw"}},
			}},
		{"disks", "disks", files{"/sys/block/sda/size": "2048\n", "/sys/block/sda/queue/rotational": "1\n", "/sys/block/sda/device/model": "DISK 1  \n",
			"/sys/block/loop0/size": "8\n", "/sys/block/sr0/size": "8\n", "/sys/block/sdb/size": "0\n", "/sys/block/nvme0n1/size": "2\n", "/sys/block/nvme0n1/queue/rotational": "0\n"},
			map[string]any{
				"sda":     map[string]any{"size": json.Number("1048576"), "rotational": true, "model": "DISK 1"},
				"nvme0n1": map[string]any{"size": json.Number("1024"), "rotational": false, "model": nil},
			}},
		{"no disks", "disks", nil, map[string]any{}},
		{"cgroup 2", "cgroup", files{"/sys/fs/cgroup/cgroup.controllers": "cpu\n"}, json.Number("2")},
		{"cgroup 1", "cgroup", files{"/sys/fs/cgroup/memory/tasks": ""}, json.Number("1")},
		{"no cgroup", "cgroup", nil, nil},
		{"selinux", "selinux", files{"/sys/fs/selinux/enforce": "1"}, "enforcing"},
		{"selinux that warns", "selinux", files{"/sys/fs/selinux/enforce": "0"}, "permissive"},
		{"no selinux", "selinux", nil, "disabled"},
		{"apparmor", "apparmor", files{"/sys/module/apparmor/parameters/enabled": "Y\n"}, true},
		{"no apparmor", "apparmor", nil, false},
		{"product", "product", files{"/sys/class/dmi/id/sys_vendor": "LENOVO\n", "/sys/class/dmi/id/product_name": "20XW\n"}, map[string]any{"vendor": "LENOVO", "name": "20XW"}},
		{"host keys", "ssh_host_keys", files{"/etc/ssh/ssh_host_ed25519_key.pub": "ssh-ed25519 AAAA root@host\n", "/etc/ssh/ssh_host_ed25519_key": "secret", "/etc/ssh/ssh_host_rsa_key.pub": "broken"},
			map[string]any{"ssh-ed25519": "AAAA"}},
		{"container", "container", files{"/.dockerenv": ""}, true},
		{"no container", "container", files{"/sys/class/dmi/id/sys_vendor": "QEMU\n"}, false},
		{"gateway", "gateway", files{"/proc/net/route": "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\nwlan0 00000000 FE02A8C0 3 0 0 600 00000000\neth0 00000000 0102A8C0 3 0 0 100 00000000\neth0 0002A8C0 00000000 1 0 0 100 00FFFFFF\n",
			"/proc/net/ipv6_route": strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 fe800000000000000000000000000001 00000400 1 0 3 eth0\n"},
			map[string]any{"interface": "eth0", "ipv4": "192.168.2.1", "ipv6": "fe80::1"}},
		{"no gateway", "gateway", nil, map[string]any{"interface": nil, "ipv4": nil, "ipv6": nil}},
		{"capabilities", "capabilities", files{"/usr/bin/apt-get": "", "/run/systemd/system/x": "", "/proc/modules": "",
			"/proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n", "/proc/self/mounts": "proc /proc/sys proc ro,nosuid 0 0\n"},
			[]any{"apt", "links", "modules", "mount", "root", "systemd"}},
		{"few capabilities", "capabilities", files{"/proc/self/status": "CapEff:\t0000000000000000\n"}, []any{"root"}},
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
	if err == nil || err.Error() != `there is no fact "hostnam"` || diag.HintOf(err) != `did you mean "hostname"?` {
		t.Errorf("error %v, %s", err, diag.HintOf(err))
	}
	_, err = f.Fact("distribution")
	if hint := diag.HintOf(err); !strings.HasPrefix(hint, "there are apparmor, arch,") || !strings.Contains(hint, "rack") {
		t.Errorf("error %v, %s", err, hint)
	}
}

// A fact is gathered once: what is changed later is not seen.
func TestFactOnce(t *testing.T) {
	m := host.NewMemory()
	f := facts.New(m, nil)
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
		f := facts.New(h, nil)
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
		for name := range facts.ParseOSRelease(text) {
			if name == "" || strings.ContainsAny(name, " \t\n=") {
				t.Errorf("a value named %q", name)
			}
		}
		if strings.ContainsAny(text, "'\n\r") || strings.TrimSpace(text) != text {
			return
		}
		if got := facts.ParseOSRelease("A='" + text + "'")["A"]; got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// Every fact is described, and is what its description says; an override, too, is
// one.
func TestFactDocs(t *testing.T) {
	f := facts.New(local(t, ""), nil)
	var names []string
	for _, d := range facts.Docs() {
		names = append(names, d.Name)
		if !strings.HasSuffix(strings.TrimRight(d.Doc, "…"), ".") && !strings.HasSuffix(d.Doc, "…") {
			t.Errorf("%s: %q is no sentence", d.Name, d.Doc)
		}
		v, err := f.Fact(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]string{"string": "string", "bool": "bool", "number": "json.Number", "object": "map[string]interface {}", "map": "map[string]interface {}", "list": "[]interface {}"}
		kind, _, _ := strings.Cut(d.Type, " ")
		if v != nil && fmt.Sprintf("%T", v) != kinds[kind] {
			t.Errorf("%s is a %T, not a %s", d.Name, v, d.Type)
		}
	}
	if !slices.Equal(names, f.Names()) {
		t.Errorf("described are %q, and there are %q", names, f.Names())
	}
}

// A controller asks which facts there are without having a host.
func TestNamesOfFactsWithoutAHost(t *testing.T) {
	if names := facts.New(nil, nil).Names(); !slices.Contains(names, "hostname") {
		t.Errorf("there is no hostname among %q", names)
	}
}
