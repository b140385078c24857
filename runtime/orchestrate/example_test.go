package orchestrate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/orchestrate"
	"github.com/tenetcm/tenet/runtime/runner"
)

// A site on three machines, which are trees of files here; a remote.Machine with
// ssh.Client.Dial is one that is far away.
func Example() {
	dir, _ := os.MkdirTemp("", "example-")
	defer os.RemoveAll(dir)
	var members []*fleet.Member
	for _, name := range []string{"web1", "web2", "db1"} {
		root := filepath.Join(dir, name)
		os.MkdirAll(filepath.Join(root, "etc"), 0o755)
		h, err := host.NewLocal(host.LocalOptions{Root: root})
		if err != nil {
			panic(err)
		}
		m := &runner.Runner{Host: h, Root: root, StateDir: filepath.Join(root, "state"), Registry: modules.Standard()}
		members = append(members, &fleet.Member{Name: name, Machine: m, InProcess: true})
	}
	loaded, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(`
site { name = "shop" }
host "web1" {}
host "web2" {}
host "db1" {}
file "/etc/motd" { content = "This is ${host.name}.\n" }
`)}}, lang.Options{Registry: modules.Standard()})
	if list.HasErrors() {
		panic(list)
	}
	site := &orchestrate.Site{Site: loaded, Origin: "/srv/site"}
	outcomes, err := site.Apply(context.Background(), members, orchestrate.Options{})
	if err != nil {
		panic(err)
	}
	for _, o := range outcomes {
		motd, _ := os.ReadFile(filepath.Join(dir, o.Machine, "etc/motd"))
		fmt.Printf("%s %s, %d changed: %s", o.Machine, o.Status, o.Result.Counts.Changed, motd)
	}
	// Output:
	// web1 done, 1 changed: This is web1.
	// web2 done, 1 changed: This is web2.
	// db1 done, 1 changed: This is db1.
}
