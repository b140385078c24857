package facts

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
)

// swap is the size of all swap in bytes.
func (f *Facts) swap() (any, error) { return f.meminfo("SwapTotal:") }

// machineID is what tells an installation from all others.
func (f *Facts) machineID() (any, error) {
	id := strings.TrimSpace(text(f.host, "/etc/machine-id"))
	if id == "uninitialized" { // what an image has: machine-id(5)
		id = ""
	}
	return word(id), nil
}

// bootID differs from boot to boot.
func (f *Facts) bootID() (any, error) {
	return word(text(f.machine, "/proc/sys/kernel/random/boot_id")), nil
}

// timezone is the zone that /etc/localtime leads to, or that is named in /etc/timezone.
func (f *Facts) timezone() (any, error) {
	if target, err := f.host.ReadLink("/etc/localtime"); err == nil {
		if _, zone, ok := strings.Cut(target, "/zoneinfo/"); ok {
			return zone, nil
		}
	}
	if zone := strings.TrimSpace(text(f.host, "/etc/timezone")); zone != "" {
		return zone, nil
	}
	return "UTC", nil
}

// locale is LANG of locale.conf(5), or of Debian's /etc/default/locale.
func (f *Facts) locale() (any, error) {
	for _, name := range []string{"/etc/locale.conf", "/etc/default/locale"} {
		if lang := ParseOSRelease(text(f.host, name))["LANG"]; lang != "" {
			return lang, nil
		}
	}
	return nil, nil
}

// dns is what resolv.conf(5) says.
func (f *Facts) dns() (any, error) {
	servers, search := []any{}, []any{}
	for line := range strings.Lines(text(f.host, "/etc/resolv.conf")) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "nameserver":
			servers = append(servers, words[1])
		case words[0] == "search" || words[0] == "domain": // the last one counts
			search = []any{}
			for _, domain := range words[1:] {
				search = append(search, domain)
			}
		}
	}
	return map[string]any{"servers": servers, "search": search}, nil
}

// mounts maps paths to what is mounted there, of proc_pid_mounts(5). Of several on one
// path the last one is seen.
func (f *Facts) mounts() (any, error) {
	out := map[string]any{}
	for line := range strings.Lines(text(f.machine, "/proc/self/mounts")) {
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		at := unescapeOctal(words[1])
		if kernelOnly(words[2]) {
			delete(out, at)
			continue
		}
		options := []any{}
		for option := range strings.SplitSeq(words[3], ",") {
			options = append(options, unescapeOctal(option))
		}
		out[at] = map[string]any{"device": unescapeOctal(words[0]), "type": words[2], "options": options}
	}
	return out, nil
}

// kernelOnly reports whether a file system holds no files of anybody.
func kernelOnly(typ string) bool {
	return slices.Contains([]string{"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "securityfs", "pstore",
		"bpf", "configfs", "fusectl", "autofs", "binfmt_misc", "hugetlbfs", "nsfs", "rpc_pipefs", "efivarfs", "selinuxfs", "devtmpfs", "ramfs"}, typ)
}

// unescapeOctal turns \040 and the like back into what they stand for.
func unescapeOctal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// disks maps the names of disks to what the kernel says about them: /sys/block.
func (f *Facts) disks() (any, error) {
	out := map[string]any{}
	entries, err := f.machine.ReadDir("/sys/block")
	if err != nil {
		return out, nil // there is no such kernel
	}
	for _, e := range entries {
		dir := path.Join("/sys/block", e.Name)
		sectors, err := strconv.ParseInt(strings.TrimSpace(text(f.machine, dir+"/size")), 10, 53)
		if err != nil || sectors == 0 || virtualDisk(e.Name) {
			continue
		}
		out[e.Name] = map[string]any{
			"size":       json.Number(strconv.FormatInt(sectors*512, 10)),
			"rotational": strings.TrimSpace(text(f.machine, dir+"/queue/rotational")) == "1",
			"model":      word(text(f.machine, dir+"/device/model")),
		}
	}
	return out, nil
}

func virtualDisk(name string) bool {
	return slices.ContainsFunc([]string{"loop", "ram", "zram", "dm-", "md", "nbd", "sr", "fd"}, func(kind string) bool {
		return strings.HasPrefix(name, kind)
	})
}

// cgroup is the version of control groups.
func (f *Facts) cgroup() (any, error) {
	switch {
	case exists(f.machine, "/sys/fs/cgroup/cgroup.controllers"):
		return json.Number("2"), nil
	case exists(f.machine, "/sys/fs/cgroup/memory"), exists(f.machine, "/sys/fs/cgroup/cpu"):
		return json.Number("1"), nil
	}
	return nil, nil
}

// selinux says whether the kernel confines programs by SELinux.
func (f *Facts) selinux() (any, error) {
	switch strings.TrimSpace(text(f.machine, "/sys/fs/selinux/enforce")) {
	case "1":
		return "enforcing", nil
	case "0":
		return "permissive", nil
	}
	return "disabled", nil
}

// apparmor says whether the kernel confines programs by AppArmor.
func (f *Facts) apparmor() (any, error) {
	return strings.TrimSpace(text(f.machine, "/sys/module/apparmor/parameters/enabled")) == "Y", nil
}

// product is what the firmware says.
func (f *Facts) product() (any, error) {
	return map[string]any{
		"vendor": word(text(f.machine, "/sys/class/dmi/id/sys_vendor")),
		"name":   word(text(f.machine, "/sys/class/dmi/id/product_name")),
	}, nil
}

// sshHostKeys are the public keys of the SSH server.
func (f *Facts) sshHostKeys() (any, error) {
	out := map[string]any{}
	entries, err := f.host.ReadDir("/etc/ssh")
	if err != nil {
		return out, nil // there is no server
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, "ssh_host_") || !strings.HasSuffix(e.Name, "_key.pub") {
			continue
		}
		if words := strings.Fields(text(f.host, path.Join("/etc/ssh", e.Name))); len(words) >= 2 {
			out[words[0]] = words[1]
		}
	}
	return out, nil
}

// isContainer says whether virtual is a container.
func (f *Facts) isContainer() (any, error) {
	v, err := f.Fact("virtual")
	return !slices.Contains([]any{"none", "vm", "kvm", "vmware", "virtualbox", "xen", "hyperv", "parallels"}, v), err
}

// capabilities is what can be done here, sorted.
func (f *Facts) capabilities() (any, error) {
	var names []string
	if f.actor() == 0 {
		names = append(names, "root")
	}
	facts := []string{"package_manager"}
	own := f.whole()
	if own {
		facts = append(facts, "init")
	}
	for _, fact := range facts {
		v, err := f.Fact(fact)
		if err != nil {
			return nil, err
		}
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	if own {
		names = append(names, f.rights()...)
	}
	slices.Sort(names)
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	return list, nil
}

// whole reports whether the host is a machine, and not a tree below a root.
func (f *Facts) whole() bool {
	return f.host.Running()
}

// rights names what this process may do to the kernel: capabilities(7).
func (f *Facts) rights() []string {
	var mask uint64
	for line := range strings.Lines(text(f.machine, "/proc/self/status")) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			mask, _ = strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		}
	}
	const netAdmin, sysModule, sysAdmin = 1 << 12, 1 << 16, 1 << 21
	var names []string
	if mask&netAdmin != 0 {
		names = append(names, "links")
	}
	if mask&sysModule != 0 && exists(f.machine, "/proc/modules") {
		names = append(names, "modules")
	}
	if mask&sysAdmin != 0 {
		names = append(names, "mount")
		if !f.readOnly("/proc/sys") {
			names = append(names, "sysctl")
		}
	}
	return names
}

// readOnly reports whether a path is mounted by itself, and cannot be written to.
func (f *Facts) readOnly(at string) bool {
	read := false
	for line := range strings.Lines(text(f.machine, "/proc/self/mounts")) {
		if words := strings.Fields(line); len(words) >= 4 && words[1] == at {
			read = slices.Contains(strings.Split(words[3], ","), "ro")
		}
	}
	return read
}
