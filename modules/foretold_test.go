package modules_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// machine is the simulated machine that the plans below are made on.
func machine(t *testing.T) *host.Memory {
	t.Helper()
	readOnly := fs.FileMode(0o444)
	h, err := simulated.New(t.Context(), simulated.Machine{
		Packages: map[string]simulated.Package{"zsh": {Available: []string{"5.9-4"}}},
		Files: map[string]simulated.File{
			"/proc/modules":                      {Content: "ext4 1 0 - Live 0x0\n"},
			"/proc/sys/net/ipv4/ip_forward":      {Content: "0\n"},
			"/proc/sys/net/ipv4/conf/all/rp":     {Content: "0\n"},
			"/proc/sys/kernel/ostype":            {Content: "Linux\n", Meta: simulated.Meta{Mode: &readOnly}},
			"/lib/modules/6.1.0-simulated/x.txt": {},
		},
		Commands: []simulated.Command{{Name: "modprobe"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// row is what a plan says of a part: "certain", or the error or the reason of maybe.
func row(e states.Event) string {
	switch {
	case e.Error != nil:
		return "fails: " + e.Error.Message + " (" + e.Error.Hint + ")"
	case e.Certain != nil && !*e.Certain:
		return "maybe: " + e.Reason
	}
	return "certain"
}

// plan gives the rows of a plan, by address.
func plan(t *testing.T, h host.Host, text string) map[string]string {
	t.Helper()
	files := fstest.MapFS{"site.hcl": {Data: []byte(text)}}
	registry := modules.Standard()
	site, mistakes := lang.Load(files, lang.Options{Registry: registry})
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	declared, mistakes := site.Evaluate(t.Context(), lang.Target{Host: "x"})
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	compiled, mistakes := graph.Compile(declared, graph.Options{Registry: registry})
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	rows := map[string]string{}
	_, err := runtime.Plan(context.Background(), compiled.Run, runtime.Options{
		Host: h, Registry: registry, Site: files, Sources: compiled.Sources,
		Events: func(e states.Event) {
			if e.Type == states.EventPart {
				rows[e.Address] = row(e)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A plan does not promise what an apply will be refused, and refuses nothing that an
// earlier part of the run may bring.
func TestPlansPromiseNothing(t *testing.T) {
	for _, c := range []struct{ name, site, part, row string }{
		{"no parameter", `sysctl "net.bridge.nf" { value = "1" }`, "sysctl[\"net.bridge.nf\"]", "fails: this host has no parameter of the kernel named net.bridge.nf (sysctl -a lists"},
		{"a parameter that a module may bring", `kernel_module "br_netfilter" {}
			sysctl "net.bridge.nf" { value = "1" }`, "sysctl[\"net.bridge.nf\"]", "maybe: the kernel has no net.bridge.nf now; a module that it is to load"},
		{"a module alone", `kernel_module "br_netfilter" {}`, "kernel_module.br_netfilter", "certain"},
		{"a parameter of a device", `bridge "br0" {}
			sysctl "net.ipv4.conf.br0.rp" { value = "1" }`, "sysctl[\"net.ipv4.conf.br0.rp\"]", "maybe: the kernel has no net.ipv4.conf.br0.rp before the device br0"},
		{"a parameter of no device", `sysctl "net.ipv4.conf.br0.rp" { value = "1" }`, "sysctl[\"net.ipv4.conf.br0.rp\"]", "fails: this host has no parameter"},
		{"a parameter that is only read", `sysctl "kernel.ostype" { value = "Other" }`, "sysctl[\"kernel.ostype\"]", "fails: kernel.ostype can only be read"},
		{"no number", `sysctl "net.ipv4.ip_forward" { value = "yes" }`, "sysctl[\"net.ipv4.ip_forward\"]", `fails: value: "yes" is no number, and the kernel has the number 0`},
		{"a number", `sysctl "net.ipv4.ip_forward" { value = "1" }`, "sysctl[\"net.ipv4.ip_forward\"]", "certain"},
		{"no shell", `user "ann" { shell = "/bin/zsh" }`, "user.ann", "fails: shell: this host has no program /bin/zsh, and nobody could log in (install it in a part"},
		{"no program", `user "ann" { shell = "/etc/passwd" }`, "user.ann", "fails: shell: /etc/passwd is no program"},
		{"a shell", `user "ann" { shell = "/bin/bash" }`, "user.ann", "certain"},
		{"a shell that a package may bring", `package "zsh" {}
			user "ann" { shell = "/bin/zsh" }`, "user.ann", "maybe: after package.zsh"},
		{"a shell that a file of the run is", `file "/usr/local/bin/menu" { mode = "0755" }
			user "ann" { shell = "/usr/local/bin/menu" }`, "user.ann", "certain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := plan(t, machine(t), c.site)
			if is, ok := rows[c.part]; !ok || !strings.HasPrefix(is, c.row) {
				t.Errorf("%s is %q, want %q…\n%v", c.part, is, c.row, rows)
			}
		})
	}
}
