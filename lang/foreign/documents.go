package foreign

import (
	"path"
	"regexp"
	"strings"
)

// Document gives advice on a source that is a file of another kind from its
// first line on, and the number of that line, from 1.
func Document(src string) (a Advice, line int, ok bool) {
	number := 0
	for text := range strings.Lines(strings.TrimPrefix(src, "\ufeff")) {
		number++
		text = strings.TrimRight(text, "\r\n")
		for _, d := range documents() {
			if regexp.MustCompile(d.line).MatchString(text) {
				return d.advice, number, true
			}
		}
		if t := strings.TrimSpace(text); t != "" && !strings.HasPrefix(t, "#") {
			return Advice{}, 0, false
		}
	}
	return Advice{}, 0, false
}

func documents() []pattern {
	const (
		written = "A state file is written in HCL: TYPE \"LABEL\" { NAME = VALUE }, each attribute on a line of its own."
		hint    = `write parts such as package "nginx" {} and service "nginx" { running = true }; tenet doc lists the types of parts`
	)
	return []pattern{
		{line: `^#!.*(jinja|yaml|py)`, advice: Advice{Summary: "this is a state of Salt, and no HCL", Detail: written, Hint: hint}},
		{line: `^---\s*$`, advice: Advice{Summary: "this is YAML, and no HCL", Detail: written, Hint: hint}},
		{line: `^\s*-\s+["'\w-]+:`, advice: Advice{Summary: "this is YAML, and no HCL", Detail: written, Hint: hint}},
		{line: `^["']?[\w./~-]+(?: [\w./ -]+)?["']?:(\s|$)`, advice: Advice{Summary: "this is YAML, and no HCL", Detail: written, Hint: hint}},
		{line: `^\s*\{\s*("|\}|$)`, advice: Advice{Summary: "this is JSON, and no HCL", Hint: "name the file *.hcl.json"}},
		{line: `^\[[\w.:-]+\]\s*$`, advice: Advice{Summary: "this is an INI file or an inventory, and no HCL", Detail: written,
			Hint: `hosts are declared so: host "web1" { address = "192.0.2.1" }, and groups: host_group "web" { hosts = ["web*"] }`}},
		{line: `^(?:import|from) \w+|^def \w+\(|^load\(`, advice: Advice{Summary: "this is Python or Starlark, and no HCL",
			Hint: "put Starlark into a file named *.star"}},
		{line: `^\s*<[!?\w]`, advice: Advice{Summary: "this is XML or HTML, and no HCL", Detail: written, Hint: "name it otherwise, and write it to a host with file \"PATH\" { source = \"FILE\" }"}},
	}
}

// File gives advice on a file of another tool, by its name; ok is false where
// the name says nothing.
func File(name string) (a Advice, ok bool) {
	const words = " docs/from-other-tools.md has the words side by side"
	kinds := map[string]string{
		".tf": terraform, ".tfvars": terraform, ".tofu": terraform, ".sls": salt, ".pp": puppet,
		".yml": "Ansible or Salt", ".yaml": "Ansible or Salt", ".j2": jinja, ".jinja": jinja, ".py": python, ".rb": "Chef",
	}
	kind, ok := kinds[path.Ext(name)]
	switch {
	case name == "Vagrantfile" || name == "Dockerfile" || name == "Makefile":
		return a, false
	case path.Ext(name) == ".json":
		return Advice{Detail: name + " may be a state file in JSON.", Hint: "name it *.hcl.json if it is"}, true
	case ok && kind == terraform:
		return Advice{Detail: name + " is a file of " + kind + ".",
			Hint: "state files are named *.hcl, and hold parts such as file \"/etc/motd\" { … } in place of resources;" + words}, true
	case ok:
		return Advice{Detail: name + " is a file of " + kind + ".",
			Hint: "state files are named *.hcl, *.hcl.json or *.star, and written anew;" + words}, true
	}
	return a, false
}
