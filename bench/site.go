// Package bench measures tenet. Its Go benchmarks time the stages within one
// process (go test -bench . ./bench); the script bench/run times the built
// program as a whole against a limit program and other tools, and writes the
// table of README.md. Both use the sites that this package generates.
package bench

import (
	"fmt"
	"strings"
)

// FileSize is the size in bytes of each file of the generated sites.
const FileSize = 1024

// Mode is the permission of each of those files.
const Mode = 0o640

// Name gives the name of the i-th file.
func Name(i int) string { return fmt.Sprintf("f%06d", i) }

// Content gives what the file of that name holds: FileSize bytes.
func Content(name string) string { return name + " " + padding(name) + "\n" }

func padding(name string) string { return strings.Repeat("x", FileSize-len(name)-2) }

// LoopSite is a site of n files in a directory, declared by one for_each and
// with computed contents. n is a multiple of 100 or less than 100.
func LoopSite(dir string, n int) string {
	outer, inner := n/100, 100
	if n < 100 {
		outer, inner = 1, n
	}
	return fmt.Sprintf(`locals {
  padding = %q
  names   = flatten([for a in range(%d) : [for b in range(%d) : format("f%%06d", a * 100 + b)]])
}

file "all" {
  for_each = local.names
  path     = "%s/${each.key}"
  content  = "${each.key} ${local.padding}\n"
  mode     = "%04o"
}
`, padding(Name(0)), outer, inner, dir, Mode)
}

// ScriptSite is the same site in Starlark, with a loop in place of the for_each.
func ScriptSite(dir string, n int) string {
	return fmt.Sprintf(`padding = %q

def all():
    for i in range(%d):
        name = ("000000" + str(i))[-6:]
        file("all",
            instance = "f" + name,
            path = "%s/f" + name,
            content = "f" + name + " " + padding + "\n",
            mode = "%04o")

all()
`, padding(Name(0)), n, dir, Mode)
}

// BlockSite is the same site, each file in a block of its own.
func BlockSite(dir string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "locals {\n  padding = %q\n}\n", padding(Name(0)))
	for i := range n {
		fmt.Fprintf(&b, `
file "%[1]s" {
  path    = "%[2]s/%[1]s"
  content = "%[1]s ${local.padding}\n"
  mode    = "%04[3]o"
}
`, Name(i), dir, Mode)
	}
	return b.String()
}

// InlineSite is the same site, each file in a block of its own with its whole content.
func InlineSite(dir string, n int) string {
	return eachFile(n, func(name string) string {
		return fmt.Sprintf("  path    = %q\n  content = %q\n", dir+"/"+name, Content(name))
	})
}

// SourceSite is the same site, each file in a block of its own that names a file of the site in
// its directory "source", see Sources.
func SourceSite(dir string, n int) string {
	return eachFile(n, func(name string) string {
		return fmt.Sprintf("  path   = %q\n  source = %q\n", dir+"/"+name, "source/"+name)
	})
}

// Sources are the files that SourceSite names, by their paths in the site.
func Sources(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files["source/"+Name(i)] = Content(Name(i))
	}
	return files
}

// TemplateSite is a site of n files, each made of a small template of its own, see Templates.
func TemplateSite(dir string, n int) string {
	return eachFile(n, func(name string) string {
		return fmt.Sprintf("  path    = %q\n  content = template(%q, { name = %q, port = 8000 })\n", dir+"/"+name, "templates/"+name, name)
	})
}

// TemplateLines is how many lines of a template have numbers in them.
const TemplateLines = 20

// Templates are the files that TemplateSite names, by their paths in the site.
func Templates(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files["templates/"+Name(i)] = fmt.Sprintf("# ${name}\n%%{ for i in range(%d) ~}\nline ${i} of ${name} at ${i * 2 + port}\n%%{ endfor ~}\n", TemplateLines)
	}
	return files
}

// Rendered is what the template of that name makes.
func Rendered(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", name)
	for i := range TemplateLines {
		fmt.Fprintf(&b, "line %d of %s at %d\n", i, name, i*2+8000)
	}
	return b.String()
}

// eachFile gives each file a block, with these lines and the mode.
func eachFile(n int, lines func(name string) string) string {
	var b strings.Builder
	for i := range n {
		name := Name(i)
		fmt.Fprintf(&b, "file %q {\n%s  mode = \"%04o\"\n}\n\n", name, lines(name), Mode)
	}
	return b.String()
}

// PackageSite is a site of n packages, spread over all that DpkgStatus makes.
func PackageSite(n, installed int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "package %q {}\n", packageName(i*installed/n))
	}
	return b.String()
}

// DpkgStatus is what dpkg knows of n packages that are installed, as long as on a
// real Debian: about 900 bytes for each.
func DpkgStatus(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `Package: %s
Status: install ok installed
Priority: optional
Section: libs
Installed-Size: %d
Maintainer: Somebody <somebody@example.test>
Architecture: amd64
Multi-Arch: same
Version: 1.%d-1
Depends: libc6 (>= 2.34), %s
Conffiles:
 /etc/%s/first.conf 0123456789abcdef0123456789abcdef
 /etc/%s/second.conf 0123456789abcdef0123456789abcdef
Description: a package of a machine that is measured
%s
Homepage: https://www.example.test/

`, packageName(i), i, i, packageName(i/2), packageName(i), packageName(i), strings.Repeat(" "+strings.Repeat("words ", 12)+"\n", 5)+" end")
	}
	return b.String()
}

func packageName(i int) string { return fmt.Sprintf("libsomething%05d", i) }

// ChainSite is a site of one state that runs a program n times in a row.
func ChainSite(program string, n int) string {
	var b strings.Builder
	b.WriteString("state \"chain\" {\n")
	for i := range n {
		fmt.Fprintf(&b, "  command \"c%d\" {\n    argv = [%q]\n  }\n", i, program)
	}
	b.WriteString("}\n")
	return b.String()
}
