package foreign

import "slices"

// Blocks are types of blocks in other tools. One that is On "part" is meant
// within a part.
func Blocks() []Word { return slices.Concat(blocksOfTasks(), blocksOfStates()) }

func blocksOfTasks() []Word {
	return []Word{
		{Name: "resource", Of: terraform, Write: `the type of the part comes first: file "/etc/motd" { … }`},
		{Name: "module", Of: terraform, Write: `write component "NAME" { source = "./DIR" }, with its inputs in vars = { … }`},
		{Name: "provider", Of: terraform, Write: "leave it out: the types of parts are built in"},
		{Name: "terraform", Of: terraform, Write: `leave it out, or write site { requires_version = ">= 1.2" }`},
		{Name: "dynamic", Of: terraform, On: "part", Write: "write each block out; many parts of one kind are made with for_each"},
		{Name: "lifecycle", Of: terraform, On: "part", Write: "leave it out: a part is changed in place, and removed only with ensure = \"absent\""},
		{Name: "provisioner", Of: terraform, On: "part", Write: `leave it out; a program is run by a part of its own: command "NAME" { argv = ["PROGRAM", "ARGUMENT"] }`},
		{Name: "remote-exec", Of: terraform, Write: `write command "NAME" { argv = ["PROGRAM", "ARGUMENT"] }, which runs on the host`},
		{Name: "local-exec", Of: terraform, Write: `write command "NAME" { argv = ["PROGRAM", "ARGUMENT"] } in a role of a host with executor = "local"`},
		{Name: "aws_security_group", Of: terraform, Write: `leave it out: networks and machines of a cloud are made elsewhere; a firewall of the host is file "/etc/nftables.conf" { … }, and reload "nftables" {} that it notifies`},
		{Name: "connection", Of: terraform, On: "part", Write: "leave it out; how a host is reached stands in its block: host \"NAME\" { address = … }"},
		{Name: "timeouts", Of: terraform, On: "part", Write: `write timeout = "5m"`},
		{Name: "removed", Of: terraform, Write: `leave it out: tenet apply --prune removes what is no longer declared, tenet forget lets go of it; or keep the part, with ensure = "absent"`},
		{Name: "import", Of: terraform, Write: "leave it out: what is on a host already is taken as it is"},
		{Name: "local", Of: terraform, Write: "write locals { NAME = … }"},
		{Name: "variables", Of: terraform, Write: `declare each: variable "NAME" { … }; or write locals { NAME = … }`},
		{Name: "outputs", Of: terraform, Write: `declare each: output "NAME" { value = … }`},
		{Name: "local_file", Of: terraform, Write: `write file "/etc/motd" { … }`},
		{Name: "null_resource", Of: terraform, Write: `write command "NAME" { … }, or state "NAME" { … }`},

		{Name: "task", Of: ansible, Write: `write the type of the part: package "nginx" { … }; several in their order stand in state "NAME" { … }`},
		{Name: "tasks", Of: ansible, Write: `write the parts themselves; several in their order stand in state "NAME" { … }`},
		{Name: "play", Of: ansible, Write: `write role "NAME" { … }, and give it to hosts: host "NAME" { roles = ["NAME"] }`},
		{Name: "hosts", Of: ansible, Write: `declare each: host "NAME" { … }; several are host_group "NAME" { hosts = ["web*"] }`},
		{Name: "handlers", Of: ansible, Write: `declare each: handler "NAME" { … }; a restart or reload at top level is one by itself: restart "nginx" {}`},
		{Name: "vars", Of: ansible, Write: `declare each: variable "NAME" { default = … }; or write locals { NAME = … }`},
		{Name: "set_fact", Of: ansible, Write: "write locals { NAME = … }"},
		{Name: "copy", Of: ansible, Write: `write file "/etc/motd" { content = "…" }, or source = "FILE" for a file of the site`},
		{Name: "template", Of: ansible, Write: `write file "/etc/app.conf" { content = template("app.conf.tmpl", { NAME = … }) }`},
		{Name: "assemble", Of: ansible, Write: `write file "PATH" { content = join("", [read("a"), read("b")]) }`},
		{Name: "lineinfile", Of: ansible, Write: `write line "NAME" { path = "/etc/hosts" line = "…" }, each attribute on a line of its own`},
		{Name: "blockinfile", Of: ansible, Write: `write marked_block "NAME" { path = "/etc/hosts" content = "…" }, each attribute on a line of its own`},
		{Name: "ini_file", Of: ansible, Write: `write setting "NAME" { path = "/etc/app.ini" key = "section.name" value = … }, each attribute on a line of its own`},
		{Name: "synchronize", Of: ansible, Write: `write tree "PATH" { source = "DIRECTORY OF THE SITE" }`},
		{Name: "apt", Of: ansible, Write: `write package "nginx" {}`},
		{Name: "yum", Of: ansible, Write: `write package "nginx" {}`},
		{Name: "dnf", Of: ansible, Write: `write package "nginx" {}`},
		{Name: "apk", Of: ansible, Write: `write package "nginx" {}`},
		{Name: "pip", Of: ansible, Write: `write command "NAME" { argv = ["pip", "install", "NAME"] creates = PATH }, each attribute on a line of its own`},
		{Name: "shell", Of: ansible, Write: `write command "NAME" { shell = "LINE" }`},
		{Name: "raw", Of: ansible, Write: `write command "NAME" { shell = "LINE" }`},
		{Name: "script", Of: ansible, Write: `write file for the script, and command "NAME" { argv = [PATH] }`},
		{Name: "systemd", Of: ansible, Write: `write service "nginx" { running = true }`},
		{Name: "systemd_service", Of: ansible, Write: `write service "nginx" { running = true }`},
		{Name: "debug", Of: ansible, Write: `write print "NAME" { message = "…" }`},
		{Name: "stat", Of: ansible, Write: "write a guard in the part that needs it: only_if { exists = PATH }"},
		{Name: "unarchive", Of: ansible, Write: `write archive "DIRECTORY" { file = "ARCHIVE" }`},
		{Name: "get_url", Of: ansible, Write: `write download "PATH" { url = "URL" checksum = "sha256:…" }, each attribute on a line of its own`},
		{Name: "uri", Of: ansible, Write: `write http "NAME" { url = "URL" }`},
		{Name: "fail", Of: ansible, Write: `write assert "NAME" { that = CONDITION message = "…" }, each attribute on a line of its own`},
		{Name: "x509_certificate", Of: ansible, Write: `write certificate "PATH" { private_key = "PATH" names = ["…"] }, each attribute on a line of its own`},
		{Name: "authorized_key", Of: ansible, Write: `write authorized_keys "USER" { keys = ["ssh-ed25519 …"] }`},
		{Name: "known_hosts", Of: ansible, Write: `write known_host "HOST" { keys = ["ssh-ed25519 …"] }`},
		{Name: "modprobe", Of: ansible, Write: `write kernel_module "NAME" {}`},
		{Name: "pam_limits", Of: ansible, Write: `write limits "USER" { type = "soft" item = "nofile" value = "4096" }, each attribute on a line of its own`},
		{Name: "locale_gen", Of: ansible, Write: `write locale "de_DE.UTF-8" {}`},
		{Name: "include_tasks", Of: ansible, Write: "all state files of a directory are one site; what is used several times is a component"},
		{Name: "import_tasks", Of: ansible, Write: "all state files of a directory are one site; what is used several times is a component"},
	}
}

func blocksOfStates() []Word {
	return []Word{
		{Name: "pkg", Of: salt, Write: `write package "nginx" {}`},
		{Name: "cmd", Of: salt, Write: `write command "NAME" { argv = ["PROGRAM", "ARGUMENT"] }`},
		{Name: "include", Of: salt, Write: "all state files of a directory are one site; what is used several times is a component"},

		{Name: "exec", Of: puppet, Write: `write command "NAME" { argv = ["PROGRAM", "ARGUMENT"] }`},
		{Name: "augeas", Of: puppet, Write: `write setting "NAME" { path = "/etc/app.ini" key = "section.name" value = … }, or line "NAME" { … }, each attribute on a line of its own`},
		{Name: "vcsrepo", Of: puppet, Write: `write git "PATH" { url = "URL" ref = "…" }, each attribute on a line of its own`},
		{Name: "file_line", Of: puppet, Write: `write line "NAME" { path = "/etc/hosts" line = "…" }, each attribute on a line of its own`},
		{Name: "class", Of: puppet, Write: `write state "NAME" { … }, with param "NAME" { … } for its parameters; in a directory of its own it is a component`},
		{Name: "define", Of: puppet, Write: `write state "NAME" { … }, with param "NAME" { … } for its parameters; in a directory of its own it is a component`},
		{Name: "node", Of: puppet, Write: `write host "NAME" { … }, and what belongs to it into role "NAME" { … }`},
		{Name: "ssh_authorized_key", Of: puppet, Write: `write authorized_keys "USER" { keys = ["ssh-ed25519 …"] }`},
		{Name: "sshkey", Of: puppet, Write: `write known_host "HOST" { keys = ["ssh-ed25519 …"] }`},

		{Name: "if", Write: "write when = CONDITION in the part or state, or a conditional value: CONDITION ? A : B"},
		{Name: "for", Write: "write for_each = LIST in the part or state, and each.key for the element"},
		{Name: "foreach", Write: "write for_each = LIST in the part or state, and each.key for the element"},
		{Name: "link", Write: `write symlink "PATH" { target = "PATH" }`},
		{Name: "dir", Write: `write directory "PATH" {}`},
		{Name: "mkdir", Write: `write directory "PATH" {}`},
		{Name: "folder", Write: `write directory "PATH" {}`},
	}
}
