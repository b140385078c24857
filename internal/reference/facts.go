package reference

import "github.com/tenetcm/tenet/runtime/host/facts"

// Facts is the page of all facts.
func Facts(docs []facts.Doc) Page {
	p := Page{Title: "Facts", Summary: "What is known about a machine, as fact.NAME; tenet facts shows the values. " +
		"Each is gathered when it is named first, and then once; one that nobody names costs nothing. " +
		"Nothing that changes by itself from minute to minute is a fact, such as free memory: plans would differ from one to the next."}
	t := &Table{Head: []string{"fact", "type", ""}}
	for _, d := range docs {
		t.Rows = append(t.Rows, []string{code(d.Name), d.Type, d.Doc})
	}
	p.add("", Block{Table: t})
	p.add("Selection", Block{Text: "A part, a state, a run, a block or a component that is not for every machine says so:"},
		Block{Code: `service "nginx" {
  running = true
  when    = fact.init == "systemd"
}

sysctl "net.ipv4.ip_forward" {
  value = "1"
  when  = contains(fact.capabilities, "sysctl")
}`}, Block{Text: "A fact that may be null needs a look before it is used: " + code(`fact.ipv6 != null`) + ". " +
			code("--facts FILE") + " gives facts from a JSON file, in place of the machine's own: the site can then be compiled anywhere. " +
			"Those of other hosts are " + code("hosts(PATTERN)[…].facts.NAME") + ". " +
			"The facts of a tree below " + code("--root") + " are its own where they stand in its files (os, package_manager, timezone, …), and the running machine's where they do not (kernel, memory, …)."})
	return p
}
