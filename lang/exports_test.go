package lang_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/states"
)

// contentOf gives the content of a file that is declared.
func contentOf(list []states.Declaration, path string) string {
	for _, d := range list {
		if d.Parts[0].Key == path {
			return fmt.Sprint(d.Parts[0].Values["content"])
		}
	}
	return ""
}

// What a host reads of another is the value that the other has itself.
func TestExportsAreTheValuesOfTheHost(t *testing.T) {
	names := []string{"h0", "h1", "h2"}
	rapid.Check(t, func(rt *rapid.T) {
		given := rapid.Bool().Draw(rt, "var")
		gives := func(level, host string) bool { return rapid.IntRange(0, 2).Draw(rt, level+host) == 0 }
		value := func(level, host string) string {
			return fmt.Sprintf("w = { %s = %q, all = %q }", level, host, level+host)
		}
		var hcl, star, vars strings.Builder
		target := lang.Target{}
		if given {
			target.Vars = []lang.Var{{Name: "w", Value: `{ var = "1", all = "var" }`}}
		}
		merge := rapid.Bool().Draw(rt, "merge")
		fmt.Fprintf(&hcl, "variable \"w\" {\n  export = true\n  merge = %v\n  type = map(string)\n  default = { all = \"default\" }\n}\nrole \"r\" {\n", merge)
		fmt.Fprintf(&star, "variable(\"w\", export = True, merge = %s, type = \"map(string)\", default = {\"all\": \"default\"})\n", map[bool]string{true: "True", false: "False"}[merge])
		if gives("role", "") {
			hcl.WriteString("  vars = { " + value("role", "") + " }\n")
		}
		hcl.WriteString("}\nhost_group \"g\" {\n  hosts = [\"h0\", \"h1\"]\n")
		if gives("group", "") {
			hcl.WriteString("  vars = { " + value("group", "") + " }\n")
		}
		hcl.WriteString("}\n")
		for _, name := range names {
			fmt.Fprintf(&hcl, "host %q {\n", name)
			if gives("hasrole", name) {
				hcl.WriteString("  roles = [\"r\"]\n")
			}
			if gives("host", name) {
				hcl.WriteString("  vars = { " + value("host", name) + " }\n")
			}
			hcl.WriteString("}\n")
		}
		if gives("site", "") {
			vars.WriteString(value("site", "") + "\n")
		}
		if gives("file", "") {
			target.VarFiles = []lang.VarFile{{Name: "f.hcl", Data: []byte(value("file", "") + "\n")}}
		}
		read := "file \"/etc/all\" {\n  content = jsonencode({ for h in hosts(\"*\") : h.name => h.exports.w })\n}\nfile \"/etc/own\" {\n  content = jsonencode(var.w)\n}\n"
		site := func(files fstest.MapFS) *lang.Site {
			files["vars.hcl"] = &fstest.MapFile{Data: []byte(vars.String())}
			s, list := lang.Load(files, lang.Options{Registry: registry()})
			if len(list) > 0 {
				rt.Fatal(list.Error())
			}
			return s
		}
		inHCL := site(fstest.MapFS{"site.hcl": {Data: []byte(hcl.String() + read)}})
		hosts := strings.SplitN(hcl.String(), "role \"r\"", 2)
		inStar := site(fstest.MapFS{"hosts.hcl": {Data: []byte("role \"r\"" + hosts[1])}, "site.star": {Data: []byte(star.String() +
			"file(\"/etc/all\", content = jsonencode({h.name: h.exports.w for h in hosts(\"*\")}))\nfile(\"/etc/own\", content = jsonencode(var.w))\n")}})
		for _, s := range []*lang.Site{inHCL, inStar, inHCL} {
			own := map[string]string{}
			read := map[string]bool{}
			for _, name := range names {
				target.Host = name
				d, list := s.Evaluate(rt.Context(), target)
				if len(list) > 0 {
					rt.Fatal(list.Error())
				}
				all, mine := contentOf(d.List, "/etc/all"), contentOf(d.List, "/etc/own")
				own[name], read[all] = mine, true
			}
			want := fmt.Sprintf(`{"h0":%s,"h1":%s,"h2":%s}`, own["h0"], own["h1"], own["h2"])
			if len(read) != 1 || !read[want] {
				rt.Fatalf("read is %v\nof %s", read, want)
			}
		}
	})
}
