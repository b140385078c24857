package services

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agentSite has a part that fails, and one that takes as long as nobody opens it, each while a file is missing.
const agentSite = `
site { name = "shop" }
host "h1" { executor = "agent" }
host "h2" { executor = "agent" }
locals {
  root = "%s/${host.name}"
}
command "first" {
  shell = "echo once >> ${local.root}/first"
}
command "gate" {
  argv    = ["test", "-e", "${local.root}/gate"]
  require = [command.first]
}
command "wait" {
  shell   = "touch ${local.root}/begun; while [ ! -e ${local.root}/open ]; do sleep 0.05; done"
  require = [command.gate]
}
file "last" {
  path    = "${local.root}/last"
  content = "done\n"
  require = [command.wait]
}
`

// What hosts do by their agents goes on there where it failed, and where the agent was killed meanwhile, as it does over SSH; what is set up
// on them is told as on the host itself.
func TestCommandsByAgents(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "", 2, "127.0.0.1")
	f.connected(2)
	d := newDesk(f)
	d.write("site/site.hcl", fmt.Sprintf(agentSite, f.dir))
	for _, file := range []string{"h1/gate", "h1/open", "h2/open"} {
		d.touch(file)
	}
	state := []string{"--state-dir", filepath.Join(d.dir, "state")}
	apply := func(args ...string) (out, said string, code int) {
		t.Helper()
		return d.tenet(append(append([]string{"apply", "--yes"}, state...), args...)...)
	}
	last := func() string {
		t.Helper()
		lines := strings.Split(d.must(append([]string{"history", "--executions"}, state...)...), "\n")
		id, _, _ := strings.Cut(lines[len(lines)-1], " ")
		return id
	}

	if out, said, code := apply("site"); code != 1 || d.read("h1/last") != "done\n" || d.read("h2/last") != "" {
		t.Fatalf("exit code %d, h1 has %q, h2 %q\n%s%s", code, d.read("h1/last"), d.read("h2/last"), out, said)
	}
	d.touch("h2/gate")
	failed := last()
	if out, said, code := apply("--resume", failed); code != 0 || d.read("h2/last") != "done\n" || !strings.Contains(out+said, "h1: nothing to go on with") || !strings.Contains(out+said, "going on with run") {
		t.Errorf("exit code %d, h2 has %q\n%s%s", code, d.read("h2/last"), out, said)
	}
	if one, two := d.read("h1/first"), d.read("h2/first"); one != "once\n" || two != "once\n" {
		t.Errorf("the first part was done anew: %q, %q", one, two)
	}

	d.resumeKilled(apply, last)
	d.imports()
}

// resumeKilled kills an agent while it applies, and has its host go on with that.
func (d *desk) resumeKilled(apply func(args ...string) (out, said string, code int), last func() string) {
	d.Helper()
	for _, file := range []string{"h2/first", "h2/last", "h2/open", "h2/begun"} {
		if err := os.Remove(filepath.Join(d.farm.dir, file)); err != nil {
			d.Fatal(err)
		}
	}
	ended := make(chan string, 1)
	go func() {
		out, said, code := apply("-l", "h2", "site")
		ended <- fmt.Sprintf("exit code %d\n%s%s", code, out, said)
	}()
	eventually(d, func() error {
		_, err := os.Stat(filepath.Join(d.farm.dir, "h2/begun"))
		return err
	})
	d.hosts[1].end()
	d.touch("h2/open") // what it has begun would wait for ever
	d.hosts[1].start()
	if said := <-ended; strings.HasPrefix(said, "exit code 0") || !strings.Contains(said, "interrupted") || d.read("h2/last") != "" {
		d.Fatalf("the agent was killed: %s\nh2 has %q", said, d.read("h2/last"))
	}
	if out, said, code := apply("--resume", last()); code != 0 || d.read("h2/last") != "done\n" {
		d.Fatalf("exit code %d, h2 has %q\n%s%s", code, d.read("h2/last"), out, said)
	}
	if first := d.read("h2/first"); first != "once\n" {
		d.Errorf("the first part was done anew: %q", first)
	}
}

// imports reads a host by its agent, and as this machine, which it is as well.
func (d *desk) imports() {
	d.Helper()
	root := filepath.Join(d.farm.dir, "h1")
	binary := strings.Repeat("\x00\xff", 300_000)
	for name, text := range map[string]string{"key": "-----BEGIN PRIVATE KEY-----\nTOPSECRET\n", "binary": binary} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			d.Fatal(err)
		}
	}
	for _, args := range [][]string{{"file", filepath.Join(root, "last")}, {"line", filepath.Join(root, "first"), "line=once"}, {"--all", "files", root}} {
		here, there := d.must(append([]string{"import"}, args...)...), d.must(append([]string{"import", "-i", "site", "-l", "h1"}, args...)...)
		if here != there || there == "" || strings.Contains(there, "TOPSECRET") {
			d.Errorf("import %q gives by the agent\n%s\nand here\n%s", args, there, here)
		}
	}
	d.refused("it looks like a secret", "import", "-i", "site", "-l", "h1", "file", filepath.Join(root, "key"))
	d.must("import", "-i", "site", "-l", "h1", "--all", "files", root, "--out", "imported")
	if data, err := os.ReadFile(filepath.Join(d.dir, "imported", "files", root, "binary")); err != nil || string(data) != binary {
		d.Errorf("the file has %d bytes of %d: %v", len(data), len(binary), err)
	}
	if out, said, code := d.tenet("plan", "--detailed-exitcode", "imported"); code != 0 {
		d.Errorf("exit code %d\n%s%s", code, out, said)
	}
}

// touch makes a file of a host, named by the host and its name.
func (d *desk) touch(name string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.farm.dir, name), nil, 0o600); err != nil {
		d.Fatal(err)
	}
}

// read gives what such a file holds; "": there is none.
func (d *desk) read(name string) string {
	d.Helper()
	data, err := os.ReadFile(filepath.Join(d.farm.dir, name))
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	return string(data)
}
