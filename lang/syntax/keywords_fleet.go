package syntax

// fleetKeywords are about all hosts together.
func fleetKeywords() []KeywordDoc {
	return []KeywordDoc{
		{Name: "inventory", Usage: "inventory { … }",
			Doc: "More hosts and groups, from an inventory of Ansible, from descriptors of openDuT, or from a program that prints them. There may be several such blocks. They join the hosts and groups that are declared: what the site itself says about one counts.",
			Attributes: []AttributeDoc{
				{"ansible", "string", "An inventory of Ansible in the site: a file in INI, YAML or JSON, or a directory of such files, with group_vars and host_vars beside it."},
				{"opendut", "string", "Descriptors of openDuT in the site: a file in YAML or JSON, or a directory of such files. Peers are hosts, and clusters are clusters."},
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
		{Name: "telemetry", Usage: "telemetry { … }",
			Doc: "Whom runs tell what they do, as traces and metrics of OpenTelemetry: at top level, once, and literal. Agents read it on their hosts, so the address has to be right there.",
			Attributes: []AttributeDoc{
				{"otlp", "string", "The address of a collector that takes OTLP over HTTP, without /v1/traces and /v1/metrics, which are added. A run never waits for it."}},
			Example: `telemetry {
  otlp = "http://localhost:4318"
}
`},
		{Name: "rollout", Usage: "rollout { … }",
			Doc: "In which order hosts take their turns, and how many at a time. It stops before the next batch when too many have failed. Without it, all go at once, as far as --forks lets them.",
			Attributes: []AttributeDoc{
				{"batch", "number, string or list of them", "How many hosts at a time: 1, \"20%\", or [1, \"10%\", \"100%\"], of which the last is repeated."},
				{"max_failures", "number or string", "How many hosts may fail, or which share of them, before it stops; without it, none."},
				{"pause", "string", "How long to wait between two batches: \"30s\"."},
				{"order", `"inventory" or "shuffle"`, "The order of declaration, or by chance."},
				{"stage", "block with a label", "Hosts that have their turn together. Stages are taken in their order: one begins when all hosts of the one before have ended well. It has hosts, a pattern such as \"@db,!db3\" or a list of them, and batch, max_failures, before_each and after_each of its own. Hosts in no stage come last."},
				{"before_each", "block", "What runs on other hosts before each batch. A stage without has those of the rollout."},
				{"after_each", "block", "What runs on other hosts after each batch. A stage without has those of the rollout."}},
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
		{Name: "before_each", Usage: "before_each { … }",
			Doc: "In a rollout or a stage, and repeatable: a state that runs on other hosts before each batch in which there is something to do, such as to take its hosts out of a load balancer. after_each is the same after the batch; it runs even if before_each or the batch has failed.",
			Attributes: []AttributeDoc{
				{"hosts", "string or list of strings", "Where it runs, whatever --limit says: a pattern such as \"@lb,!lb3\", or a list of them. Hosts of the batch itself are left out."},
				{"state", "reference", "What runs there, as by --target: a state that is lazy, or has a param without a default."},
				{"params", "object", "Values for the params of the state, none of them sensitive. Its params batch and failed, if it has them, are lists of names: the hosts of the batch, and those that did not end well, or of which nobody knows how they ended."}},
			Example: hookExample},
		{Name: "after_each", Usage: "after_each { … }",
			Doc: "In a rollout or a stage, and repeatable: a state that runs on other hosts after each batch around which before_each ran, or would have if there were one. It runs even if that or the batch has failed. If it fails, the rollout stops; it is then due, and the next apply of the site does it first.",
			Attributes: []AttributeDoc{
				{"hosts", "string or list of strings", "As in before_each."},
				{"state", "reference", "As in before_each."},
				{"params", "object", "As in before_each."}},
			Example: hookExample},
	}
}

const hookExample = `host "web1" {}

host "web2" {}

host "lb1" {
  roles = ["lb"]
}

role "lb" {
  state "drain" {
    param "batch" {
      type = list(string)
    }
    file "/etc/lb/drained" {
      content = join("\n", param.batch)
    }
  }
  state "undrain" {
    lazy = true
    file "/etc/lb/drained" {
      content = ""
    }
  }
}

rollout {
  stage "web" {
    hosts = "web*"
    batch = 1
    before_each {
      hosts = "lb*"
      state = state.drain
    }
    after_each {
      hosts = "lb*"
      state = state.undrain
    }
  }
}
`
