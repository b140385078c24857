package syntax

// clusterKeyword describes cluster, which has all that a host_group has.
func clusterKeyword(group []AttributeDoc) KeywordDoc {
	return KeywordDoc{Name: "cluster", Usage: `cluster "NAME" { … }`,
		Doc: "Hosts that make sense only together: a host_group whose roles its hosts have only once all of them are there and none is a member of another cluster. In what it declares, host.cluster has name, leader and members. cluster.NAME names all of that, also for --target and --exclude.",
		Attributes: append([]AttributeDoc{
			{"leader", "string", "The host that leads; without it, none does."},
			{"together", "bool", "true: while one of its hosts is away, the others get no revisions either."},
			{"ensure", `"present" or "absent"`, "\"absent\": what it has made goes from its hosts, in reverse order, whatever prune says."}}, group...),
		Example: `site {
  name = "lab"
}

host "web1" {}

host "web2" {}

cluster "bench" {
  hosts  = "web*"
  leader = "web1"
  roles  = ["bench"]
}

role "bench" {
  file "/etc/bench.conf" {
    content = host.cluster.leader == host.name ? "lead" : "follow ${host.cluster.leader}"
  }
}
`}
}

func collectionKeyword() KeywordDoc {
	return KeywordDoc{Name: "collection", Usage: `collection "NAME" { … }`,
		Doc: "A directory with components, modules, schemas and data, by a name. At top level of a site or a component, written out: it is known before anything else. A component has the source \"NAME/DIR\", and a script loads \"NAME/FILE.star\".",
		Attributes: []AttributeDoc{
			{"source", "string", "The directory: \"./DIR\" or \"../DIR\", from the directory of the file."},
			{"modules", "list of strings", "Its modules that the files of this directory may use. What lies in the collection may use all of them."}},
		Files: map[string]string{"collections/net/vlan/main.hcl": "file \"/etc/vlan\" {\n  content = \"10\"\n}\n"},
		Example: `collection "net" {
  source = "./collections/net"
}

component "vlan" {
  source = "net/vlan"
}
`}
}
