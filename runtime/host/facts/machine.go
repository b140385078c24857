package facts

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
)

// kernel is the release of the running kernel.
func (f *Facts) kernel() (any, error) {
	return word(text(f.machine, "/proc/sys/kernel/osrelease")), nil
}

// arch is the machine's architecture by its Go name: amd64, arm64, …
func (f *Facts) arch() (any, error) { return runtime.GOARCH, nil }

// hostname is the name of the host without its domain.
func (f *Facts) hostname() (any, error) {
	name, _, _ := strings.Cut(f.name(), ".")
	return word(name), nil
}

// name is the host's name as it was set: by the kernel where the host runs,
// else by its own file.
func (f *Facts) name() string {
	for _, name := range []string{
		text(f.host, "/proc/sys/kernel/hostname"),
		text(f.host, "/etc/hostname"),
		text(f.machine, "/proc/sys/kernel/hostname"),
	} {
		if name = strings.TrimSpace(name); name != "" {
			return name
		}
	}
	return ""
}

// fqdn is the host's name with its domain: from the name itself, from
// /etc/hosts, or with the domain of /etc/resolv.conf. No server is asked.
func (f *Facts) fqdn() (any, error) {
	name := f.name()
	if strings.Contains(name, ".") {
		return name, nil
	}
	for line := range strings.Lines(text(f.host, "/etc/hosts")) {
		line, _, _ = strings.Cut(line, "#")
		names := strings.Fields(line)
		for i := 1; i < len(names); i++ {
			if names[i] == name && strings.HasPrefix(names[1], name+".") {
				return names[1], nil
			}
		}
	}
	for line := range strings.Lines(text(f.host, "/etc/resolv.conf")) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "domain" && name != "" {
			return name + "." + words[1], nil
		}
	}
	return word(name), nil
}

// cpus is the number of processors that this program may use.
func (f *Facts) cpus() (any, error) {
	if f.live {
		return json.Number(strconv.Itoa(runtime.NumCPU())), nil
	}
	n := 0
	for line := range strings.Lines(text(f.machine, "/proc/cpuinfo")) {
		if strings.HasPrefix(line, "processor") {
			n++
		}
	}
	return json.Number(strconv.Itoa(max(n, 1))), nil
}

// memory is the size of the main memory in bytes.
func (f *Facts) memory() (any, error) { return f.meminfo("MemTotal:") }

// meminfo gives a line of /proc/meminfo in bytes.
func (f *Facts) meminfo(name string) (any, error) {
	for line := range strings.Lines(text(f.machine, "/proc/meminfo")) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == name && words[2] == "kB" {
			kib, err := strconv.ParseInt(words[1], 10, 54)
			if err != nil {
				return nil, err
			}
			return json.Number(strconv.FormatInt(kib<<10, 10)), nil
		}
	}
	return nil, nil
}

// virtual says what the machine runs in: a container (docker, podman, lxc,
// systemd-nspawn, …), a virtual machine (kvm, vmware, …, or vm), or none.
func (f *Facts) virtual() (any, error) {
	if name := strings.TrimSpace(text(f.machine, "/run/systemd/container")); name != "" {
		return name, nil
	}
	switch {
	case exists(f.machine, "/.dockerenv"):
		return "docker", nil
	case exists(f.machine, "/run/.containerenv"):
		return "podman", nil
	}
	for v := range strings.SplitSeq(text(f.machine, "/proc/1/environ"), "\x00") {
		if name, ok := strings.CutPrefix(v, "container="); ok && name != "" {
			return name, nil
		}
	}
	dmi := text(f.machine, "/sys/class/dmi/id/sys_vendor") + text(f.machine, "/sys/class/dmi/id/product_name")
	for _, v := range []struct{ mark, name string }{
		{"VMware", "vmware"}, {"innotek", "virtualbox"}, {"VirtualBox", "virtualbox"}, {"Xen", "xen"},
		{"Virtual Machine", "hyperv"}, {"Parallels", "parallels"}, {"QEMU", "kvm"}, {"KVM", "kvm"},
		{"Amazon EC2", "kvm"}, {"Google", "kvm"},
	} {
		if strings.Contains(dmi, v.mark) {
			return v.name, nil
		}
	}
	for line := range strings.Lines(text(f.machine, "/proc/cpuinfo")) {
		name, flags, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "flags" && strings.Contains(flags+" ", " hypervisor ") {
			return "vm", nil
		}
	}
	return "none", nil
}
