package services

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const clusteredSite = `
site { name = "farm" }
host "h1" { executor = "agent" }
host "h2" { executor = "agent" }
cluster "pair" {
  hosts  = "h*"
  leader = "h2"
  roles  = ["pair"]
}
locals {
  root = "%s/${host.name}"
}
role "pair" {
  file "pair" {
    path    = "${local.root}/pair"
    content = "${host.cluster.leader} leads ${join(" ", host.cluster.members)}"
  }
}
file "own" {
  path    = "${local.root}/own"
  content = "own"
}
`

// A server deploys a cluster to agents, tells how it stands as its hosts do, and takes it away; nobody can take its hosts meanwhile.
func TestClusterByAgents(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "", 2, "127.0.0.1")
	f.connected(2)
	d := newDesk(f)
	d.write("site/site.hcl", fmt.Sprintf(clusteredSite, f.dir))
	d.must("deploy", "site")
	const want = "h2 leads h1 h2"
	eventually(t, func() error {
		if one, two := d.read("h1/pair"), d.read("h2/pair"); one != want || two != want {
			return fmt.Errorf("h1 has %q, h2 %q", one, two)
		}
		return nil
	})
	eventually(t, func() error {
		if out := d.must("undeploy", "farm"); !strings.HasPrefix(out, "cluster pair: deployed, healthy\n") {
			return errors.New(out)
		}
		return nil
	})
	if out := d.must("undeploy", "farm", "--json"); strings.Count(out, `"state": "present"`) != 2 || strings.Contains(out, "own") {
		t.Errorf("it does not tell of the parts of the cluster: %s", out)
	}
	if out := d.must("status", "cluster.pair", "-i", "site"); !strings.HasPrefix(out, "cluster pair: deployed, healthy\n") {
		t.Error(out)
	}

	d.must("undeploy", "farm", "cluster.pair")
	eventually(t, func() error {
		for _, name := range []string{"h1/pair", "h2/pair"} {
			if _, err := os.Stat(filepath.Join(f.dir, name)); !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("%s is there: %v", name, err)
			}
		}
		return nil
	})
	eventually(t, func() error {
		if out := d.must("undeploy", "farm"); !strings.HasPrefix(out, "cluster pair: undeployed\n") {
			return errors.New(out)
		}
		return nil
	})
	if d.read("h1/own") != "own" {
		t.Error("what is its own is gone")
	}
	d.must("deploy", "site")
	eventually(t, func() error {
		if one := d.read("h1/pair"); one != want {
			return fmt.Errorf("h1 has %q", one)
		}
		return nil
	})
}
