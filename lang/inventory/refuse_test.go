package inventory_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang/inventory"
)

// TestReadSays demands what is said about inventories that are wrong, or of which not all
// is taken: each line of want is a part of one message, in their order.
func TestReadSays(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text, want string
	}{
		"quote":           {"hosts", "web1\ndb1 a='b\n", "hosts:2:1: the line cannot be read: a quote is not closed"},
		"no value":        {"hosts", "  web1 alone\n", `hosts:1:3: "alone" is no variable of a host`},
		"range":           {"hosts", "web[5:1]\n", "hosts:1:1: web[5:1] names no hosts: the range ends before it begins"},
		"large range":     {"hosts", "web[1:9999999]\n", "it stands for more than 20000 hosts"},
		"huge range":      {"hosts", "web[9223372036854775807:9223372036854775807]\n", "is a range neither of numbers nor of letters"},
		"many ranges":     {"hosts", "a[1:9999][1:9999]\n", "it stands for more than 20000 hosts"},
		"full":            {"hosts", "a[1:19999]\nb[1:19999]\nc\n", "hosts:2:1: there are more than 20000 hosts"},
		"digits":          {"hosts", "web[01:100]\n", "have as many digits"},
		"step":            {"hosts", "web[1:9:0]\n", "the step of a range is a number from 1"},
		"port":            {"hosts", "web1:99999\n", "99999 is no port"},
		"IPv6":            {"hosts", "2001:db8::7 a=1\n", `"2001:db8::7" is no name for a host`},
		"user":            {"hosts", "root@web1\n", `"root@web1" is no name for a host`},
		"option":          {"hosts", "-oProxyCommand=x\n", `"-oProxyCommand=x" is no name for a host`},
		"kind":            {"hosts", "[web:hosts2]\nweb1\n", `"hosts2" is no kind of section`},
		"section":         {"hosts", "[web servers]\nweb1\n", "[web servers] is no section"},
		"vars of nobody":  {"hosts", "web1\n[wbe:vars]\na=1\n", "hosts:2:1: the group wbe is not declared, and has variables"},
		"child of nobody": {"hosts", "[a:children]\nb\n", "hosts:2:1: the group b is not declared"},
		"variable":        {"hosts", "[a]\nx\n[a:vars]\ny\n", "hosts:4:1: a variable is missing its value"},
		"circle":          {"hosts", "[a:children]\nb\n[b:children]\na\n", "the groups hold each other: a → b → a"},
		"itself":          {"hosts", "[a:children]\na\n", "the groups hold each other: a → a"},
		"group name":      {"hosts", "[a,b]\nx\n", `"a,b" is no name for a group`},
		"priority":        {"hosts", "[a]\nx\n[a:vars]\nansible_group_priority=high\n", "the priority of a group is a whole number"},
		"YAML":            {"hosts.ini", "---\n", "this is YAML, and no INI file"},
		"program":         {"hosts", "#!/usr/bin/python3\n", "hosts:1:1: this is a program, and no inventory"},
		"vault":           {"hosts", "$ANSIBLE_VAULT;1.1;AES256\n33\n", "the inventory is encrypted by Ansible's vault"},
		"TOML":            {"hosts.toml", "[web]\n", "inventories in TOML are not read"},
		"bytes":           {"hosts", "web1 a=\xff\n", "is not UTF-8"},
		"plugin":          {"aws.yml", "plugin: aws_ec2\n", "aws.yml:1:9: this is the configuration of a plugin"},
		"YAML syntax":     {"a.yml", "all:\n  hosts: [a\n", "this is no YAML"},
		"YAML list":       {"a.yml", "- a\n", "the inventory is an object, and not a list"},
		"two documents":   {"a.yml", "all:\n---\nall:\n", "there is more than one document"},
		"group":           {"a.yml", "all:\n  children:\n    web: [a]\n", "a.yml:3:10: the group web is a list"},
		"word":            {"a.yml", "web:\n  host:\n    a:\n", `a.yml:2:3: the group web: "host" has no meaning here`},
		"vars":            {"a.yml", "web:\n  hosts: {a: }\n  vars: [a]\n", "the variables of the group web are an object, and not a list"},
		"twice":           {"a.yml", "web:\n  hosts: {a: {x: 1, x: 2}}\n", `"x" is given twice; the last counts`},
		"tag":             {"a.yml", "web:\n  hosts: {a: {x: !secret y}}\n", "there is no tag !secret here"},
		"alias bomb": {"a.yml", "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", "its aliases stand for more than"},
		"templates": {"hosts", "web1 a='{{ b }}' c=\"{% if x %}\"\n", "hosts:1:1: a is a template of Ansible, which nothing here evaluates, and is left out: So are c."},
		"password":  {"hosts", "web1 ansible_password=x\n", "ansible_password is not taken: passwords stand in no inventory"},
		"winrm":     {"hosts", "web1 ansible_connection=winrm\nweb2\n", "the host web1 is reached by winrm, which is not possible here, and is left out"},
		"su":        {"hosts", "web1 ansible_become=yes ansible_become_method=su\n", "the host web1 becomes root by su, which is not possible here: sudo is taken"},
		"keys":      {"hosts", "web1 ansible_ssh_common_args='-o StrictHostKeyChecking=no -F x'\n", "StrictHostKeyChecking=no cannot be given: host keys are always checked: It is left out.\n-F x is left out"},
		"address":   {"hosts", "web1 ansible_host='-x y'\n", `"-x y" is no address of a host`},
		"ssh args":  {"hosts", "web1 ansible_ssh_common_args='-o'\n", "there is nothing behind -o"},
		"no meta":   {"a.json", `{"web": {"hosts": ["a"]}}`, "the inventory has no _meta"},
	} {
		t.Run(name, func(t *testing.T) {
			_, list := inventory.Read(fstest.MapFS{tt.file: {Data: []byte(tt.text)}}, tt.file)
			wants := strings.Split(tt.want, "\n")
			if len(list) != len(wants) {
				t.Fatalf("it says %v, want %q", list, wants)
			}
			for i, d := range list {
				if !strings.Contains(d.Error(), wants[i]) || d.Hint == "" || d.Range.File != tt.file {
					t.Errorf("it says %s, want %q with a hint and a place", d.Error(), wants[i])
				}
			}
		})
	}
}

// What Ansible's own variables say of a host.
func TestSettings(t *testing.T) {
	inv, list := inventory.Read(fstest.MapFS{"hosts": {Data: []byte(
		"web1 ansible_host=192.0.2.1 ansible_ssh_port=2222 ansible_user=deploy ansible_become=true ansible_become_user=app ansible_become_method=community.general.doas " +
			"ansible_ssh_private_key_file='~/my keys/id' ansible_ssh_common_args='-J gate -o \"ProxyCommand ssh -W %h:%p x\" -C' ansible_ssh_extra_args=-oCiphers=aes128-ctr\n" +
			"local ansible_connection=local ansible_python_interpreter=/usr/bin/python3 ansible_become_user=app\n")}}, "hosts")
	if len(list) > 0 {
		t.Fatal(list)
	}
	h := inv.Hosts[0]
	if h.Address != "192.0.2.1" || h.Port != 2222 || h.User != "deploy" || h.Become != "app" || h.BecomeMethod != "doas" || h.Executor != "ssh" {
		t.Errorf("%+v", h.Host)
	}
	want := `Ciphers=aes128-ctr|ProxyJump=gate|ProxyCommand=ssh -W %h:%p x|Compression=yes|IdentityFile="~/my keys/id"`
	if got := strings.Join(h.SSHOptions, "|"); got != want {
		t.Errorf("the options are %s", got)
	}
	if h := inv.Hosts[1]; h.Executor != "local" || h.Become != "" || len(h.Levels) > 0 {
		t.Errorf("%+v", h)
	}
}

// What our own form says of a host: all that a site can.
func TestOwnSettings(t *testing.T) {
	inv, list := inventory.Parse("program", []byte(`{"hosts": {"web1": {"become_method": "doas"}}, "groups": {"g": {"hosts": ["web1"], "runner_cache": "/opt/tenet"}}}`))
	if len(list) > 0 {
		t.Fatal(list)
	}
	if h := inv.Hosts[0]; h.RunnerCache != "/opt/tenet" || h.BecomeMethod != "doas" {
		t.Errorf("%+v", h.Host)
	}
	if _, list = inventory.Parse("program", []byte(`{"hosts": {"web1": {"runner_cache": "tmp"}}}`)); !list.HasErrors() {
		t.Error("a path that is not absolute is taken")
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"web1 a='b' c=[1, {'x': None}]\n[g:children]\nh\n[h]\nx[01:3:2]:22\n[g:vars]\nansible_group_priority=3\n",
		"all:\n  hosts: {a: {b: !vault x}}\n  children: {w: {hosts: {'x[a:c]': }}}\n", "a: &a\n  <<: *a\n",
		`{"_meta": {"hostvars": {"a": {"x": 1}}}, "w": ["a"], "g": {"children": ["w"]}}`, `{"hosts": {"a": {"port": 1}}, "groups": {"g": {"hosts": ["a"]}}}`,
	} {
		for kind := range byte(4) {
			f.Add(kind, []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		name := []string{"hosts.ini", "hosts.yml", "hosts.json", "hosts"}[kind%4]
		inv, list := inventory.Read(fstest.MapFS{name: {Data: data}, "group_vars/all": {Data: data}}, name)
		check(t, inv, len(list))
		inv, list = inventory.Parse("program", data)
		check(t, inv, len(list))
		for _, d := range list {
			if d.Hint == "" || d.Range.File == "" || d.Range.Start.Byte < 0 || d.Range.Start.Byte > len(data) {
				t.Errorf("no hint, or no place: %+v", d)
			}
		}
	})
}

// check demands that all hosts have names that can be handed on.
func check(t *testing.T, inv *inventory.Inventory, said int) {
	t.Helper()
	for _, h := range inv.Hosts {
		if h.Name == "" || strings.HasPrefix(h.Name, "-") || strings.ContainsAny(h.Name, " \n\x00,!@*") {
			t.Errorf("a host is named %q", h.Name)
		}
		if strings.HasPrefix(h.Address, "-") && said == 0 {
			t.Errorf("an address is %q", h.Address)
		}
	}
}
