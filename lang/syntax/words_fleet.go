package syntax

// fleetWords are about all hosts together.
func fleetWords() []WordDoc {
	return []WordDoc{
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
