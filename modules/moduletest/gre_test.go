package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/gre"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newGreHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.SetLinks(links.NewMemory(
		links.Link{Name: "gre0", Kind: "gre"}, links.Link{Name: "eth0"},
		links.Link{Name: "g1", Kind: "gretap", Up: new(true), Options: map[string]string{
			"local": "192.0.2.1", "remote": "192.0.2.2", "ttl": "64", "key": "17"}},
	))
	return h
}

// grePlain is a machine whose kernel knows no tunnels.
func grePlain(t *testing.T) host.Host {
	h := fake.Host(t)
	links := links.NewMemory()
	links.Kinds = []string{"bridge"}
	h.SetLinks(links)
	return h
}

func greValues(name, local, remote string, more ...any) map[string]any {
	out := map[string]any{"name": name, "local": local, "remote": remote}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

func TestGRE(t *testing.T) {
	t.Parallel()
	const a, b = "192.0.2.1", "192.0.2.2"
	is := func(name, kind string) func(*testing.T, host.Host, map[string]any) {
		return func(t *testing.T, h host.Host, _ map[string]any) {
			devices, err := host.LinksOf(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			list, err := devices.List(t.Context())
			if l, _ := links.Find(list, name); err != nil || l.Kind != kind {
				t.Errorf("%s is %+v, %v", name, l, err)
			}
		}
	}
	created := []string{"local", "remote", "ttl", "frames", "up"}
	statestest.Run(t, statestest.Suite{Module: gre.Module, Host: newGreHost, Hostile: greValues("g9", a, b, "key", "1"), Cases: []statestest.Case{
		{Name: "create", Values: greValues("g0", a, b), Action: states.Create, Changes: created, Check: is("g0", "gre")},
		{Name: "create with key", Values: greValues("g0", a, b, "key", "0", "up", false, "ttl", 0), Action: states.Create,
			Changes: []string{"local", "remote", "ttl", "key", "frames", "up"}},
		{Name: "IPv6", Values: greValues("g0", "2001:db8::1", "2001:db8::2"), Action: states.Create, Changes: created, Check: is("g0", "ip6gre")},
		{Name: "frames over IPv6", Values: greValues("g0", "2001:db8::1", "2001:db8::2", "frames", true), Action: states.Create, Changes: created, Check: is("g0", "ip6gretap")},
		{Name: "nothing to do", Values: greValues("g1", a, b, "ttl", 64, "key", "17", "frames", true)},
		{Name: "change", Values: greValues("g1", a, "192.0.2.3", "ttl", 32, "key", "", "up", false), Action: states.Update, Changes: []string{"remote", "ttl", "key", "up"}, Check: is("g1", "gretap")},
		{Name: "down", Values: greValues("g1", a, b), Action: states.Update, Changes: []string{"up"}, Check: is("g1", "gretap"), Prepare: func(t *testing.T, h host.Host) {
			devices, err := host.LinksOf(t.Context(), h)
			if err == nil {
				err = devices.Change(t.Context(), links.Link{Name: "g1"}, links.Link{Up: new(false)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		{Name: "another kind", Values: greValues("g1", a, b, "frames", false), Action: states.Update, Changes: []string{"frames"}, Check: is("g1", "gre")},
		{Name: "another family", Values: greValues("g1", "2001:db8::1", "2001:db8::2"), Action: states.Update, Changes: []string{"local", "remote"}, Check: is("g1", "ip6gretap")},
		{Name: "absent", Values: map[string]any{"name": "g1"}, Ensure: states.Absent, Action: states.Remove,
			Changes: []string{"local", "remote", "ttl", "key", "frames", "up"}},
		{Name: "no tunnel", Values: greValues("eth0", a, b), Fails: "is no gre but a real device"},
		{Name: "no address", Values: greValues("g0", "x", b), Wrong: "no IP address"},
		{Name: "two families", Values: greValues("g0", a, "2001:db8::2"), Wrong: "cannot be the ends"},
		{Name: "one end", Values: greValues("g0", a, a), Wrong: "cannot be the ends"},
		{Name: "zone", Values: greValues("g0", "fe80::1%eth0", "fe80::2"), Wrong: "no IP address"},
		{Name: "ttl", Values: greValues("g0", a, b, "ttl", 256), Wrong: "not between"},
		{Name: "key", Values: greValues("g0", a, b, "key", "-1"), Wrong: "no number from 0"},
	}})
	statestest.Run(t, statestest.Suite{Module: gre.Module, Host: grePlain, Cases: []statestest.Case{
		{Name: "a kernel without it", Values: greValues("g0", a, b), Fails: "this kernel has no gre (modprobe ip_gre", OnlyOnHost: true},
	}})
}

// The kernel's own devices are nobody's.
func TestGreList(t *testing.T) {
	t.Parallel()
	keys, err := gre.Module.List(t.Context(), newGreHost(t), nil)
	if err != nil || len(keys) != 1 || keys[0].(*gre.GRE).Name != "g1" {
		t.Errorf("%v, %v", keys, err)
	}
}
