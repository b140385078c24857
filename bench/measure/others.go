package main

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/bench"
)

// cfenginePolicy is the same site for CFEngine: one promise a file, which it
// carries out more than twice as fast as a loop over a list. The attributes say
// what makes the content of a file.
func cfenginePolicy(dir string, n int, attributes func(name string) string) string {
	var b strings.Builder
	b.WriteString("body common control { bundlesequence => { \"main\" }; }\n")
	fmt.Fprintf(&b, "body perms m { mode => \"%04o\"; rxdirs => \"false\"; }\n", bench.Mode)
	b.WriteString("body copy_from c(from) { source => \"$(from)\"; compare => \"digest\"; }\n")
	fmt.Fprintf(&b, "bundle agent main {\nvars:\n\"pad\" string => %q;\nfiles:\n", padding())
	for i := range n {
		fmt.Fprintf(&b, "\"%s/%s\" create => \"true\", perms => m, %s;\n", dir, bench.Name(i), attributes(bench.Name(i)))
	}
	b.WriteString("}\n")
	return b.String()
}

// paddedContent is made of a variable, as the content of the site's for_each is.
func paddedContent(name string) string {
	return fmt.Sprintf("content => \"%s $(pad)$(const.n)\"", name)
}

// wholeContent stands in the policy, as it does in the site's blocks.
func wholeContent(name string) string {
	return fmt.Sprintf("content => \"%s$(const.n)\"", strings.TrimSuffix(bench.Content(name), "\n"))
}

// copySource takes the content from a file, which CFEngine compares by its digest.
func copySource(site string) func(string) string {
	return func(name string) string { return fmt.Sprintf("copy_from => c(\"%s/source/%s\")", site, name) }
}

// mustache is a template of CFEngine that makes what the site's template does. It cannot
// compute, so that the numbers of the lines are given.
const mustache = "# {{name}}\n{{#lines}}\nline {{i}} of {{name}} at {{port}}\n{{/lines}}\n"

// renderSource takes the content from the file "mustache".
func renderSource(site string) func(string) string {
	var lines []string
	for i := range bench.TemplateLines {
		lines = append(lines, fmt.Sprintf(`{"i": %d, "port": %d}`, i, i*2+8000))
	}
	return func(name string) string {
		return fmt.Sprintf("edit_template => \"%s/mustache/%s\", template_method => \"mustache\", template_data => parsejson('{\"name\": \"%s\", \"lines\": [%s]}')",
			site, name, name, strings.Join(lines, ", "))
	}
}

// ansiblePlaybook is the same site for Ansible: one task with a loop.
func ansiblePlaybook(dir string, n int) string {
	return fmt.Sprintf(`- hosts: all
  gather_facts: false
  vars:
    pad: %q
  tasks:
    - copy:
        dest: "%s/{{ 'f%%06d' | format(item) }}"
        content: "{{ 'f%%06d' | format(item) }} {{ pad }}\n"
        mode: "%04o"
      loop: "{{ range(%d) | list }}"
`, padding(), dir, bench.Mode, n)
}

// padding is what stands between the name and the end of the line.
func padding() string {
	name := bench.Name(0)
	return strings.TrimSuffix(strings.TrimPrefix(bench.Content(name), name+" "), "\n")
}
