package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/bridgeport"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newBridgePortHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.SetLinks(links.NewMemory(
		links.Link{Name: "br1", Kind: "bridge"}, links.Link{Name: "br2", Kind: "bridge"},
		links.Link{Name: "port1", Kind: "veth", Master: new("br1")}, links.Link{Name: "eth0", Addresses: []string{"192.0.2.1/24"}},
	))
	return h
}

func TestBridgePort(t *testing.T) {
	t.Parallel()
	v := func(port, bridge string) map[string]any { return map[string]any{"port": port, "bridge": bridge} }
	statestest.Run(t, statestest.Suite{Module: bridgeport.Module, Host: newBridgePortHost, Hostile: v("eth0", "br1"), Cases: []statestest.Case{
		{Name: "create", Values: v("eth0", "br1"), Action: states.Create, Changes: []string{"bridge"}},
		{Name: "nothing to do", Values: v("port1", "br1")},
		{Name: "another bridge", Values: v("port1", "br2"), Action: states.Update, Changes: []string{"bridge"}},
		{Name: "absent", Values: map[string]any{"port": "port1"}, Ensure: states.Absent, Action: states.Remove, Changes: []string{"bridge"}},
		{Name: "no port", Values: map[string]any{"port": "eth0"}, Ensure: states.Absent},
		{Name: "no device", Values: v("eth9", "br1"), Fails: "eth9: this host has no such device"},
		{Name: "no device, absent", Values: map[string]any{"port": "eth9"}, Ensure: states.Absent},
		{Name: "no bridge", Values: v("eth0", "br9"), Fails: "no bridge br9"},
		{Name: "no real bridge", Values: v("eth0", "port1"), Fails: "is no bridge but a veth"},
		{Name: "itself", Values: v("br1", "br1"), Wrong: "of itself"},
		{Name: "a name", Values: v("eth0", "a b"), Wrong: "cannot contain"},
	}})
}
