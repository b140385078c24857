package lang_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
)

// inventorySite has hosts of three origins.
func inventorySite(language string) fstest.MapFS {
	files := fstest.MapFS{
		"hosts.ini": {Data: []byte("[web]\nweb1 ansible_host=192.0.2.1 ansible_port=2222 color=line extra=1\nweb2 undeclared=1\n\n" +
			"[web:vars]\ncolor=ini\nshape=ini\n\n[db]\ndb1 ansible_become=True\n")},
		"site.hcl": {Data: []byte(`
inventory {
  ansible = "hosts.ini"
}
inventory {
  command = ["./more", "--list"]
}
host "web1" {
  port = 22
}
host_group "web" {
  roles = ["web"]
  vars  = { shape = "declared" }
}
role "web" {
  print "look" {
    message = "${host.name} ${var.color} ${var.shape} ${try(host.vars.extra, "-")} ${length(hosts("@web"))}"
  }
}
variable "color" {
  default = "none"
}
variable "shape" {
  default = "none"
}
`)},
	}
	if language == "star" {
		delete(files, "site.hcl")
		files["site.star"] = &fstest.MapFile{Data: []byte(`
inventory(ansible = "hosts.ini")
inventory(command = ["./more", "--list"])
host("web1", port = 22)
color = variable("color", default = "none")
shape = variable("shape", default = "none")
host_group("web", roles = ["web"], vars = {"shape": "declared"})
role("web", [print("look", message = format("%s %s %s %s %d", host.name, color, shape, host.vars.get("extra", "-"), len(hosts("@web"))))])
`)}
	}
	return files
}

const more = `{"hosts": {"app1": {"address": "app.example.test", "labels": {"tier": "app"}, "vars": {"color": "own"}},
  "web2": {"user": "deploy", "ssh_options": ["ProxyJump=gate"], "become": "root"}},
 "groups": {"web": {"hosts": ["app1"], "vars": {"extra": "group"}}}}`

func TestInventoriesJoinWhatIsDeclared(t *testing.T) {
	for _, language := range []string{"hcl", "star"} {
		asked := 0
		target := lang.Target{Facts: debian, Inventory: func(_ context.Context, argv []string) ([]byte, error) {
			asked++
			if !slices.Equal(argv, []string{"./more", "--list"}) {
				t.Errorf("asked for %q", argv)
			}
			return []byte(more), nil
		}}
		site, list := lang.Load(inventorySite(language), lang.Options{Registry: modules.Standard()})
		if len(list) > 0 {
			t.Fatal(list.Error())
		}
		hosts, groups, list := site.Hosts(t.Context(), target)
		if len(list) > 0 {
			t.Fatal(list.Error())
		}
		var got []string
		for _, h := range hosts {
			got = append(got, fmt.Sprint(h.Name, " ", h.Address, " ", h.Port, h.User, h.Become, h.SSHOptions, h.Roles, h.Groups, h.Labels, " ", h.Range))
		}
		place := map[string]string{"hcl": "site.hcl:8:1", "star": "site.star:4:1"}[language]
		want := []string{
			"web1 192.0.2.1 22[] [web] [all web] map[] " + place,
			"web2 web2 0deployroot[ProxyJump=gate] [web] [all web] map[] ./more --list:2:3",
			"db1 db1 0root[] [] [all db] map[] hosts.ini:10:1",
			"app1 app.example.test 0[] [web] [web] map[tier:app] ./more --list:1:12",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", language, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !slices.Equal(groups, []string{"all", "db", "ungrouped", "web"}) {
			t.Errorf("the groups are %q", groups)
		}
		for name, want := range map[string]string{
			"web1": "web1 line declared 1 3", "web2": "web2 ini declared - 3", "app1": "app1 own declared group 3"} {
			target.Host = name
			d, list := site.Evaluate(t.Context(), target)
			if len(list) > 0 {
				t.Fatalf("%s, %s: %s", language, name, list.Error())
			}
			if got := d.List[0].Parts[0].Values["message"]; got != want {
				t.Errorf("%s: %s says %v, want %s", language, name, got, want)
			}
		}
		if asked != 1 {
			t.Errorf("%s: the program was asked %d times", language, asked)
		}
	}
}

func TestInventoryHidden(t *testing.T) {
	target := lang.Target{Facts: debian, InventoryHidden: true, Inventory: func(context.Context, []string) ([]byte, error) {
		t.Error("a program was run")
		return nil, nil
	}}
	for _, language := range []string{"hcl", "star"} {
		site, _ := lang.Load(inventorySite(language), lang.Options{Registry: modules.Standard()})
		for _, host := range []string{"web1", "unknown"} {
			target.Host = host
			if _, list := site.Evaluate(t.Context(), target); len(list) > 0 {
				t.Errorf("%s, %s: %s", language, host, list.Error())
			}
		}
	}
}

// of evaluates a site that has but an inventory, and gives what is wrong.
func of(t *testing.T, files fstest.MapFS, source string, program func(context.Context, []string) ([]byte, error)) diag.List {
	t.Helper()
	files = fstest.MapFS{"site.hcl": {Data: []byte(source)}, "hosts.ini": files["hosts.ini"]}
	if files["hosts.ini"] == nil {
		delete(files, "hosts.ini")
	}
	site, list := lang.Load(files, lang.Options{Registry: registry()})
	if len(list) > 0 {
		return list
	}
	_, _, list = site.Hosts(t.Context(), lang.Target{Inventory: program})
	return list
}

func TestInventoryRefuses(t *testing.T) {
	printed := func(text string) func(context.Context, []string) ([]byte, error) {
		return func(context.Context, []string) ([]byte, error) { return []byte(text), nil }
	}
	const run = "inventory {\n  command = [\"./more\"]\n}\n"
	for name, tt := range map[string]struct {
		source  string
		program func(context.Context, []string) ([]byte, error)
		want    string
	}{
		"neither":     {"inventory {\n}\n", nil, "an inventory needs one of ansible, command and opendut"},
		"both":        {"inventory {\n ansible = \"a\"\n command = [\"b\"]\n}\n", nil, "an inventory needs one of ansible, command and opendut"},
		"unknown":     {"inventory {\n file = \"a\"\n}\n", nil, `an inventory has no attribute "file"`},
		"missing":     {"inventory {\n  ansible = \"host.ini\"\n}\n", nil, `site.hcl:2:13: ansible: there is no file "host.ini" in the site`},
		"outside":     {"inventory {\n  ansible = \"../hosts.ini\"\n}\n", nil, `"../hosts.ini" is outside of the site`},
		"computed":    {"inventory {\n  ansible = fact.os.id\n}\n", nil, "an inventory cannot refer to fact"},
		"text":        {"inventory {\n  command = \"./more\"\n}\n", nil, "command: a list of strings is required"},
		"empty":       {"inventory {\n  command = []\n}\n", nil, "command: the list is empty"},
		"no programs": {run, nil, "the inventory ./more: programs are not run here"},
		"failed": {run, func(context.Context, []string) ([]byte, error) {
			return nil, errors.New("it ended with status 1: no token")
		},
			"site.hcl:2:13: the inventory ./more: it ended with status 1: no token"},
		"no JSON":     {run, printed("hosts:\n"), "./more:1:1: this is no JSON"},
		"cut short":   {run, printed(`{"hosts": {`), "this is no JSON: it ends too early"},
		"no object":   {run, printed(`["a"]`), "the inventory is an object, and not a list"},
		"bytes":       {run, printed("{\"\xff\": 1}"), "is not UTF-8"},
		"no hosts":    {run, printed(`{"hosts": {}}`), "the inventory tells of no hosts"},
		"name":        {run, printed(`{"hosts": {"-oProxyCommand=x": {}}}`), `"-oProxyCommand=x" is no name for a host`},
		"address":     {run, printed(`{"hosts": {"a": {"address": "-x"}}}`), `"-x" is no address of a host`},
		"user":        {run, printed(`{"hosts": {"a": {"user": "a b"}}}`), `"a b" is no name of a user`},
		"option":      {run, printed(`{"hosts": {"a": {"ssh_options": ["RemoteCommand=x"]}}}`), "RemoteCommand=x cannot be given"},
		"word":        {run, printed(`{"hosts": {"a": {"adress": "x"}}}`), `./more:1:18: the host a has no "adress": did you mean`},
		"type":        {run, printed(`{"hosts": {"a": {"address": 1}}}`), "address is a text"},
		"port":        {run, printed(`{"hosts": {"a": {"port": 0}}}`), `"0" is no port`},
		"role":        {run, printed(`{"hosts": {"a": {"roles": ["web"]}}}`), `the host a: there is no role "web"`},
		"child":       {run, printed(`{"hosts": {"a": {}}, "groups": {"g": {"children": ["h"]}}}`), "the group g holds the group h, which there is not"},
		"circle":      {run, printed(`{"hosts": {"a": {}}, "groups": {"g": {"children": ["h"]}, "h": {"children": ["g"]}}}`), "the groups hold each other: g → h → g"},
		"group":       {run + "host_group \"wbe\" {\n}\n", printed(`{"hosts": {"a": {}}, "groups": {"web": {"hosts": ["a"]}}}`), "no inventory has such a group"},
		"group alone": {"host \"a\" {}\nhost_group \"web\" {\n}\n", nil, `the host group "web" needs hosts or labels`},
	} {
		t.Run(name, func(t *testing.T) {
			list := of(t, nil, tt.source, tt.program)
			if i := strings.Index(tt.want, ": did you mean"); i > 0 {
				tt.want = tt.want[:i]
			}
			one(t, list, tt.want)
		})
	}
}

func TestLoadInventory(t *testing.T) {
	files := fstest.MapFS{
		"${x}.ini":          {Data: []byte("[web]\nweb[1:2] color=red\n")},
		"group_vars/web":    {Data: []byte("size: 3\n")},
		"dyn":               {Data: []byte("#!/bin/sh\n"), Mode: fs.FileMode(0o755)},
		"dir/a.yml":         {Data: []byte("web: {hosts: {y1: }}\n")},
		"dir/group_vars/al": {Data: []byte("- 1\n")},
	}
	target := lang.Target{Inventory: func(_ context.Context, argv []string) ([]byte, error) {
		return fmt.Appendf(nil, `{"web": {"hosts": [%q]}, "_meta": {"hostvars": {}}}`, strings.Trim(argv[0], "./")+"1"), nil
	}}
	for name, want := range map[string]string{"${x}.ini": "web1 web2", "dyn": "dyn1", "dir": "y1"} {
		site, list := lang.LoadInventory(files, name, lang.Options{Registry: registry()})
		hosts, _, more := site.Hosts(t.Context(), target)
		if len(list)+len(more) > 0 {
			t.Fatal(list, more)
		}
		var got []string
		for _, h := range hosts {
			got = append(got, h.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
	}
	site, _ := lang.LoadInventory(files, "none.ini", lang.Options{Registry: registry()})
	_, _, list := site.Hosts(t.Context(), target)
	one(t, list, `there is no file "none.ini"`)
	if lang.IsSite(files) || !lang.IsSite(fstest.MapFS{"a.star": {}}) {
		t.Error("a site is not told from an inventory")
	}
}
