package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/hostsentry"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const hosts = "# here\n127.0.0.1 localhost\n\n192.0.2.1\tweb.test web # the old one\n2001:DB8::1 six\n192.0.2.1 www\nnonsense\n"

func newHostsEntryHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, "/etc/hosts", hosts, 0o644)
	return h
}

func hostsEntryHolds(text string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, "/etc/hosts"); is != text {
			t.Errorf("/etc/hosts holds %q, want %q", is, text)
		}
	}
}

func hostsEntryValues(address string, names ...string) map[string]any {
	if names == nil {
		return map[string]any{"address": address}
	}
	return map[string]any{"address": address, "names": names}
}

func TestHostsEntry(t *testing.T) {
	t.Parallel()
	changes := []string{"names"}
	statestest.Run(t, statestest.Suite{Module: hostsentry.Module, Host: newHostsEntryHost, Hostile: hostsEntryValues("192.0.2.9", "a", "b"), Cases: []statestest.Case{
		{Name: "create", Values: hostsEntryValues("192.0.2.9", "b.test", "b"), Action: states.Create, Changes: changes, Check: hostsEntryHolds(hosts + "192.0.2.9\tb.test b\n")},
		{Name: "a name of another address", Values: hostsEntryValues("192.0.2.9", "web"), Action: states.Create, Changes: changes, Check: hostsEntryHolds(hosts + "192.0.2.9\tweb\n")},
		{Name: "create the file", Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove("/etc/hosts"); err != nil {
				t.Fatal(err)
			}
		}, Values: hostsEntryValues("::1", "localhost"), Action: states.Create, Changes: changes, Check: hostsEntryHolds("::1\tlocalhost\n")},
		{Name: "nothing to do", Values: hostsEntryValues("192.0.2.1", "web.test", "web", "www"), Check: hostsEntryHolds(hosts)},
		{Name: "in another form", Values: hostsEntryValues("2001:db8::1", "six"), Check: hostsEntryHolds(hosts)},
		{
			Name: "other names", Values: hostsEntryValues("192.0.2.1", "www.test"), Action: states.Update, Changes: changes,
			Check: hostsEntryHolds("# here\n127.0.0.1 localhost\n\n192.0.2.1\twww.test # the old one\n2001:DB8::1 six\nnonsense\n"),
		}, {
			Name: "absent", Ensure: states.Absent, Values: hostsEntryValues("192.0.2.1"), Action: states.Remove, Changes: changes,
			Check: hostsEntryHolds("# here\n127.0.0.1 localhost\n\n2001:DB8::1 six\nnonsense\n"),
		},
		{Name: "no address", Values: hostsEntryValues("192.0.2.1.5", "x"), Wrong: "no IP address"},
		{Name: "a prefix", Values: hostsEntryValues("192.0.2.1/24", "x"), Wrong: "no IP address"},
		{Name: "a long form", Values: hostsEntryValues("2001:DB8::1", "x"), Wrong: "not the shortest form"},
		{Name: "a zone", Values: hostsEntryValues("fe80::1%a b", "x"), Wrong: "cannot contain"},
		{Name: "empty names", Values: map[string]any{"address": "192.0.2.1", "names": []string{}}, Wrong: "without a name"},
		{Name: "a comment", Values: hostsEntryValues("192.0.2.1", "x #"), Wrong: "cannot contain"},
		{Name: "a second line", Values: hostsEntryValues("192.0.2.1", "x\n127.0.0.1"), Wrong: "cannot contain"},
		{Name: "an empty word", Values: hostsEntryValues("192.0.2.1", "x..y"), Wrong: "no name of a machine"},
		{Name: "a link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/srv/hosts", "/etc/hosts") }, Values: hostsEntryValues("192.0.2.1", "x"), Fails: "is a symlink, not a file"},
	}})
}

func FuzzHostsEntry(f *testing.F) {
	f.Add(hosts)
	f.Add("192.0.2.1")
	f.Add("192.0.2.1 # x\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		h := host.NewMemory()
		if err := h.Add("/etc/hosts", text); err != nil {
			return
		}
		want, err := hostsentry.Module.Decode(map[string]any{"address": "192.0.2.1", "names": []any{"a", "b"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		have, err := hostsentry.Module.Read(t.Context(), h, want)
		if err != nil {
			return
		}
		if err := hostsentry.Module.Write(t.Context(), h, have, want); err != nil {
			t.Fatal(err)
		}
		have, err = hostsentry.Module.Read(t.Context(), h, want)
		if err != nil || have == nil || len(hostsentry.Module.Diff(have, want)) > 0 {
			t.Errorf("%q became %q, which reads as %v, %v", text, fake.Text(h, "/etc/hosts"), have, err)
		}
	})
}
