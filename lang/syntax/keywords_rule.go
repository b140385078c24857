package syntax

func ruleKeywords() []KeywordDoc {
	return []KeywordDoc{
		{Name: "rule", Usage: `rule "NAME" { … }`, Options: "rule",
			Doc: "What is done when data differs from what is there: each host compares, and runs the states that a rule names for the nodes that differ. The site needs a name.",
			Attributes: []AttributeDoc{
				{"data", "data", "The data that it is for, literally: data.NAME."},
				{"select", "string", "Its nodes, literally: fields with dots between them, behind each [KEY] or [A,B] (objects of a list, which these fields of theirs tell apart) or [*] (all elements of a map, or texts and numbers of a list)."},
				{"create", "reference", "The state for a node that is not there. Its params are those that it declares of node, path, parent, old, diff and data."},
				{"update", "reference", "The state for a node that is there, and differs. Without it such a node is deleted and created."},
				{"delete", "reference", "The state for a node that the rule has made, and that is wanted no more. Without it such a node is kept, and listed."},
				{"validate", "reference", "A state that only reads: it runs for each wanted node in each run, behind all handlers."},
				{"retrieve", "any", "What is there, in the document's shape: an expression over results of parts that only read. null: nothing. Without it, what was last converged counts."},
				{"hosts", "string or list of strings", "The hosts of a node: a pattern or a list of them, computed of node, path and parent. Without it, each host that has the rule has all of its nodes."},
				{"ordered", "bool", "The order of elements counts, and objects that nothing tells apart are told apart by it. Literal."},
				{"purge", "bool", "true: what is found and not wanted is deleted, whoever has made it. It takes retrieve and delete. Literal."},
				{"parallel", "bool", "Nodes side by side. Without it, one after the other. Literal."}},
			Example: `site {
  name = "network"
}

data "network" {
  value = { vlans = [{ id = 10, name = "office" }] }
}

state "set" {
  param "node" {}
  command "set" {
    argv = ["switchctl", "vlan", "set", param.node.id, param.node.name]
  }
}

state "remove" {
  param "path" {}
  command "remove" {
    argv = ["switchctl", "vlan", "remove", param.path.vlans]
  }
}

rule "vlan" {
  data   = data.network
  select = "vlans[id]"
  create = state.set
  update = state.set
  delete = state.remove
}
`},
	}
}
