package moduletest_test

import (
	"slices"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/netif"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newNetifHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.SetLinks(links.NewMemory(
		links.Link{Name: "lo", Up: new(true), MTU: new(65536), Passing: []string{"127.0.0.1/8", "::1/128"}},
		links.Link{Name: "eth0", Up: new(true), Addresses: []string{"192.0.2.1/24", "2001:db8::1/64", "10.0.0.1 peer 10.0.0.2/32"},
			Passing: []string{"198.51.100.9/24", "fe80::1/64"}},
		links.Link{Name: "eth1"},
	))
	return h
}

func TestNetif(t *testing.T) {
	t.Parallel()
	v := func(name string, addresses ...string) map[string]any {
		return map[string]any{"name": name, "addresses": addresses}
	}
	addresses := func(name string, lasting, passing []string) func(*testing.T, host.Host, map[string]any) {
		return func(t *testing.T, h host.Host, _ map[string]any) {
			devices, err := host.LinksOf(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			list, err := devices.List(t.Context())
			l, _ := links.Find(list, name)
			if err != nil || !slices.Equal(l.Addresses, lasting) || !slices.Equal(l.Passing, passing) {
				t.Errorf("%s has %q and %q, %v", name, l.Addresses, l.Passing, err)
			}
		}
	}
	statestest.Run(t, statestest.Suite{Module: netif.Module, Host: newNetifHost, Hostile: v("eth1", "192.0.2.7/24"), Cases: []statestest.Case{
		{
			Name:   "first address",
			Values: map[string]any{"name": "eth1", "addresses": []string{"192.0.2.7/24"}, "up": true, "mtu": 9000},
			Action: states.Update, Changes: []string{"up", "mtu", "addresses"}, Check: addresses("eth1", []string{"192.0.2.7/24"}, nil),
		}, {
			Name: "what passes stays", Values: v("eth0", "192.0.2.2/24"), Action: states.Update, Changes: []string{"addresses"},
			Check: addresses("eth0", []string{"192.0.2.2/24"}, []string{"198.51.100.9/24", "fe80::1/64"}),
		}, {
			Name: "none", Values: v("eth0"), Action: states.Update, Changes: []string{"addresses"},
			Check: addresses("eth0", nil, []string{"198.51.100.9/24", "fe80::1/64"}),
		}, {
			Name: "one of DHCP is to stay", Values: v("eth0", "198.51.100.9/24"), Action: states.Update, Changes: []string{"addresses"},
			Check: addresses("eth0", []string{"198.51.100.9/24"}, []string{"fe80::1/64"}),
		},
		{Name: "loopback", Values: v("lo", "127.0.0.1/8")},
		{Name: "loopback unmanaged", Values: v("lo")},
		{Name: "down", Values: map[string]any{"name": "eth0", "up": false}, Action: states.Update, Changes: []string{"up"}},
		{Name: "nothing said", Values: map[string]any{"name": "eth0"}},
		{Name: "between two", Values: v("eth1", "10.0.0.1 peer 10.0.0.2/32"), Action: states.Update, Changes: []string{"addresses"}},
		{Name: "between two kinds", Values: v("eth1", "10.0.0.1 peer 2001:db8::1/64"), Wrong: "no address with the length"},
		{Name: "no device", Values: v("eth9"), Fails: "this host has no network device named eth9"},
		{Name: "mtu", Values: map[string]any{"name": "eth0", "mtu": 67}, Wrong: "not between"},
		{Name: "no prefix", Values: v("eth0", "192.0.2.1"), Wrong: "no address with the length"},
		{Name: "an option", Values: v("eth0", "-4"), Wrong: "no address with the length"},
		{Name: "long form", Values: v("eth0", "2001:DB8:0::1/64"), Wrong: "not how this address is written"},
		{Name: "twice", Values: v("eth0", "2001:db8::1/64", "2001:db8::1/48"), Wrong: "are one address"},
		{Name: "multicast", Values: v("eth0", "224.0.0.1/24"), Wrong: "single device"},
	}})
}
