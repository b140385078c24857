package syntax

import "slices"

// KeywordDoc describes a keyword of the language for readers.
type KeywordDoc struct {
	Name  string `json:"name"`
	Usage string `json:"usage"` // the first line of such a block
	Doc   string `json:"doc"`   // whole sentences
	// Attributes are those beside the options.
	Attributes []AttributeDoc `json:"attributes,omitempty"`
	// Options says which options it takes: "state", "run" and so on; "": none.
	Options string `json:"options,omitempty"`
	Example string `json:"example"` // a site
	// Files are the files that the example needs besides, by their names.
	Files map[string]string `json:"files,omitempty"`
}

// AttributeDoc describes an attribute, or a block within the block.
type AttributeDoc struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Doc  string `json:"doc"`
}

// KeywordDocs describes the keywords of the language, in the order in which they are
// best read.
func KeywordDocs() []KeywordDoc {
	return slices.Concat(stateKeywords(), groupKeywords(), valueKeywords(), ruleKeywords(), siteKeywords(), hostKeywords(), fleetKeywords())
}

func stateKeywords() []KeywordDoc {
	return []KeywordDoc{
		{Name: "state", Usage: `state "NAME" { … }`, Options: "state",
			Doc: "A named list of parts, which run in their order. The first that fails ends it. It is invoked once by itself, unless it is lazy, has a param without a default, or is named by a run.",
			Attributes: []AttributeDoc{
				{"param", "block with a label", "A parameter, which each run may give another value: see param."},
				{"TYPE", "block with a label", "A part, of any type: see tenet doc."}},
			Example: `state "web" {
  package "nginx" {}
  service "nginx" {
    running = true
    enabled = true
  }
}
`},
		{Name: "handler", Usage: `handler "NAME" { … }`, Options: "state",
			Doc: "A state that runs only when it is notified, required or run: state \"NAME\" with lazy = true. handler.NAME and state.NAME are one reference, and state.NAME is its address.",
			Attributes: []AttributeDoc{
				{"param", "block with a label", "A parameter with a default: see param."},
				{"TYPE", "block with a label", "A part, of any type: see tenet doc."}},
			Example: `handler "rebuild" {
  command "index" {
    argv = ["/usr/local/bin/rebuild-index"]
  }
}

directory "/srv/data" {
  notify = [handler.rebuild]
}
`},
		{Name: "param", Usage: `param "NAME" { … }`,
			Doc: "A parameter of a state, within that: param.NAME in its parts. Without a default, the state runs only by a run that gives it a value.",
			Attributes: []AttributeDoc{
				{"type", "type", "string, number, bool, any, source, list(T), set(T), map(T), tuple([T…]) or object({ NAME = T })."},
				{"default", "any", "The value where a run gives none."},
				{"description", "string", "Text for people."}},
			Example: `state "vhost" {
  param "port" {
    type    = number
    default = 80
  }
  file "/etc/app.conf" {
    content = "listen ${param.port}\n"
  }
}
`},
		{Name: "run", Usage: `run "LABEL" { … }`, Options: "run",
			Doc: "One more invocation of a state, with values of its own for the state's params. It is never merged with others.",
			Attributes: []AttributeDoc{
				{"state", "reference", "The state: state.NAME."},
				{"params", "object", "Values for its params."}},
			Example: `state "greet" {
  param "name" {}
  print "hello" {
    message = "hello ${param.name}"
  }
}

run "ada" {
  state  = state.greet
  params = { name = "ada" }
}

run "bob" {
  state   = state.greet
  params  = { name = "bob" }
  require = [run.ada]
}
`},
	}
}

func groupKeywords() []KeywordDoc {
	return []KeywordDoc{
		{Name: "block", Usage: `block "NAME" { … }`, Options: "block",
			Doc: "Several states, runs, parts and blocks as one, which can be required, tagged and guarded together. It fails if a member does and rescue has not succeeded.",
			Attributes: []AttributeDoc{
				{"members", references, "What it consists of; or declare it in the block itself."},
				{"ordered", "bool", "Each member requires the one before it."},
				{"rescue", references + ", or a block", "Runs when a member failed. If it succeeds, the block is rescued."},
				{"always", references + ", or a block", "Runs in every case, at the end."},
				{"recovered", "bool", "A rescued block counts as success: the run does not end with a failure."}},
			Example: `block "upgrade" {
  ordered = true
  command "stop" {
    argv = ["/usr/local/bin/drain"]
  }
  package "app" {
    version = "latest"
  }
  rescue {
    command "roll back" {
      argv = ["/usr/local/bin/roll-back"]
    }
  }
  always {
    command "start" {
      argv = ["/usr/local/bin/undrain"]
    }
  }
}
`},
		{Name: "component", Usage: `component "NAME" { … }`, Options: "component",
			Doc: "A directory with state files of its own, used under a name: its variables are its inputs, its outputs are component.NAME.OUTPUT. Several uses live side by side.",
			Attributes: []AttributeDoc{
				{"source", "string", "The directory: \"./DIR\", \"../DIR\", or \"std/NAME\" for one that is part of the program (tenet doc lists them)."},
				{"vars", "object", "Values for its variables."}},
			Example: `component "greeting" {
  source = "std/motd"
  vars   = { text = "Welcome.\n" }
}
`},
		{Name: "moved", Usage: "moved { … }",
			Doc: "What had one address has another now, with all that is below it: what is owed to it, and known of it, goes along. Both may be declarations or parts of them; what an address was moved to may have moved on.",
			Attributes: []AttributeDoc{
				{"from", "reference", "The former address."},
				{"to", "reference", "The present one."}},
			Example: `state "site" {
  package "nginx" {}
}

moved {
  from = state.web
  to   = state.site
}
`},
	}
}

const references = "list of references"

func valueKeywords() []KeywordDoc {
	return []KeywordDoc{
		{Name: "variable", Usage: `variable "NAME" { … }`,
			Doc: "A value from outside: var.NAME. It comes from its default, vars.hcl and *.auto.hcl, roles, groups and hosts, TENET_VAR_NAME, --var-file and --var; the later ones count first. tenet inspect vars shows each with its origin.",
			Attributes: []AttributeDoc{
				{"type", "type", "string, number, bool, any, source, list(T), set(T), map(T), tuple([T…]) or object({ NAME = T, NAME = optional(T, DEFAULT) }). What it is given is converted to it."},
				{"default", "any", "The value where nothing gives one. Without it, one must be given."},
				{"description", "string", "Text for people."},
				{"sensitive", "bool", "It, and all that is computed from it, is never shown."},
				{"export", "bool", "Other hosts may read its value: hosts(PATTERN)[…].exports.NAME. It cannot be sensitive."},
				{"nullable", "bool", "false: a level that gives null gives nothing, and there must be another value. Without it, null is a value."},
				{"merge", "bool", "Maps and objects are merged key by key over all that give one."},
				{"validation", "block", "A condition that the value must meet, and the error_message where it does not."}},
			Example: `variable "port" {
  type        = number
  default     = 8080
  description = "Where the server listens."
  validation {
    condition     = var.port > 1024
    error_message = "The port is above 1024."
  }
}

file "/etc/app.conf" {
  content = "listen ${var.port}\n"
}
`},
		{Name: "locals", Usage: "locals { … }",
			Doc: "Names for values: local.NAME. Each line is NAME = VALUE; one may use others, in any order.",
			Example: `locals {
  name = "app"
  home = "/srv/${local.name}"
}

directory "home" {
  path = local.home
}
`},
		{Name: "data", Usage: `data "NAME" { … }`,
			Doc: "A document that people edit, or a value: data.NAME. It is read and checked for each host, whether something uses it or not; --data NAME=FILE replaces it for one command.",
			Attributes: []AttributeDoc{
				{"file", "string or source", "The document: its path from the directory of the site or component, with .yml, .yaml, .json or .toml at the end. A field $schema at its top level is no part of the value."},
				{"value", "any", "The value itself, in the place of a file. It must be known before anything runs."},
				{"schema", "string or source", "The file of a JSON Schema (2020-12 or 7) that it has to fit. Without one, the $schema of the document counts if that is a path, from the document's folder."},
				{"ignore", "list of strings", "What is left out where data is compared: literally, each a selector such as \"switches[name].comment\"."}},
			Example: `data "network" {
  file   = "network.yml"
  schema = "network.schema.json"
}

file "/etc/vlans" {
  content = join("", [for v in data.network.vlans : "${v.id} ${v.name}\n"])
}
`,
			Files: map[string]string{
				"network.yml":         "vlans:\n  - {id: 10, name: office}\n  - {id: 20, name: guests}\n",
				"network.schema.json": `{"type": "object", "required": ["vlans"], "properties": {"vlans": {"type": "array"}}}` + "\n"}},
	}
}

func siteKeywords() []KeywordDoc {
	return []KeywordDoc{
		{Name: "output", Usage: `output "NAME" { … }`,
			Doc: "What a component hands to who uses it: component.NAME.OUTPUT. At the top level of a site with hosts, or in a role, what a host hands to others: hosts(PATTERN)[…].outputs.NAME.",
			Attributes: []AttributeDoc{
				{"value", "any", "The value; it may be known only after apply. That of a host has at most 64 KiB of JSON."},
				{"type", "type", "What the value is converted to, without optional(); default any."},
				{"description", "string", "Text for people."},
				{"sensitive", "bool", "It is never shown."}},
			Example: `locals {
  socket = "/run/app.sock"
}

output "socket" {
  value       = local.socket
  description = "Where the server answers."
}
`},
		{Name: "functions", Usage: `functions "NAME" { source = "lib.star" }`,
			Doc: "Functions of a file in Starlark, for expressions: NAME::function(…).",
			Attributes: []AttributeDoc{
				{"source", "string", "The file, from the directory of this one. It declares nothing; names that begin with _ are its own."}},
			Example: `functions "text" {
  source = "lib/text.star"
}

file "/etc/motd" {
  content = text::shout("hello")
}
`,
			Files: map[string]string{"lib/text.star": "def shout(text):\n    return text.upper()\n"}},
		{Name: "site", Usage: "site { … }",
			Doc: "About the site as a whole. Its values are literal.",
			Attributes: []AttributeDoc{
				{"name", "string", "Its name, by which a machine knows what it has created, and what its handlers are owed."},
				{"prune", "bool", "What it has created and declares no longer is removed by each apply. Without it that is only listed."},
				{"reconcile", "block or object", "How tenet watch and agents keep hosts: mode (\"apply\", or \"audit\" to be told only), poll (default: \"30m\"), jitter (0.1), deadline of an apply (\"1h\"), attempts by one cause (8), backoff (\"10s\") and on_failure (\"help\", or \"revert\" to go back to what worked last)."},
				{"requires_version", "string", "The versions of tenet that it is for: \">= 0.1\"."},
				{"signers", "string", "The file of the site that says whose signatures of packages count, as ssh-keygen takes it (allowed signers). Then packages that none of them has signed are refused."}},
			Example: `site {
  name = "example"
}
`},
	}
}

func hostKeywords() []KeywordDoc {
	reach := []AttributeDoc{
		{"executor", `"local", "ssh" or "agent"`, "How it is reached."},
		{"user", "string", "Who logs in."},
		{"port", "number", "Where it listens."},
		{"become", "bool or string", "true: everything acts as root; or the name of another account."},
		{"become_method", `"sudo" or "doas"`, "By which program it becomes that account; without it, by sudo."},
		{"ssh_options", "list of strings", "Options for the OpenSSH client, each NAME=VALUE as for its -o: \"ProxyJump=gate\". Those of groups are added to the host's own, which come first; of several for one name the client takes the first."},
		{"runner_cache", "path", "Folder on the host that keeps the program which acts there. It belongs to the account that acts, programs can be run in it, and there is room for some 20 MB. Without it: /var/cache/tenet for root, .cache/tenet in the home folder of others."},
		{"roles", "list of strings", "The roles that it has."},
		{"vars", "object", "Values for variables."},
		{"window", "block or object, or a list of objects", "When a server may change it: days (default: each day), hours and timezone (default: UTC). An end before the start is one of the next day. A host's own replace those of its groups; of several groups all have to be open."},
		{"reconcile", "block or object", "How tenet watch and agents keep it: see site. What a host says counts before what its groups say, and that before what the site says."},
		{"labels", "map of strings", "Names by which groups and roles find hosts."},
	}
	group := append([]AttributeDoc{
		{"hosts", "string or list of strings", "Its hosts: a pattern such as \"web*,!web9,@edge\", or a list of them. * stands for any text, @GROUP for the hosts of another group, and ! takes hosts away."},
		{"priority", "number", "Of two groups that give a variable different values, the one with the higher priority counts; at equal priority a group that is within the other, by its @GROUP."}}, reach...)
	group[len(group)-1].Doc = "In place of hosts: the hosts with these labels."
	return []KeywordDoc{
		{Name: "host", Usage: `host "NAME" { … }`,
			Doc: "A machine. A site without hosts is for the machine on which tenet runs.",
			Attributes: append([]AttributeDoc{{"address", "string", "Its name or address in the network; without it, its name."},
				{"name", "string", "Its name; without it the label, and with for_each the key."},
				{"for_each", "map, set or list of distinct strings", "One host for each key. In it, each.key and each.value stand for the key and the value."}}, reach...),
			Example: `role "web" {
  package "nginx" {}
}

host "web1" {
  address = "192.0.2.1"
  roles   = ["web"]
  vars    = { greeting = "hello" }
}

variable "greeting" {
  default = ""
}
`},
		{Name: "host_group", Usage: `host_group "NAME" { … }`,
			Doc:        "Several hosts, which share roles and variables. hosts(\"@NAME\") lists them.",
			Attributes: group,
			Example: `role "web" {
  package "nginx" {}
}

host "web1" {}

host "web2" {}

host_group "web" {
  hosts = ["web*"]
  roles = ["web"]
}
`},
		clusterKeyword(group),
		collectionKeyword(),
		{Name: "role", Usage: `role "NAME" { … }`,
			Doc: "Variables, states, parts and components that a host gets by name, through itself or a group. What stands in it is written as at top level. Several roles may declare the same name, as long as no host has two of them.",
			Attributes: []AttributeDoc{
				{"roles", "list of strings", "The roles that it takes in, written out: who has it has these as well, before it, each once. What several roles need stands in one that they take in."},
				{"vars", "object", "Values for variables, for all hosts that have the role. Those of roles that it takes in count below them."}},
			Example: `role "nginx" {
  package "nginx" {}
}

role "web" {
  roles = ["nginx"]
  service "nginx" {
    running = true
    require = [package.nginx]
  }
}

host "web1" {
  roles = ["web"]
}
`},
	}
}
