package stdlib_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// peerTrials are of std/peer: a leader with three members, and one of those that follow.
func peerTrials() []trial {
	program := map[string]simulated.File{"/usr/bin/cannelloni": {Meta: simulated.Meta{Mode: new(fs.FileMode(0o755))}}, "/usr/bin/cangw": {Meta: simulated.Meta{Mode: new(fs.FileMode(0o755))}}}
	wires := func(h *host.Memory) {
		h.SetLinks(links.NewMemory(links.Link{Name: "eth0"}, links.Link{Name: "dut0"}, links.Link{Name: "can0", Kind: "can"}))
	}
	// The members answer by the addresses that they have of their own.
	ports := []simulated.Port{{Address: "198.19.127.68"}, {Address: "198.18.29.147"}, {Address: "198.18.220.175"}}
	const peer = `
component "peer" {
  source = "std/peer"
  vars = {
    name      = "%s"
    install   = false
    cluster   = { name = "bench", leader = "edge1", members = ["edge1", "edge2", "edge3"] }
    addresses = { edge1 = "192.0.2.1", edge2 = "192.0.2.2", edge3 = "192.0.2.3" }
    peer = {
      network = {
        "bridge-name" = "br-dut"
        interfaces = [
          { id = "i0", name = "eth0", kind = "ethernet" }, # nothing of the cluster hangs on it
          { id = "i1", name = "dut0", kind = "ethernet" },
          { id = "i2", name = "vcan0", kind = "vCAN" },
          { id = "i3", name = "can0", kind = "CAN", parameters = { bitrate = 250000, "sample-point" = 800 } },
        ]
      }
      topology = {
        devices = [for n in [0, 1, 2, 3] : { id = "d${n}", name = "ecu${n}", "interface-id" = "i${n}" }]
      }
    }
    devices = ["d1", "d2", "d3"]
  }
}
`
	of := func(name string, want ...string) trial {
		return trial{name: "peer-" + name, site: fmt.Sprintf(peer, name), machine: simulated.Machine{Files: program, Ports: ports}, prepare: wires, check: func(t *testing.T, h *host.Memory) {
			t.Helper()
			if got := devicesOf(t, h); !slices.Equal(got, want) {
				t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}}
	}
	own := []string{"br-dut bridge", "br-vcan vcan", "can0 can bitrate=250000", "dut0 port of br-dut", "eth0"}
	return []trial{
		of("edge1", append(slices.Clone(own), "gre-05aed700 gretap to 192.0.2.3 port of br-dut", "gre-bee95ea8 gretap to 192.0.2.2 port of br-dut", "vcan0 vcan")...),
		of("edge2", append(slices.Clone(own), "gre-bee95ea8 gretap to 192.0.2.1 port of br-dut", "vcan0 vcan")...),
	}
}

// devicesOf lists the network devices, and what joins them.
func devicesOf(t *testing.T, h *host.Memory) (out []string) {
	t.Helper()
	devices, err := h.Links(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := devices.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		text := strings.TrimSpace(l.Name + " " + l.Kind)
		if to := l.Options["remote"]; to != "" {
			text += " to " + to
		}
		if rate := l.Options["bitrate"]; rate != "" {
			text += " bitrate=" + rate
		}
		if l.Master != nil && *l.Master != "" {
			text += " port of " + *l.Master
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}
