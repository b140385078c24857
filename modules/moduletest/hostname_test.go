package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/hostname"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newHostnameHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, "/etc/hostname", "old\n", 0o644)
	fake.Put(t, h, "/proc/sys/kernel/hostname", "old\n", 0o644)
	return h
}

func TestHostname(t *testing.T) {
	t.Parallel()
	kernel := func(t *testing.T, h host.Host) { fake.Put(t, h, "/proc/sys/kernel/hostname", "other\n", 0o644) }
	pretty := func(t *testing.T, h host.Host) {
		fake.Put(t, h, "/etc/machine-info", "CHASSIS=vm\nPRETTY_HOSTNAME=\"a \\\"b\\\"\"\n", 0o644)
	}
	statestest.Run(t, statestest.Suite{Module: hostname.Module, Host: newHostnameHost, Hostile: map[string]any{"name": "web1", "pretty": "Web"}, Cases: []statestest.Case{
		{
			Name: "rename", Values: map[string]any{"name": "web1.example.test"}, Action: states.Update, Changes: []string{"name"},
			Check: holds("/etc/hostname", "web1.example.test\n", "/proc/sys/kernel/hostname", "web1.example.test\n"),
		},
		{Name: "only the kernel's", Prepare: kernel, Values: map[string]any{"name": "old"}, Action: states.Update, Changes: []string{"name"}, Check: holds("/proc/sys/kernel/hostname", "old\n")},
		{Name: "nothing to do", Values: map[string]any{"name": "old", "pretty": ""}},
		{
			Name: "pretty", Values: map[string]any{"name": "old", "pretty": `"Lübeck" $1 \`}, Action: states.Update, Changes: []string{"pretty"},
			Check: holds("/etc/machine-info", `PRETTY_HOSTNAME="\"Lübeck\" \$1 \\"`+"\n"),
		},
		{Name: "pretty already", Prepare: pretty, Values: map[string]any{"name": "old", "pretty": `a "b"`}},
		{Name: "not pretty", Prepare: pretty, Values: map[string]any{"name": "old", "pretty": ""}, Action: states.Update, Changes: []string{"pretty"}, Check: holds("/etc/machine-info", "CHASSIS=vm\n")},
		{Name: "a second line", Values: map[string]any{"name": "a\nb"}, Wrong: "cannot contain"},
		{Name: "a hyphen", Values: map[string]any{"name": "a-.b"}, Wrong: "no name of a machine"},
		{Name: "too long", Values: map[string]any{"name": "a2345678901234567890123456789012.b2345678901234567890123456789012"}, Wrong: "no name of a machine"},
		{Name: "a pretty second line", Values: map[string]any{"name": "a", "pretty": "a\nB=c"}, Wrong: "cannot contain"},
	}})
}
