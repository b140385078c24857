package foreign

// Attributes are attributes of other tools. The first that fits counts, so that
// one for a certain value or type stands before the one for all.
func Attributes() []Word {
	return concat(requisites(), loops(), conditions(), ensureValues(), outcomes(), fileAttributes(), otherAttributes())
}

func concat(tables ...[]Word) []Word {
	var all []Word
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

func requisites() []Word {
	const listen = "let a restart or reload of its own listen: restart \"NAME\" { listen = [TYPE.LABEL] }"
	return []Word{
		{Name: "depends_on", Of: terraform, Write: "write require = [TYPE.LABEL], references without quotes"},
		{Name: "require_in", Of: salt, Write: "write it the other way round, in what comes later: require = [TYPE.LABEL]"},
		{Name: "watch_in", Of: salt, Write: "write notify = [restart.NAME], and a handler restart \"NAME\" {}"},
		{Name: "onchanges_in", Of: salt, Write: "write notify = [state.NAME]"},
		{Name: "onfail_in", Of: salt, Write: "write notify_failure = [state.NAME]"},
		{Name: "watch", Of: salt, On: "restart", Write: "write listen = [TYPE.LABEL]"},
		{Name: "watch", Of: salt, On: "reload", Write: "write listen = [TYPE.LABEL]"},
		{Name: "watch", Of: salt, On: "state", Write: "write listen = [TYPE.LABEL]"},
		{Name: "watch", Of: salt, On: "handler", Write: "write listen = [TYPE.LABEL]"},
		{Name: "watch", Of: salt, Write: listen},
		{Name: "onchanges", Of: salt, Write: "write listen = [TYPE.LABEL] on a handler: a restart, a reload, or handler \"NAME\" { … }"},
		{Name: "onfail", Of: salt, Write: "write listen_failure = [TYPE.LABEL] on a handler: a restart, a reload, or handler \"NAME\" { … }"},
		{Name: "prereq", Of: salt, Write: "write only_if { would_change = [TYPE.LABEL] }"},
		{Name: "before", Of: puppet, Write: "write it the other way round, in what comes later: require = [TYPE.LABEL]"},
		{Name: "subscribe", Of: puppet, On: "restart", Write: "write listen = [TYPE.LABEL]"},
		{Name: "subscribe", Of: puppet, On: "reload", Write: "write listen = [TYPE.LABEL]"},
		{Name: "subscribe", Of: puppet, Write: listen},
		{Name: "refreshonly", Of: puppet, Write: "put it into handler \"NAME\" { … }, and let others notify that"},
		{Name: "order", Of: salt, Write: "write require = [TYPE.LABEL]; the parts of a state keep the order in which they stand"},
		{Name: "stage", Of: puppet, Write: "write require = [block.NAME]"},
		{Name: "handlers", Of: ansible, Write: "a restart or reload at top level waits until it is notified: restart \"nginx\" {}"},
	}
}

func loops() []Word {
	const each = "write for_each = LIST, and each.key for the element; of a map also each.value"
	var words []Word
	for _, name := range []string{"loop", "with_items", "with_dict", "with_list", "with_flattened", "with_nested",
		"with_sequence", "with_fileglob", "loop_control"} {
		words = append(words, Word{Name: name, Of: ansible, Write: each})
	}
	return append(words,
		Word{Name: "count", Of: terraform, Write: "write for_each over a list of names, and each.key for the name: for_each = [\"a\", \"b\"]"},
		Word{Name: "names", Of: salt, Write: each},
		Word{Name: "pkgs", Of: salt, Write: "write for_each = [\"curl\", \"git\"]: a part for each, installed in one go"},
		Word{Name: "packages", Write: "write for_each = [\"curl\", \"git\"]: a part for each, installed in one go"})
}

func conditions() []Word {
	return []Word{
		{Name: "onlyif", Of: "Salt and Puppet", Write: `write only_if { command = ["PROGRAM", "ARGUMENT"] }, or only_if { exists = PATH }`},
		{Name: "if", Write: "write when = CONDITION"},
		{Name: "check_mode", Of: ansible, Write: "leave it out: tenet plan runs everything on a shadow of the host"},
		{Name: "changed_when", Of: ansible, Write: "write changed_if = CONDITION"},
		{Name: "failed_when", Of: ansible, Write: "write failed_if = CONDITION"},
		{Name: "test", Write: "write only_if { … } or when = CONDITION"},
	}
}

// ensureValues are values of ensure and of Ansible's state.
func ensureValues() []Word {
	var words []Word
	add := func(of string, write string, values ...string) {
		for _, v := range values {
			words = append(words, Word{Name: "ensure", Of: of, Value: v, Write: write})
		}
	}
	add(puppet, `write ensure = "present", or leave it out`, "installed", "true", "created", "exists")
	add(puppet, `write ensure = "absent"`, "removed", "deleted", "uninstalled", "false")
	add(puppet, `write ensure = "absent" and purge = true`, "purged")
	add(puppet, `write version = "latest" in its place`, "latest")
	add(puppet, "write running = true in its place", "running", "started")
	add(puppet, "write running = false in its place", "stopped")
	add(puppet, `the type says so: directory "PATH" {}`, "directory")
	add(puppet, `the type says so: symlink "PATH" { target = "PATH" }`, "link", "symlink")
	add(puppet, "leave it out: the type says so", "file")
	add(ansible, `write a handler in its place, and notify it: restart "nginx" {} or reload "nginx" {}`, "restarted", "reloaded")
	for _, w := range words {
		words = append(words, Word{Name: "state", Of: ansible, Value: w.Value, Write: w.Write})
	}
	return append(words,
		Word{Name: "state", Of: ansible, Value: "present", Write: `write ensure = "present", or leave it out`},
		Word{Name: "state", Of: ansible, Value: "absent", Write: `write ensure = "absent"`},
		Word{Name: "state", Of: ansible, Value: "touch", Write: "leave it out; a file without content is empty when it is new"},
		Word{Name: "state", Of: ansible, Write: `write ensure = "present" or "absent"`},
		Word{Name: "present", Write: `write ensure = "present", or leave it out`},
		Word{Name: "absent", Write: `write ensure = "absent"`})
}

// outcomes are about what follows an act.
func outcomes() []Word {
	return []Word{
		{Name: "register", Of: ansible, Write: "leave it out: what a part gives is read by its address, as in command.NAME.stdout"},
		{Name: "ignore_errors", Of: ansible, Write: "write ignore_failure = true"},
		{Name: "no_log", Of: ansible, Write: "write sensitive = true"},
		{Name: "become_user", Of: ansible, Write: `write become = "USER"`},
		{Name: "become_method", Of: ansible, Write: `leave it out, and write become = true or become = "USER"; on a host or a host_group it is the same word`},
		{Name: "sudo", Of: ansible, Write: "write become = true"},
		{Name: "runas", Of: salt, Write: `write become = "USER"`},
		{Name: "delegate_to", Of: ansible, Write: "put the part into a role of that host: role \"NAME\" { … }; what is to run there around each batch of a rollout is its before_each and after_each"},
		{Name: "run_once", Of: ansible, Write: "put the part into a role of one host: role \"NAME\" { … }"},
		{Name: "serial", Of: ansible, On: "rollout", Write: `write batch = 1 or batch = "20%"`},
		{Name: "serial", Of: ansible, Write: `say it for the whole site: rollout { batch = "20%" }`},
		{Name: "max_fail_percentage", Of: ansible, On: "rollout", Write: `write max_failures = "10%"`},
		{Name: "max_fail_percentage", Of: ansible, Write: `say it for the whole site: rollout { max_failures = "10%" }`},
		{Name: "pre_tasks", Of: ansible, Write: "put the parts into a state, and let others require it; what is to run elsewhere before each batch of a rollout: before_each { hosts = \"@lb\" state = state.drain }"},
		{Name: "post_tasks", Of: ansible, Write: "put the parts into a state that requires the others; what is to run elsewhere after each batch of a rollout: after_each { hosts = \"@lb\" state = state.undrain }"},
		{Name: "children", Of: ansible, On: "host group", Write: `name the groups among its hosts: hosts = ["@eu", "@us"]`},
		{Name: "retries", Of: ansible, Write: `write retry = { attempts = 3, delay = "2s" }`},
		{Name: "until", Of: ansible, Write: `write retry = { attempts = 3, delay = "2s" }`},
		{Name: "delay", Of: ansible, Write: `write retry = { attempts = 3, delay = "2s" }`},
		{Name: "tries", Of: puppet, Write: `write retry = { attempts = 3, delay = "2s" }`},
		{Name: "async", Of: ansible, Write: `write timeout = "5m"; what does not depend on each other runs at the same time anyway`},
		{Name: "poll", Of: ansible, Write: "leave it out"},
		{Name: "failhard", Of: salt, Write: "leave it out: what fails stops all that requires it"},
		{Name: "gather_facts", Of: ansible, Write: "leave it out: a fact is gathered where it is named"},
		{Name: "hosts", Of: ansible, Write: `put the parts into role "NAME" { … }, and give hosts the role: host "NAME" { roles = ["NAME"] }`},
		{Name: "tasks", Of: ansible, Write: `write the parts themselves; several in their order stand in state "NAME" { … }`},
		{Name: "provider", Of: "Terraform and Puppet", Write: "leave it out: tenet finds out how the host does it"},
		{Name: "triggers", Of: terraform, Write: "write listen = [TYPE.LABEL] on a handler, or a guard: unless { … }"},
		{Name: "noop", Of: puppet, Write: "leave it out: tenet plan shows what would be done"},
		{Name: "alias", Of: puppet, Write: "the label of the block is its name"},
		{Name: "comment", On: "state", Write: "write description = \"…\""},
		{Name: "doc", Write: "write description = \"…\""},
	}
}

func fileAttributes() []Word {
	var words []Word
	add := func(on string, write string, names ...string) {
		for _, name := range names {
			words = append(words, Word{Name: name, On: on, Write: write})
		}
	}
	add("file", "write content = \"…\"", "contents", "text", "body")
	add("file", `write source = "FILE" for a file of the site, or content = "…"`, "src")
	add("file", `write content = template("FILE", { NAME = … })`, "template", "context", "vars")
	for _, on := range []string{"file", "directory", "symlink", "line"} {
		add(on, `write path = "/etc/…", or give the path as the label`, "dest", "destination", "filename", "file", "name")
	}
	for _, on := range []string{"file", "directory"} {
		add(on, `write owner = "USER"`, "user", "uid")
		add(on, `write mode = "0644"`, "permissions", "perms", "file_permission", "chmod")
		add(on, `leave it out, and declare the directory: directory "PATH" {}; it is made before what lies in it`, "makedirs", "dir_mode", "create_dirs")
	}
	add("directory", "write parents = true", "recursive")
	add("absent", "write force = true", "recursive", "recurse")
	add("directory", "leave it out; a file in it is a part of its own: file \"PATH\" { content = \"…\" }", "content", "source")
	add("symlink", `write target = "PATH"`, "src", "source", "to")
	add("symlink", "write replace = true", "force")
	add("line", "write match = \"REGULAR EXPRESSION\"", "regexp", "regex", "pattern")
	add("line", "write after = \"REGULAR EXPRESSION\"", "insertafter")
	add("line", "write before = \"REGULAR EXPRESSION\"", "insertbefore")
	add("line", `write line = "…"`, "text", "content")
	return words
}

func otherAttributes() []Word {
	var words []Word
	add := func(on string, write string, names ...string) {
		for _, name := range names {
			words = append(words, Word{Name: name, On: on, Write: write})
		}
	}
	add("command", `write argv = ["PROGRAM", "ARGUMENT"], or shell = "LINE" for a line of shell`, "cmd", "command", "name", "run", "exec", "script", "args", "program", "_raw_params")
	add("command", `write dir = "PATH"`, "chdir", "cwd", "workdir", "working_dir")
	add("command", "write env = { NAME = \"VALUE\" }", "environment", "environ")
	add("service", "write running = true", "started", "status", "active", "enable_now")
	add("service", "write enabled = true", "enable", "boot")
	add("service", `write a handler, and notify it: restart "nginx" {} or reload "nginx" {}`, "restart", "reload", "hasrestart", "daemon_reload")
	add("package", `leave it out: the list of packages is brought up to date where one is missing`, "update_cache", "refresh", "cache_valid_time")
	add("package", `write one part for each: for_each = ["curl", "git"]`, "list")
	add("user", `write home = "PATH"`, "homedir", "home_dir")
	add("user", "write create_home = true", "managehome", "createhome")
	add("user", "write group = \"GROUP\"", "gid", "primary_group")
	add("user", `write component "NAME" { source = "std/users" }, which knows keys`, "ssh_authorized_keys", "keys", "authorized_keys")
	add("assert", "write that = CONDITION", "condition", "assertion")
	add("assert", `write message = "…"`, "fail_msg", "msg", "error_message")
	add("http", `write expect = ["200"]`, "status_code", "status_codes")
	add("http", `write send = "…", or json = VALUE`, "data", "body_format")
	add("http", `write ca = "PATH"`, "ca_path", "cacert", "validate_certs")
	add("wait_for", `write within = "5m"`, "deadline", "max_wait")
	add("wait_for", `write every = "1s"`, "sleep", "interval")
	add("wait_for", "write gone = true to wait until it is not so any more", "closed")
	add("wait_for", `write matches = "REGULAR EXPRESSION"`, "search_regex", "regex", "regexp")
	add("download", `write path = "PATH"`, "dest", "destination", "target")
	add("download", `write url = "URL"`, "source", "src")
	add("download", `write checksum = "sha256:…"`, "sha256", "sha256sum", "source_hash", "hash")
	add("git", `write path = "PATH"`, "dest", "destination", "target", "directory")
	add("git", `write url = "URL"`, "repo", "repository", "source", "remote")
	add("git", `write ref = "…"`, "version", "revision", "rev", "branch", "tag")
	add("git", `write ssh_key = "PATH"`, "key_file", "identity", "private_key")
	add("certificate", `write private_key = "PATH"`, "key", "privatekey_path", "key_path")
	add("certificate", `write names = ["…"]`, "subject_alt_name", "alt_names", "sans", "dns_names", "altnames")
	add("certificate", `write addresses = ["…"]`, "ip_addresses", "ips")
	add("certificate", "write days = 365", "validity", "not_after", "valid_days")
	add("mount", `write source = "/dev/…"`, "device", "src", "what")
	add("mount", `write path = "PATH", or give the path as the label`, "name", "where", "dest", "mountpoint", "target")
	add("mount", `write options = ["noatime"]`, "opts")
	add("mount", "write pass = 0, and dump = 0", "passno", "pass_num")
	add("mount", "write mounted = true for now, and boot = true for /etc/fstab", "persist", "atboot", "remounts")
	add("hosts_entry", `write address = "192.0.2.1", or give the address as the label`, "ip")
	add("hosts_entry", `write names = ["NAME"]`, "name", "hostnames", "aliases", "host_aliases", "host")
	add("cron", `write schedule = "MINUTE HOUR DAY MONTH WEEKDAY"`, "minute", "hour", "day", "month", "monthday", "weekday", "daymonth", "dayweek", "special", "special_time")
	add("cron", `write command = "LINE"`, "job", "cmd")
	add("cron", `write env = { NAME = "VALUE" }`, "environment")
	add("limits", `write item = "nofile", type = "-" and value = "65536", each on a line of its own`, "nofile", "nproc", "memlock", "core")
	add("limits", `write item = "…"`, "limit_item", "limit")
	add("limits", `write type = "soft", "hard" or "-"`, "limit_type")
	add("container", `write environment = { NAME = "VALUE" }`, "env")
	add("container", `write volumes = ["/srv/data:/data"]`, "mounts", "binds")
	add("container", `write ports = ["8080:80"]`, "published_ports", "publish", "port_bindings")
	add("container", `write restart = "always"`, "restart_policy")
	add("sysctl", "leave it out: the running kernel gets the value at once; now = false prevents that", "sysctl_set", "reload", "apply")
	add("sysctl", `write key = "…", or give it as the label`, "name", "parameter")
	add("sysctl", `write file = "/etc/sysctl.d/NAME.conf"`, "sysctl_file", "config", "path")
	add("authorized_keys", `write keys = ["…"]`, "key", "ssh_keys", "pubkeys")
	add("authorized_keys", `write the options before the key: keys = ["restrict ssh-ed25519 …"]`, "key_options", "options")
	add("known_host", `write host = "NAME", or give the name as the label`, "name")
	add("known_host", `write keys = ["ssh-ed25519 …"]`, "key")
	add("sudoers", `write nopasswd = true`, "nopassword")
	add("sudoers", `write users = ["USER"]`, "user")
	add("sudoers", `write groups = ["GROUP"]`, "group")
	add("variable", "write default = …", "value", "initial")
	add("variable", `write validation { condition = … error_message = "…" }, each attribute on a line of its own`, "condition", "validate")
	add("print", `write message = "…"`, "msg", "text", "var")
	return words
}
