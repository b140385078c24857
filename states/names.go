package states

// ReservedNames are the words of the language that no module may be named
// like: declarations and the roots of references.
func ReservedNames() []string {
	return []string{
		"block", "component", "data", "functions", "handler", "host", "host_group", "inventory",
		"locals", "moved", "orphan", "output", "role", "rollout", "rule", "run", "site", "state",
		"variable",
		"each", "fact", "hosts", "local", "param", "result", "secret", "self", "var",
		"always", "confirm", "members", "parts", "rescue", "validation",
	}
}

// OptionNames are the options of parts, states, runs, blocks and components,
// which no module's attribute may be named like.
func OptionNames() []string {
	return []string{
		"become", "confirm", "defer", "description", "ensure", "follows", "for_each",
		"ignore_failure", "instance", "lazy", "listen", "listen_failure", "lock",
		"notify", "notify_failure", "only_if", "parallel", "require", "retain", "retry",
		"sensitive", "tags", "timeout", "unless", "when",
	}
}
