package foreign

// Values are the first names of expressions in other tools, or the first two.
func Values() []Word {
	var words []Word
	add := func(of, write string, names ...string) {
		for _, name := range names {
			words = append(words, Word{Name: name, Of: of, Write: write})
		}
	}
	add("", "write true", "yes", "on", "True", "TRUE", "Yes")
	add("", "write false", "no", "off", "False", "FALSE", "No")
	add("", "write null", "None", "nil", "undef", "undefined", "NULL", "Null", "omit")
	add("", "write local.NAME, without s", "locals")
	add("", "write var.NAME", "vars", "variables", "variable", "vars_files", "params", "inputs")
	add("", "write local.NAME or var.NAME", "values", "config", "settings")
	add("", "write param.NAME", "parameters", "args")

	add(terraform, "leave it out: paths are relative to the file's directory, as in read(\"FILE\")", "path")
	add(terraform, "leave it out; what differs between uses of a site is a variable: variable \"NAME\" {}", "terraform")
	add(terraform, "write component.NAME.OUTPUT", "module")
	add(terraform, "write for_each, and each.key in place of the number", "count")
	add(terraform, "write TYPE.LABEL, or TYPE[\"any label\"]", "resource")

	add(ansible, "write each.key (for_each gives it); of a map also each.value", "item")
	add(ansible, "write host.name", "inventory_hostname", "inventory_hostname_short", "ansible_host")
	add(ansible, "write hosts(\"HOST\")[0].facts.NAME, .exports.NAME for a variable with export = true, or .outputs.NAME for what its run gives", "hostvars")
	add(ansible, "declare a variable for what hosts share: variable \"NAME\" {}; hosts(\"@GROUP\") lists hosts", "groups", "group_names")
	for name, fact := range ansibleFacts() {
		add(ansible, "write "+fact, "ansible_facts."+name, "ansible_"+name)
	}
	add(ansible, "write fact.NAME: tenet facts lists all", "ansible_facts")
	add(ansible, "write fact.NAME: tenet facts lists all", "ansible_local", "ansible_env")

	for name, fact := range saltGrains() {
		add(salt, "write "+fact, "grains."+name)
	}
	add(salt, "write fact.NAME: tenet facts lists all", "grains")
	add(salt, "declare a variable: variable \"NAME\" {}, and write var.NAME; vars.hcl gives values", "pillar")
	add(salt, "write hosts(\"PATTERN\")[0].facts.NAME for a fact of another host; what its run finds out is an output: output \"NAME\" { value = … }, and hosts(\"PATTERN\")[0].outputs.NAME", "mine")
	add(salt, "there are no remote functions: write fact.NAME for facts, var.NAME for variables, or a part of type command", "salt")
	add(salt, "write host.name", "minion_id", "opts")

	add(puppet, "write fact.NAME, without s: tenet facts lists all", "facts")
	add(puppet, "write host.name for the host's name, fact.NAME for facts", "trusted", "server_facts")
	add(puppet, "write host.name", "fqdn", "certname")
	return words
}

// ansibleFacts are the facts that have another name, or other values.
func ansibleFacts() map[string]string {
	return map[string]string{
		"os_family":                  `fact.os.family, whose values are in lower case: "debian"`,
		"distribution":               `fact.os.id, whose values are in lower case: "debian"`,
		"distribution_version":       "fact.os.version",
		"distribution_major_version": "fact.os.major",
		"distribution_release":       "fact.os.codename",
		"lsb":                        "fact.os",
		"hostname":                   "fact.hostname",
		"fqdn":                       "fact.fqdn",
		"nodename":                   "fact.hostname",
		"architecture":               "fact.arch",
		"kernel":                     "fact.kernel",
		"processor_vcpus":            "fact.cpus",
		"processor_count":            "fact.cpus",
		"memtotal_mb":                "fact.memory, which is in bytes",
		"swaptotal_mb":               "fact.swap, which is in bytes",
		"default_ipv4":               "fact.ipv4",
		"default_ipv6":               "fact.ipv6",
		"mounts":                     "fact.mounts, a map by path",
		"devices":                    "fact.disks",
		"dns":                        "fact.dns",
		"machine_id":                 "fact.machine_id",
		"selinux":                    "fact.selinux",
		"apparmor":                   "fact.apparmor",
		"system_vendor":              "fact.product.vendor",
		"product_name":               "fact.product.name",
		"all_ipv4_addresses":         "fact.ipv4",
		"interfaces":                 "fact.interfaces",
		"pkg_mgr":                    "fact.package_manager",
		"service_mgr":                "fact.init",
		"user_id":                    "fact.user",
		"user_dir":                   "fact.home",
		"virtualization_type":        "fact.virtual",
	}
}

// saltGrains are the grains.
func saltGrains() map[string]string {
	return map[string]string{
		"os_family":      `fact.os.family, whose values are in lower case: "debian"`,
		"os":             `fact.os.id, whose values are in lower case: "debian"`,
		"osrelease":      "fact.os.version",
		"oscodename":     "fact.os.codename",
		"osmajorrelease": "fact.os.major",
		"swap_total":     "fact.swap, which is in bytes",
		"disks":          "fact.disks",
		"dns":            "fact.dns",
		"machine_id":     "fact.machine_id",
		"locale_info":    "fact.locale",
		"manufacturer":   "fact.product.vendor",
		"productname":    "fact.product.name",
		"id":             "host.name",
		"host":           "fact.hostname",
		"fqdn":           "fact.fqdn",
		"num_cpus":       "fact.cpus",
		"mem_total":      "fact.memory, which is in bytes",
		"ipv4":           "fact.ipv4",
		"ip_interfaces":  "fact.interfaces",
		"cpuarch":        "fact.arch",
		"init":           "fact.init",
		"virtual":        "fact.virtual",
	}
}

// Functions are those of other tools.
func Functions() []Word {
	var words []Word
	add := func(of, write string, names ...string) {
		for _, name := range names {
			words = append(words, Word{Name: name, Of: of, Write: write})
		}
	}
	add(terraform, "use read(PATH), or the attribute source of a file", "file")
	add(terraform, "use exists(PATH)", "fileexists")
	add(terraform, "use template(PATH, VARS)", "templatefile", "templatestring")
	add(terraform, "the attribute source of a file carries any bytes untouched", "filebase64", "base64gzip")
	add(terraform, "use sha256(read(PATH))", "filesha256", "filemd5", "filesha1", "filesha512")
	add(terraform, "use a list of names; for_each goes over it", "fileset")
	add(terraform, "leave it out: paths are relative to the file's directory", "abspath", "pathexpand")
	add(terraform, "use uuidv5(NAMESPACE, NAME), or a variable: nothing depends on chance, so that a plan stays true", "uuid", "bcrypt")
	add(terraform, "use a variable: nothing depends on the clock, so that a plan stays true", "timestamp", "plantimestamp", "now", "strftime", "ansible_date_time")
	add(terraform, "use merge(MAP, MAP), or a list [ … ]", "map")
	add(terraform, "write the list itself: [ … ]", "list")
	add(terraform, "use setproduct() or a for expression", "product")
	for name, ours := range map[string]string{
		"json_encode": "jsonencode", "to_json": "jsonencode", "toJSON": "jsonencode", "tojson": "jsonencode", "json": "jsonencode",
		"json_decode": "jsondecode", "from_json": "jsondecode", "fromJSON": "jsondecode", "fromjson": "jsondecode",
		"yaml_encode": "yamlencode", "to_yaml": "yamlencode", "toYAML": "yamlencode", "to_nice_yaml": "yamlencode",
		"yaml_decode": "yamldecode", "from_yaml": "yamldecode",
		"b64encode": "base64encode", "b64decode": "base64decode", "base64": "base64encode",
		"len": "length", "size": "length", "count": "length",
		"str": "tostring", "string": "tostring", "int": "tonumber", "float": "tonumber", "number": "tonumber", "bool": "tobool", "set": "toset", "dict": "tomap",
		"concatenate": "concat", "append": "concat", "union": "setunion", "unique": "distinct", "uniq": "distinct",
		"strip": "trimspace", "lstrip": "trimprefix", "rstrip": "chomp", "toupper": "upper", "upcase": "upper", "tolower": "lower", "downcase": "lower",
		"default": "coalesce", "defaults": "coalesce", "pick": "coalesce", "sprintf": "format", "printf": "format", "inspect": "jsonencode",
		"regex_replace": "replace", "regsubst": "replace", "gsub": "replace", "match": "regex", "sorted": "sort", "has_key": "contains", "member": "contains",
		"ipsubnet": "cidrsubnet", "hash": "sha256",
	} {
		add("", "use "+ours+"()", name)
	}
	add(puppet, "declare a variable: variable \"NAME\" {}, and write var.NAME; vars.hcl gives values", "hiera", "hiera_hash", "hiera_array")
	add(puppet, "write hosts(\"PATTERN\"), and .facts.NAME of each", "puppetdb_query", "query_nodes", "query_facts")
	add(puppet, "use template(PATH, VARS)", "epp", "inline_template", "inline_epp", "erb")
	add(ansible, "use the function for it: read(PATH) for a file, var.NAME for a variable", "query", "q")
	add(terraform, "declare a variable: variable \"NAME\" {}; TENET_VAR_NAME in the environment gives it a value", "env", "getenv", "environ")
	add("", "declare a sensitive variable or use secret(\"NAME\")", "vault", "password", "random_password")
	add("", "write for_each = LIST in the part, or a for expression: [for x in LIST : x]", "foreach", "each", "map_values")
	return words
}

// Types are names of types of values in other languages.
func Types() []Word {
	var words []Word
	add := func(write string, names ...string) {
		for _, name := range names {
			words = append(words, Word{Name: name, Write: write})
		}
	}
	add("write type = string", "str", "String", "text", "path", "String[1]")
	add("write type = number", "int", "integer", "Integer", "float", "double", "Number", "port", "num", "long")
	add("write type = bool", "boolean", "Boolean", "Bool")
	add("write type = map(string), or the type of its values in place of string", "dict", "hash", "Hash", "map", "Map", "mapping", "dictionary")
	add("write type = object({ NAME = TYPE })", "object", "struct")
	add("write type = list(string), or the type of its elements in place of string", "list", "List", "array", "Array", "sequence", "vec")
	add("write type = set(string), or the type of its elements in place of string", "set", "Set")
	add("write type = tuple([TYPE, TYPE])", "tuple")
	add("write type = any", "Any", "dynamic", "mixed")
	return words
}
