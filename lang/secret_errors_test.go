package lang_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/modules"
)

// secretValues are sensitive in whole or in part, and right nearly nowhere. The short
// one is found by its mark alone: it may stand in any message by chance.
func secretValues() []string {
	var values []string
	for _, name := range []string{"long", "short"} {
		s := fmt.Sprintf("secret(%q)", name)
		values = append(values, s, "["+s+"]", "{ a = "+s+" }", "{ ("+s+") = 1 }", "{ attempts = "+s+", timeout = "+s+", command = ["+s+"] }", `"x ${`+s+`}"`, `"~/${`+s+`}"`, "tonumber(\"1\") + length("+s+")")
	}
	return values
}

// Whatever attribute, option or word gets a sensitive value, no message shows it.
func TestNoErrorShowsASecret(t *testing.T) {
	registry := modules.Standard()
	target := lang.Target{Host: "web1", Facts: facts, Secrets: secrets("long=hunter22\nshort=q~7\n")}
	for _, value := range secretValues() {
		sites := map[string]string{}
		for _, name := range registry.Names() {
			module := registry.Lookup(name)
			var b strings.Builder
			for i, a := range module.Attributes {
				fmt.Fprintf(&b, "%s \"p%d\" {\n  %s = %s\n}\n", module.Name, i, a.Name, value)
			}
			sites[module.Name] = b.String()
		}
		for _, o := range expr.Options() {
			if o.Block {
				continue
			}
			option := fmt.Sprintf("  %s = %s\n", o.Name, value)
			sites[o.Name] = "file \"/a\" {\n" + option + "}\nstate \"s\" {\n" + option + "  file \"/b\" {}\n}\nblock \"b\" {\n  members = [state.s]\n" + option + "}\n"
		}
		sites["words"] = words(value)
		sites["hosts"] = "host \"a\" {\n  address = " + value + "\n  vars = " + value + "\n  labels = " + value + "\n  roles = " + value + "\n}\nhost_group \"g\" {\n  hosts = " + value + "\n}\nrollout {\n  batch = " + value + "\n}\n"
		for what, text := range sites {
			site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(text)}}, lang.Options{Registry: registry})
			declared, more := site.Evaluate(context.Background(), target)
			list = append(list, more...)
			_, _, hosts := site.Hosts(context.Background(), target)
			_, outputs := site.Outputs(context.Background(), target)
			_, variables := site.Variables(context.Background(), target)
			list = slices.Concat(list, hosts, outputs, variables)
			if declared != nil && !list.HasErrors() {
				_, more := graph.Compile(declared, graph.Options{Registry: registry})
				list = append(list, more...)
			}
			for _, d := range list {
				for _, secret := range []string{"hunter22", "q~7"} {
					if strings.Contains(fmt.Sprint(d.Summary, d.Detail, d.Hint, d.Related), secret) {
						t.Errorf("%s = %s: %s", what, value, d.Error())
					}
				}
			}
		}
	}
}

// words puts a value wherever the language's own words take one.
func words(value string) string {
	return strings.ReplaceAll(`
variable "v" {
  type    = list(number)
  default = VALUE
  validation {
    condition     = var.v == null
    error_message = "not ${jsonencode(VALUE)}"
  }
}
locals {
  x = [VALUE][9]
  y = { a = 1 }[VALUE]
  z = { for x in [VALUE, VALUE] : x => 1 }
}
state "s" {
  for_each = VALUE
  param "p" {
    type    = number
    default = VALUE
  }
  command "c" {
    argv = ["c"]
    only_if {
      exists  = VALUE
      command = VALUE
    }
  }
}
run "r" {
  state  = state.s
  params = { p = VALUE }
}
component "c" {
  source = "std/nginx"
  vars   = VALUE
}
output "o" {
  value = read(VALUE)
}
`, "VALUE", value)
}
