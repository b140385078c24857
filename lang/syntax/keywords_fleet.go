package syntax

// fleetKeywords are about all hosts together.
func fleetKeywords() []KeywordDoc {
	return []KeywordDoc{
		{Name: "inventory", Usage: "inventory { … }",
			Doc: "More hosts and groups, from an inventory of Ansible or from a program that prints them. There may be several such blocks. They join the hosts and groups that are declared: what the site itself says about one counts.",
			Attributes: []AttributeDoc{
				{"ansible", "string", "An inventory of Ansible in the site: a file in INI, YAML or JSON, or a directory of such files, with group_vars and host_vars beside it."},
				{"command", "list of strings", "A program and its arguments, run in the site's directory. It prints hosts and groups in JSON: those of Ansible's inventory programs, or {\"hosts\": {NAME: {…}}, \"groups\": {NAME: {\"hosts\": […]}}}."}},
			Files: map[string]string{"hosts.ini": "[web]\nweb1 ansible_host=192.0.2.1\n"},
			Example: `inventory {
  ansible = "hosts.ini"
}

host_group "web" {
  roles = ["web"]
}

role "web" {
  package "nginx" {}
}
`},
		{Name: "rollout", Usage: "rollout { … }",
			Doc: "In which order hosts take their turns, and how many at a time. It stops before the next batch when too many have failed. Without it, all go at once, as far as --forks lets them.",
			Attributes: []AttributeDoc{
				{"batch", "number, string or list of them", "How many hosts at a time: 1, \"20%\", or [1, \"10%\", \"100%\"], of which the last is repeated."},
				{"max_failures", "number or string", "How many hosts may fail, or which share of them, before it stops; without it, none."},
				{"pause", "string", "How long to wait between two batches: \"30s\"."},
				{"order", `"inventory" or "shuffle"`, "The order of declaration, or by chance."},
				{"stage", "block with a label", "Hosts that have their turn together. Stages are taken in their order: one begins when all hosts of the one before have ended well. It has hosts, a pattern such as \"@db,!db3\" or a list of them, and batch and max_failures of its own. Hosts in no stage come last."}},
			Example: `host "web1" {}

host "web2" {}

host "db1" {}

rollout {
  batch        = [1, "50%"]
  max_failures = "10%"
  stage "database" {
    hosts = "db*"
  }
}
`},
	}
}
