package facts

// Doc describes a fact.
type Doc struct {
	Name string `json:"name"`
	Type string `json:"type"` // in the words of the language
	Doc  string `json:"doc"`
}

// Docs describes the facts, sorted by name.
func Docs() []Doc {
	return []Doc{
		{"apparmor", "bool", "Whether the kernel confines programs by AppArmor."},
		{"arch", "string", `The architecture, by its name in Go: "amd64", "arm64", "arm", "riscv64", …`},
		{"boot_id", "string", "Differs from boot to boot. Null where the kernel gives none."},
		{"capabilities", "list of strings", `What can be done here, by the user who acts: "root"; the init system and the package manager by their names ("systemd", "apt"); and, in the machine itself, not in a tree below --root, "links" (network devices may be changed), "mount", "modules" (of the kernel) and "sysctl". Use it for selection: when = contains(fact.capabilities, "links").`},
		{"cgroup", "number", "The version of control groups, 1 or 2. Null: there are none."},
		{"container", "bool", "Whether the machine is a container: virtual says which."},
		{"cpus", "number", "How many processors there are for this program."},
		{"disks", "map of objects", "The disks by their names, such as sda: size in bytes, rotational (bool), model."},
		{"dns", "object", "servers and search, as /etc/resolv.conf lists them."},
		{"fqdn", "string", "The name with its domain, from the name itself, /etc/hosts or /etc/resolv.conf. No server is asked."},
		{"gateway", "object", "Where other networks are reached: interface, ipv4 and ipv6, each null where there is none."},
		{"home", "string", "The acting user's directory."},
		{"hostname", "string", "The name without its domain."},
		{"init", "string", `What runs as process 1: "systemd", "openrc", "sysv", "runit", … Null: none of them.`},
		{"interfaces", "map of objects", `The network devices by their names: addresses with prefix length, such as "192.0.2.7/24", mac, mtu, up.`},
		{"ipv4", "string", "The main address: of the device that the default route goes through, else the first that reaches beyond this machine. Null: there is none."},
		{"ipv6", "string", "The same for IPv6."},
		{"kernel", "string", `The release of the running kernel, such as "6.1.0-18-amd64".`},
		{"locale", "string", `The language that the system is set to, such as "en_GB.UTF-8". Null: none is set.`},
		{"login", "string", "The account by which tenet has logged in to the machine over SSH, whatever it became then. Null: it was started there."},
		{"machine_id", "string", "What tells this installation from all others, of /etc/machine-id. Null: there is none."},
		{"memory", "number", "The size of the main memory in bytes."},
		{"mounts", "map of objects", "What is mounted, by the path: device, type and options (list). The kernel's own file systems, such as proc, are left out."},
		{"os", "object", `The distribution: id ("debian"), family ("debian", "redhat", "suse", "arch", "alpine", …), version ("12", "9.3"), major ("12", "9"), codename ("bookworm"), name ("Debian GNU/Linux"). What it does not say is "".`},
		{"package_manager", "string", `The first that is installed of "apt", "dnf", "yum", "zypper", "apk", "pacman", "emerge". Null: none.`},
		{"product", "object", "What the firmware says: vendor and name, each null where it says nothing."},
		{"selinux", "string", `"enforcing", "permissive" or "disabled".`},
		{"ssh_host_keys", "map of strings", `The public keys of the machine's SSH server, by their type: "ssh-ed25519" → "AAAA…".`},
		{"swap", "number", "The size of all swap in bytes."},
		{"timezone", "string", `The time zone, such as "Europe/Berlin"; "UTC" where none is set.`},
		{"uid", "number", "The acting user's number."},
		{"user", "string", "The acting user's name, or its number where it has none."},
		{"virtual", "string", `What the machine runs in: a container ("docker", "podman", "lxc", "systemd-nspawn", …), a virtual machine ("kvm", "vmware", … or "vm"), or "none".`},
	}
}
