//go:build lab

package labtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/lab"
)

// benchSite makes of the descriptors beside it a bench, without tunnels: kernels on which the lab runs need not have GRE. What joins the bridges
// in its place is a VXLAN, as a switch that an interface of each peer leads to.
const benchSite = `
site {
  name = "bench"
}

variable "ensure" {
  default = "present"
}

variable "within" {
  default = "1m"
}

inventory {
  opendut = "lab.yml"
}

cluster "bench" {
  roles  = ["peer"]
  ensure = var.ensure
}

role "peer" {
  component "peer" {
    source = "std/peer"
    vars = {
      name         = host.name
      peer        = host.vars.peer
      devices     = host.vars.peer_devices
      cluster     = host.cluster
      tunnels      = false
      check_within = var.within
      results_url = "https://results.example.com/"
    }
  }
  file "/srv/members" {
    content = "${host.cluster.leader}: ${join(" ", host.cluster.members)}\n"
  }
}

file "/srv/own" {
  content = "own\n"
}
`

// peerDescriptor is a peer with a device on a veth, and a way to the other peers.
const peerDescriptor = `version: v1
kind: PeerDescriptor
metadata: {id: peer-%[1]d, name: %[2]s}
spec:
  network:
    bridge-name: br-bench
    interfaces:
      - {id: dut-%[1]d, name: dut0, kind: Ethernet}
      - {id: trunk-%[1]d, name: trunk0, kind: Ethernet}
  topology:
    devices:
      - {id: ecu-%[1]d, name: ecu, interface-id: dut-%[1]d}
      - {id: switch-%[1]d, name: switch, interface-id: trunk-%[1]d}
`

// containerOfPeer is carried out by podman; see withPodman.
const containerOfPeer = `  executors:
    - id: test-1
      kind: Container
      parameters: {engine: podman, name: app, image: "localhost/box:1", command: sh, args: ["-c", "trap 'exit 0' TERM; sleep 1000 & wait"]}
`

// benchDescriptors are those of hosts, the first of which leads, and the last of which carries out tests.
func benchDescriptors(hosts []*lab.Host) string {
	var b, devices strings.Builder
	for i, h := range hosts {
		fmt.Fprintf(&b, peerDescriptor, i+1, h.Name)
		if i == len(hosts)-1 {
			b.WriteString(containerOfPeer)
		}
		b.WriteString("---\n")
		fmt.Fprintf(&devices, "    - ecu-%[1]d\n    - switch-%[1]d\n", i+1)
	}
	return b.String() + "version: v1\nkind: ClusterDescriptor\nmetadata: {id: bench-1, name: bench}\nspec:\n  leader-id: peer-1\n  devices:\n" + devices.String()
}

// wireBench gives each host a device at the other end of a veth, and an interface that leads to the other hosts.
func (f *fleet) wireBench() {
	f.Helper()
	for i, h := range f.hosts {
		script := fmt.Sprintf("set -e\nip link add dut0 type veth peer name wire0\nip address add 203.0.113.%d/24 dev wire0\nip link set wire0 up\nip link add trunk0 type vxlan id 77 dstport 4789 nolearning\n", i+1)
		for _, other := range f.hosts {
			if other != h {
				script += "bridge fdb append 00:00:00:00:00:00 dev trunk0 dst " + other.Address + "\n"
			}
		}
		f.on(h, script)
	}
	f.on(f.hosts[len(f.hosts)-1], withPodman+withoutKeyring)
}

const (
	benchJoined = `ip link show dut0 | grep -q 'master br-bench' && ip link show trunk0 | grep -q 'master br-bench' && ip address show br-bench | grep -q 'inet 198\.1[89]\.' && [ "$(cat /srv/members)" = 'peer1: peer1 peer2 peer3' ]`
	benchLacks  = `! ip link show br-bench 2>/dev/null && [ ! -e /srv/members ] && ip link show dut0 | grep -vq master && ! { podman container exists app 2>/dev/null; }`
)

// Three peers over SSH, as descriptors tell of them: bridges, veths and the container are there on all of them or on none, they reach one another, one that
// is away stays a member, and what is taken away is gone, on that one at its next turn.
func TestSSHCluster(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "peer1", "peer2", "peer3")
	site := f.site("bench", f.asRoot()+benchSite)
	f.write(site+"/lab.yml", benchDescriptors(f.hosts))
	f.wireBench()
	away := f.hosts[2]
	f.on(away, "systemctl stop ssh.socket ssh 2>/dev/null; systemctl stop ssh")
	d := f.tenet("apply", "--yes", site)
	if d.status != 5 || !strings.Contains(d.stdout, "the cluster bench waits for peer3") {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	for _, h := range f.hosts {
		f.on(h, benchLacks)
	}
	f.on(away, "systemctl start ssh")
	f.applies(0, "--wait=1m", site)
	for _, h := range f.hosts {
		f.on(h, benchJoined)
	}
	f.on(away, `[ "$(podman inspect --format '{{.State.Running}} {{.HostConfig.NetworkMode}}' app)" = 'true host' ] && podman exec app env | grep -qx OPENDUT_RESULTS_URL=https://results.example.com/`)
	f.on(f.hosts[1], "timeout 20 bash -c '</dev/tcp/203.0.113.3/22'") // from device to device, by both bridges
	f.reachesAll(site)
	if again := f.applies(0, site); len(again.changes()) > 0 {
		t.Errorf("a second apply changes %v\n%s", again.changes(), again.stdout)
	}

	f.on(f.hosts[0], "ip link delete br-bench") // what is broken by hand is mended, also while another one is away
	f.on(away, "systemctl stop ssh")
	if d := f.tenet("apply", "--yes", site); d.status != 5 {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.on(f.hosts[0], benchJoined)
	if d := f.tenet("apply", "--yes", "--var", "ensure=absent", site); d.status != 5 {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	f.on(f.hosts[0], benchLacks)
	f.on(f.hosts[1], benchLacks+" && [ -e /srv/own ]")
	f.on(away, "systemctl start ssh && "+benchJoined)
	f.applies(0, "--var", "ensure=absent", site)
	f.on(away, benchLacks+" && [ -e /srv/own ] && [ ! -e /var/lib/tenet/cluster ]")
}

// reachesAll wants each peer to have reached the others, and the status to say so; it says of one that is cut off from them that it has not.
func (f *fleet) reachesAll(site string) {
	f.Helper()
	r, err := f.c.Exec(f.Context(), tenetPath(), "status", "-i", site, "cluster.bench", "--json")
	if text := string(r.Stdout); err != nil || strings.Count(text, `"type": "wait_for"`) != 6 || strings.Count(text, `"state": "done"`) != 6 || strings.Contains(text, `"state": "error"`) {
		f.Errorf("exit status %d, %v\n%s%s", r.ExitCode, err, text, r.Stderr)
	}
	f.on(f.hosts[1], "bridge fdb show dev trunk0 | sed -n 's/^\\([0-9a-f:]*\\) dst \\([0-9.]*\\) .*/\\1 \\2/p' | while read mac dst; do bridge fdb del $mac dev trunk0 dst $dst; done")
	f.applies(0, "--var", "within=1s", site)
	d := f.tenet("status", "-i", site, "cluster.bench")
	if !strings.HasPrefix(d.stdout, "cluster bench: deployed, healthy\n") || !strings.Contains(d.stdout, `peer2: component.peer.state.reach.wait_for.member["peer1"]: error: it waited 1s`) || !strings.Contains(d.stdout, "2 of 9 parts failed") {
		f.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	for _, other := range []*lab.Host{f.hosts[0], f.hosts[2]} {
		f.on(f.hosts[1], "bridge fdb append 00:00:00:00:00:00 dev trunk0 dst "+other.Address)
	}
}
