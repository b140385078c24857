package lang_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
)

// A roleSite is a site whose roles share names. It can be written as it is, or as the site of one
// host alone, without roles.
type roleSite struct {
	pieces []rolePiece
	roles  []string
}

// rolePiece is a declaration in a role, or of every host.
type rolePiece struct {
	role, name string
	text       func(refs func(addresses ...string) string) string
}

func drawRoleSite(t *rapid.T) roleSite {
	s := roleSite{roles: []string{"r0", "r1", "r2"}}
	add := func(role, name string, text func(refs func(...string) string) string) {
		s.pieces = append(s.pieces, rolePiece{role, name, text})
	}
	has := func(role, name string) bool {
		return slices.ContainsFunc(s.pieces, func(p rolePiece) bool { return p.name == name && (p.role == role || p.role == "") })
	}
	for _, name := range []string{"x", "y"} {
		owners := s.roles
		if rapid.Bool().Draw(t, "at top level") {
			owners = []string{""}
		}
		for _, role := range owners {
			label := role + name
			for _, kind := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"variable", "local", "reload", "file", "state", "many"}), 0, 6, rapid.ID).Draw(t, label) {
				switch kind {
				case "variable":
					add(role, "var."+name, func(func(...string) string) string {
						return fmt.Sprintf("variable %q {\n  default = \"v%s\"\n}\n", name, label)
					})
				case "local":
					add(role, "local."+name, func(func(...string) string) string {
						return fmt.Sprintf("locals {\n  %s = \"l%s\"\n}\n", name, label)
					})
				case "reload":
					add(role, "reload."+name, func(func(...string) string) string {
						return fmt.Sprintf("reload %q {\n  name = %q\n}\n", name, "s"+label)
					})
				case "file", "many":
					content := label
					for _, value := range []string{"var." + name, "local." + name} {
						if has(role, value) {
							content += " ${" + value + "}"
						}
					}
					more, address := "", "file."+name
					if kind == "many" {
						more, address = "  for_each = [\"k\", \"l\"]\n", "directory."+name
					}
					word, _, _ := strings.Cut(address, ".")
					body := fmt.Sprintf("  path = \"/%s/%s\"\n", word, content)
					if kind == "many" {
						body = fmt.Sprintf("  path = \"/%s/%s/${each.key}\"\n", word, content)
					}
					add(role, address, func(refs func(...string) string) string {
						return fmt.Sprintf("%s %q {\n%s%s  notify = %s\n}\n", word, name, more, body, refs("reload."+name))
					})
				case "state":
					add(role, "state."+name, func(refs func(...string) string) string {
						return fmt.Sprintf("state %q {\n  require = %s\n  file \"in\" {\n    path = \"/state/%s\"\n  }\n}\n", name, refs("file."+name, "directory."+name), label)
					})
				}
			}
		}
	}
	add("", "file.top", func(refs func(...string) string) string {
		return "file \"top\" {\n  path = \"/top\"\n  require = " + refs("file.x", "directory.y", "state.x", "state.y") + "\n  notify = " + refs("reload.y") + "\n}\n"
	})
	return s
}

// write writes the site with its roles, or flat for a host with these roles.
func (s roleSite) write(given []string, flat bool) fstest.MapFS {
	there := func(name string) bool {
		return slices.ContainsFunc(s.pieces, func(p rolePiece) bool {
			return p.name == name && (!flat || p.role == "" || slices.Contains(given, p.role))
		})
	}
	refs := func(addresses ...string) string {
		return "[" + strings.Join(slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return !there(a) }), ", ") + "]"
	}
	quoted := make([]string, len(given))
	for i, role := range given {
		quoted[i] = fmt.Sprintf("%q", role)
	}
	var b strings.Builder
	if flat {
		b.WriteString("host \"h\" {}\n")
	} else {
		fmt.Fprintf(&b, "host \"h\" {\n  roles = [%s]\n}\n", strings.Join(quoted, ", "))
	}
	for _, role := range append([]string{""}, s.roles...) {
		within := ""
		for _, p := range s.pieces {
			if p.role == role && (!flat || role == "" || slices.Contains(given, role)) {
				within += p.text(refs)
			}
		}
		if role != "" && !flat {
			within = fmt.Sprintf("role %q {\n%s}\n", role, within)
		}
		b.WriteString(within)
	}
	return fstest.MapFS{"site.hcl": {Data: []byte(b.String())}}
}

// twice reports whether two of the roles declare one name.
func (s roleSite) twice(given []string) bool {
	found := map[string]bool{}
	for _, p := range s.pieces {
		if p.role != "" && !slices.Contains(given, p.role) {
			continue
		}
		if found[p.name] {
			return true
		}
		found[p.name] = true
	}
	return false
}

// TestNamesAreOfHosts demands that a host gets from a site what it would get if the site had
// nothing but what its own roles declare; and an error if two of them declare one name.
func TestNamesAreOfHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRoleSite(t)
		given := rapid.SliceOfDistinct(rapid.SampledFrom(s.roles), rapid.ID).Draw(t, "roles of the host")
		target := lang.Target{Host: "h", Facts: pairFacts(nil)}
		site, _ := lang.Load(s.write(given, false), lang.Options{Registry: modules.Standard()})
		_, list := site.Evaluate(context.Background(), target)
		said := site.CheckNames([]lang.Host{{Name: "h", Roles: given}})
		if s.twice(given) {
			for _, l := range []diag.List{list, said} {
				if len(l) == 0 || slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return !strings.Contains(d.Summary, "has two of") || d.Hint == "" }) {
					t.Fatalf("got %v, want an error for each name", l)
				}
			}
			return
		}
		if len(said) > 0 {
			t.Fatal(said.Error())
		}
		if got, want := run(t, s.write(given, false), target), run(t, s.write(given, true), target); got != want {
			t.Fatalf("with roles:\n%s\nwithout:\n%s\n%s", got, want, s.write(given, false)["site.hcl"].Data)
		}
	})
}

// TestExportsOfRoles demands that a host reads of another one the variable that this one's roles
// declare, whether it has one of that name itself or not.
func TestExportsOfRoles(t *testing.T) {
	const source = `
host "w" {
  roles = ["web"]
}
host "d" {
  roles = ["db"]
}
host "plain" {}
role "web" {
  variable "port" {
    default = 80
    export  = true
  }
}
role "db" {
  variable "port" {
    default = 5432
    export  = true
  }
}
file "/ports" {
  content = "${hosts("w")[0].exports.port} ${hosts("d")[0].exports.port}"
}
`
	site, _ := lang.Load(fstest.MapFS{"a.hcl": {Data: []byte(source)}}, lang.Options{Registry: modules.Standard()})
	for _, host := range []string{"w", "d", "plain"} {
		for given, want := range map[string]string{"": "80 5432", "7": "7 7"} {
			target := lang.Target{Host: host}
			if given != "" {
				target.Vars = []lang.Var{{Name: "port", Value: given}}
			}
			d, list := site.Evaluate(t.Context(), target)
			if len(list) > 0 {
				t.Fatal(list.Error())
			}
			if got := d.List[0].Parts[0].Values["content"]; got != want {
				t.Errorf("%s with %q: %v, want %s", host, given, got, want)
			}
		}
	}
	site, _ = lang.Load(fstest.MapFS{"a.hcl": {Data: []byte(source + "file \"/none\" {\n  content = \"${hosts(\"plain\")[0].exports.port}\"\n}\n")}}, lang.Options{Registry: modules.Standard()})
	_, list := site.Evaluate(t.Context(), lang.Target{Host: "w"})
	one(t, list, `the host "plain" has no var.port`)
}
