package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/bridge"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newBridgeHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.SetLinks(links.NewMemory(
		links.Link{Name: "br1", Kind: "bridge", Up: new(true), MAC: "02:00:00:00:00:01", Options: map[string]string{"stp": "true"}},
		links.Link{Name: "br2", Kind: "bridge", Up: new(false)},
		links.Link{Name: "port1", Kind: "veth", Master: new("br1")},
		links.Link{Name: "eth0"},
	))
	return h
}

// bridgeHolds wants a device to be as said.
func bridgeHolds(name string, is func(links.Link) bool) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		t.Helper()
		devices, err := host.LinksOf(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		list, err := devices.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if l, err := links.Find(list, name); err != nil || !is(l) {
			t.Errorf("%s is %+v, %v", name, l, err)
		}
	}
}

func TestBridge(t *testing.T) {
	t.Parallel()
	v := func(name string, more ...any) map[string]any {
		out := map[string]any{"name": name}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	statestest.Run(t, statestest.Suite{Module: bridge.Module, Host: newBridgeHost,
		Hostile: v("br9", "mac", "02:00:00:00:00:09", "up", true),
		Cases: []statestest.Case{
			{
				Name: "create", Values: v("br0"), Action: states.Create, Changes: []string{"up"},
				Check: bridgeHolds("br0", func(l links.Link) bool { return l.Kind == "bridge" && *l.Up && l.Options["stp"] == "false" }),
			}, {
				Name:   "create with all attributes",
				Values: v("br0", "up", false, "stp", true, "forward_delay", "4s", "vlan_filtering", true, "mac", "02:00:00:00:00:07"),
				Action: states.Create, Changes: []string{"up", "stp", "forward_delay", "vlan_filtering", "mac"},
				Check: bridgeHolds("br0", func(l links.Link) bool {
					return !*l.Up && l.MAC == "02:00:00:00:00:07" && l.Options["stp"] == "true" && l.Options["forward_delay"] == "4s" &&
						l.Options["vlan_filtering"] == "true"
				}),
			},
			{Name: "nothing to do", Values: v("br1", "stp", true, "up", true, "forward_delay", "15s")},
			{Name: "unmanaged", Values: v("br1")},
			{
				Name: "down", Values: v("br2"), Action: states.Update, Changes: []string{"up"},
				Check: bridgeHolds("br2", func(l links.Link) bool { return *l.Up }),
			},
			{
				Name: "change", Values: v("br1", "stp", false, "forward_delay", "0s", "up", false, "mac", "02:00:00:00:00:02", "vlan_filtering", true),
				Action: states.Update, Changes: []string{"up", "stp", "forward_delay", "vlan_filtering", "mac"},
				Check: bridgeHolds("port1", func(l links.Link) bool { return *l.Master == "br1" }),
			}, {
				Name: "absent", Values: v("br1"), Ensure: states.Absent, Action: states.Remove,
				Changes: []string{"up", "stp", "forward_delay", "vlan_filtering", "mac"},
				Check:   bridgeHolds("port1", func(l links.Link) bool { return *l.Master == "" }),
			},
			{Name: "absent already", Values: v("br0"), Ensure: states.Absent},
			{Name: "no bridge", Values: v("eth0"), Fails: "is there, and is no bridge but a real device"},
			{Name: "another kind", Values: v("port1"), Fails: "is no bridge but a veth"},
			{Name: "long", Values: v("a234567890123456"), Wrong: "more than 15"},
			{Name: "a path", Values: v("../x"), Wrong: "cannot contain '/'"},
			{Name: "dots", Values: v(".."), Wrong: "is a directory, and no name"},
			{Name: "a pattern", Values: v("br%d"), Wrong: "cannot contain"},
			{Name: "an option", Values: v("-x"), Wrong: "looks like an option"},
			{Name: "long delay", Values: v("br0", "forward_delay", "31s"), Wrong: "not between"},
			{Name: "short delay", Values: v("br0", "forward_delay", "1s", "stp", true), Wrong: "less than the 2s"},
			{Name: "fine delay", Values: v("br0", "forward_delay", "1ms"), Wrong: "finer than"},
			{Name: "no mac", Values: v("br0", "mac", "x"), Wrong: "no hardware address"},
			{Name: "capitals", Values: v("br0", "mac", "02:00:00:00:00:AB"), Wrong: "not how Linux writes"},
			{Name: "of many", Values: v("br0", "mac", "01:00:00:00:00:01"), Wrong: "single device"},
		}})
}

// Import --all takes bridges, and no other devices.
func TestBridgeList(t *testing.T) {
	t.Parallel()
	keys, err := bridge.Module.List(t.Context(), newBridgeHost(t), nil)
	if err != nil || len(keys) != 2 || keys[0].(*bridge.Bridge).Name != "br1" {
		t.Errorf("%v, %v", keys, err)
	}
}
