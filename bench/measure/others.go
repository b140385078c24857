package main

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/bench"
)

// cfenginePolicy is the same site for CFEngine: one promise a file, which it
// carries out more than twice as fast as a loop over a list.
func cfenginePolicy(dir string, n int) string {
	var b strings.Builder
	b.WriteString("body common control { bundlesequence => { \"main\" }; }\n")
	fmt.Fprintf(&b, "body perms m { mode => \"%04o\"; rxdirs => \"false\"; }\n", bench.Mode)
	fmt.Fprintf(&b, "bundle agent main {\nvars:\n\"pad\" string => %q;\nfiles:\n", padding())
	for i := range n {
		name := bench.Name(i)
		fmt.Fprintf(&b, "\"%s/%s\" create => \"true\", perms => m, content => \"%s $(pad)$(const.n)\";\n", dir, name, name)
	}
	b.WriteString("}\n")
	return b.String()
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
