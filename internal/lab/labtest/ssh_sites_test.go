//go:build lab

package labtest

import (
	"fmt"
	"path"
	"strings"
)

// twentyParts is a site of 20 parts of several types below a directory, some of them
// of the host's own facts and files of the site.
func twentyParts(dir string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
directory %[1]q {
  mode = "0750"
}

group "crew" {
  name = "crew"
}

user "worker" {
  home   = "/home/worker"
  shell  = "/bin/sh"
  groups = ["crew"]
}

package "curl" {}

service "cron" {
  running = true
}

symlink "%[1]s/current" {
  target = "releases/1"
}

command "stamp" {
  argv    = ["touch", "%[1]s/stamp"]
  creates = "%[1]s/stamp"
}
`, dir)
	for i := range 13 {
		fmt.Fprintf(&b, "\nfile \"%s/file%02d\" {\n  content = \"%d on ${fact.hostname}\\n\"\n  mode    = \"0640\"\n}\n", dir, i, i)
	}
	return b.String()
}

// steps is a site of n commands, one after the other, each of which leaves a line in a
// file. They wait until as many may be done: see allow.
func steps(n int, file string) string {
	var b strings.Builder
	b.WriteString("state \"steps\" {\n")
	for i := range n {
		fmt.Fprintf(&b, "  command \"s%03d\" {\n    shell = \"until test %[2]d -lt $(cat %[3]s.allowed); do sleep 0.05; done; echo %[2]d >> %[3]s\"\n  }\n", i, i, file)
	}
	b.WriteString("}\n")
	return b.String()
}

// allow lets the first n steps be done on each host.
func (f *fleet) allow(n int, file string) {
	f.Helper()
	for _, h := range f.hosts {
		f.on(h, fmt.Sprintf("mkdir -p %s && echo %d > %s.next && mv %[3]s.next %[3]s.allowed", path.Dir(file), n, file))
	}
}
