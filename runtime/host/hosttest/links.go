package hosttest

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// RunLinks runs the suite of links.Devices, on a machine that can make bridges and where
// nothing is called tenettest*. It has a port ready: a device that can join a bridge.
// What it makes, it takes away. Foretold: they are a Shadow's, which does not know what
// a kernel can.
func RunLinks(t *testing.T, foretold bool, open func(t *testing.T) (devices links.Devices, port string)) {
	for name, test := range map[string]func(*linkTester){
		"bridge": bridges, "addresses": addresses, "ports": ports, "what is not there": notThere,
	} {
		t.Run(name, func(t *testing.T) {
			devices, port := open(t)
			test(&linkTester{T: t, Devices: devices, port: port, foretold: foretold})
		})
	}
}

type linkTester struct {
	*testing.T
	links.Devices
	port     string
	foretold bool
}

const testBridge = "tenettestbr"

func (x *linkTester) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// get finds a device.
func (x *linkTester) get(name string) links.Link {
	x.Helper()
	list, err := x.List(x.Context())
	x.must(err)
	l, err := links.Find(list, name)
	x.must(err)
	return l
}

// bridge makes one for the test.
func (x *linkTester) bridge(l links.Link) links.Link {
	x.Helper()
	l.Name, l.Kind = testBridge, "bridge"
	x.must(x.Add(x.Context(), l))
	return x.get(testBridge)
}

func (x *linkTester) change(want links.Link) links.Link {
	x.Helper()
	have := x.get(testBridge)
	x.must(x.Change(x.Context(), have, want))
	return x.get(testBridge)
}

func (x *linkTester) delete() {
	x.Helper()
	x.must(x.Delete(x.Context(), testBridge))
	list, err := x.List(x.Context())
	x.must(err)
	if _, err := links.Find(list, testBridge); !errors.Is(err, fs.ErrNotExist) {
		x.Errorf("it is there still: %v", err)
	}
}

func bridges(x *linkTester) {
	l := x.bridge(links.Link{Options: map[string]string{"stp": "true", "forward_delay": "4s"}})
	if l.Kind != "bridge" || *l.Up || *l.Master != "" || l.Options["stp"] != "true" || l.Options["forward_delay"] != "4s" ||
		l.Options["vlan_filtering"] != "false" || len(l.Addresses) > 0 {
		x.Errorf("the new bridge is %+v", l)
	}
	err := x.Add(x.Context(), links.Link{Name: testBridge, Kind: "bridge"})
	if !errors.Is(err, fs.ErrExist) {
		x.Errorf("a second one: %v", err)
	}
	l = x.change(links.Link{Up: new(true), MTU: new(1400), MAC: "02:00:00:00:00:07",
		Options: map[string]string{"stp": "false"}})
	if !*l.Up || *l.MTU != 1400 || l.MAC != "02:00:00:00:00:07" || l.Options["stp"] != "false" || l.Options["forward_delay"] != "4s" {
		x.Errorf("changed, it is %+v", l)
	}
	// Not every kernel can do this.
	err = x.Change(x.Context(), l, links.Link{Options: map[string]string{"vlan_filtering": "true"}})
	if l = x.get(testBridge); err == nil && l.Options["vlan_filtering"] != "true" || err != nil && !errors.Is(err, host.ErrUnsupported) {
		x.Errorf("with vlan_filtering, it is %+v, %v", l, err)
	}
	if l = x.change(links.Link{Up: new(false)}); *l.Up || *l.MTU != 1400 {
		x.Errorf("down, it is %+v", l)
	}
	x.delete()
}

func addresses(x *linkTester) {
	hold := func(l links.Link, want ...string) {
		x.Helper()
		have := slices.Sorted(slices.Values(l.Addresses))
		if slices.Sort(want); !slices.Equal(have, want) {
			x.Errorf("the addresses are %q, want %q", have, want)
		}
	}
	hold(x.bridge(links.Link{Up: new(true), Addresses: []string{"192.0.2.1/24", "2001:db8::1/64"}}), "192.0.2.1/24", "2001:db8::1/64")
	// Of one network the first one is primary, and others may go with it.
	hold(x.change(links.Link{Addresses: []string{"192.0.2.1/24", "192.0.2.2/24", "192.0.2.3/24"}}), "192.0.2.1/24", "192.0.2.2/24", "192.0.2.3/24")
	hold(x.change(links.Link{Addresses: []string{"192.0.2.2/24", "192.0.2.4/24"}}), "192.0.2.2/24", "192.0.2.4/24")
	hold(x.change(links.Link{MTU: new(1400)}), "192.0.2.2/24", "192.0.2.4/24")
	hold(x.change(links.Link{Addresses: []string{"192.0.2.2/24", "192.0.2.4/25", "10.0.0.1 peer 10.0.0.9/32"}}), "10.0.0.1 peer 10.0.0.9/32", "192.0.2.2/24", "192.0.2.4/25")
	hold(x.change(links.Link{Up: new(false), Addresses: []string{"2001:db8::1/64", "fe80::7/64"}}), "2001:db8::1/64")
	hold(x.change(links.Link{Up: new(true), Addresses: []string{"2001:db8::1/64"}}), "2001:db8::1/64")
	hold(x.change(links.Link{Addresses: []string{}}))
	for _, wrong := range []string{"", "192.0.2.1", "192.0.2.1/33", "192.0.2.1 peer fe80::1/64", "x/24"} {
		if err := x.Change(x.Context(), x.get(testBridge), links.Link{Addresses: []string{wrong}}); err == nil {
			x.Errorf("the address %q is taken", wrong)
		}
	}
	hold(x.get(testBridge))
	x.delete()
}

func ports(x *linkTester) {
	x.bridge(links.Link{})
	x.must(x.Change(x.Context(), x.get(x.port), links.Link{Master: new(testBridge)}))
	if l := x.get(x.port); *l.Master != testBridge {
		x.Errorf("the port is %+v", l)
	}
	x.must(x.Change(x.Context(), x.get(x.port), links.Link{Master: new("")}))
	if l := x.get(x.port); *l.Master != "" {
		x.Errorf("the former port is %+v", l)
	}
	x.must(x.Change(x.Context(), x.get(x.port), links.Link{Master: new(testBridge)}))
	x.delete()
	if l := x.get(x.port); *l.Master != "" {
		x.Errorf("without its bridge, the port is %+v", l)
	}
	for _, no := range []string{"tenettestno", x.port} {
		err := x.Change(x.Context(), x.get(x.port), links.Link{Master: &no})
		if !errors.Is(err, fs.ErrNotExist) {
			x.Errorf("a port of %s: %v", no, err)
		}
	}
}

func notThere(x *linkTester) {
	for what, err := range map[string]error{
		"change": x.Change(x.Context(), links.Link{Name: "tenettestno"}, links.Link{Up: new(true)}),
		"delete": x.Delete(x.Context(), "tenettestno"),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			x.Errorf("%s: %v", what, err)
		}
	}
	if !x.foretold {
		err := x.Add(x.Context(), links.Link{Name: "tenettestno", Kind: "nosuchkind"})
		if !errors.Is(err, host.ErrUnsupported) {
			x.Errorf("an unknown kind: %v", err)
		}
	}
	if err := x.Delete(x.Context(), "lo"); err == nil {
		x.Error("the loopback device is deleted")
	}
}
