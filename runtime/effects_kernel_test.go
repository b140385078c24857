package runtime_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
)

// A module of the kernel may bring devices, and parameters that are missing before it is loaded, and
// changes none that are there. One that is unloaded may take them along.
func TestKernelModulesAndSettings(t *testing.T) {
	machine := func(loaded string) simulated.Machine {
		return simulated.Machine{
			Files: map[string]simulated.File{
				"/proc/modules": {Content: loaded}, "/etc/motd": {Content: "x"}, "/proc/sys/net/ipv4/ip_forward": {Content: "1\n"},
				"/etc/sysctl.d/70-tenet.conf": {Content: "net.ipv4.ip_forward = 1\n"},
			},
			Commands: []simulated.Command{{Name: "modprobe"}},
		}
	}
	h, err := simulated.New(t.Context(), machine(""))
	if err != nil {
		t.Fatal(err)
	}
	plan(t, h, `
	kernel_module "br_netfilter" {}
	state "after" {
	  require = [kernel_module.br_netfilter]
	  sysctl "net.bridge.bridge-nf-call-iptables" {
	    value = "1"
	  }
	  sysctl "net.ipv4.ip_forward" {
	    value = "1"
	  }
	  file "/etc/motd" {
	    content = "x"
	  }
	  command "device" {
	    argv   = ["modprobe"]
	    writes = []
	    unless {
	      exists = "/dev/nbd0"
	    }
	  }
	}
	`).want(t, map[string]string{
		"kernel_module.br_netfilter":                               "create",
		`state.after.sysctl["net.bridge.bridge-nf-call-iptables"]`: "update maybe (the kernel has no net.bridge.bridge-nf-call-iptables now; a module that it is to load before may bring it)",
		`state.after.sysctl["net.ipv4.ip_forward"]`:                "no change",
		`state.after.file["/etc/motd"]`:                            "no change",
		"state.after.command.device":                               "execute maybe (after kernel_module.br_netfilter, whose effects cannot be foreseen)",
	})
	h, err = simulated.New(t.Context(), machine("br_netfilter 16384 0 - Live 0x0000000000000000\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan(t, h, `
	kernel_module "br_netfilter" {
	  ensure = "absent"
	}
	state "after" {
	  require = [kernel_module.br_netfilter]
	  sysctl "net.ipv4.ip_forward" {
	    value = "1"
	  }
	}
	`).want(t, map[string]string{
		"kernel_module.br_netfilter":                "remove",
		`state.after.sysctl["net.ipv4.ip_forward"]`: "no change maybe (unchanged as things are; after kernel_module.br_netfilter, whose effects cannot be foreseen)",
	})
}
