//go:build lab

package labtest

import (
	"strings"
	"testing"
)

// clusterSite joins a device of each peer to a bridge, as long as the peer is one of the cluster.
const clusterSite = `
site {
  name = "bench"
}

variable "ensure" {
  default = "present"
}

cluster "bench" {
  hosts  = "peer*"
  leader = "peer1"
  roles  = ["peer"]
  ensure = var.ensure
}

role "peer" {
  bridge "br-bench" {}
  bridge_port "dut0" {
    bridge = "br-bench"
  }
  interface "dut0" {
    up = true
  }
  file "/srv/members" {
    content = "${host.cluster.leader}: ${join(" ", host.cluster.members)}\n"
  }
}

file "/srv/own" {
  content = "own\n"
}
`

// Three peers over SSH: the bridge is there on all of them or on none, one that is away stays a member, and what is taken away is gone, on
// that one at its next turn.
func TestSSHCluster(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "peer1", "peer2", "peer3")
	site := f.site("bench", f.asRoot()+clusterSite)
	const joined = `ip link show dut0 | grep -q 'master br-bench' && [ "$(cat /srv/members)" = 'peer1: peer1 peer2 peer3' ]`
	const lacks = `! ip link show br-bench 2>/dev/null && [ ! -e /srv/members ] && ip link show dut0 | grep -vq master`
	for _, h := range f.hosts {
		f.on(h, "ip link add dut0 type veth peer name wire0")
	}
	away := f.hosts[2]
	f.on(away, "systemctl stop ssh.socket ssh 2>/dev/null; systemctl stop ssh")
	d := f.tenet("apply", "--yes", site)
	if d.status != 5 || !strings.Contains(d.stdout, "the cluster bench waits for peer3") {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	for _, h := range f.hosts {
		f.on(h, lacks)
	}
	f.on(away, "systemctl start ssh")
	f.applies(0, "--wait=1m", site)
	for _, h := range f.hosts {
		f.on(h, joined)
	}
	if d := f.tenet("status", "-i", site, "cluster.bench"); d.status != 0 || !strings.HasPrefix(d.stdout, "cluster bench: deployed, healthy\n") {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}

	f.on(f.hosts[0], "ip link delete br-bench") // what is broken by hand is mended, also while another one is away
	f.on(away, "systemctl stop ssh")
	if d := f.tenet("apply", "--yes", site); d.status != 5 {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.on(f.hosts[0], joined)
	if d := f.tenet("apply", "--yes", "--var", "ensure=absent", site); d.status != 5 {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.on(f.hosts[0], lacks)
	f.on(f.hosts[1], lacks+" && [ -e /srv/own ]")
	f.on(away, "systemctl start ssh && "+joined)
	f.applies(0, "--var", "ensure=absent", site)
	f.on(away, lacks+" && [ -e /srv/own ] && [ ! -e /var/lib/tenet/cluster ]")
}
