package limits_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/limits"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	file = "/etc/security/limits.d/70-tenet.conf"
	main = "/etc/security/limits.conf"
)

func newHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, main, "# <domain> <type> <item> <value>\n", 0o644)
	return h
}

func put(name, text string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, name, text, 0o644) }
}

func holds(name, text string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, name); is != text {
			t.Errorf("%s holds %q, want %q", name, is, text)
		}
	}
}

// part gives values with others on top.
func part(other map[string]any) map[string]any {
	values := map[string]any{"domain": "alice", "type": "soft", "item": "nofile", "value": "1024"}
	for name, v := range other {
		values[name] = v
	}
	return values
}

func TestLimits(t *testing.T) {
	both := []string{"value", "file"}
	statestest.Run(t, statestest.Suite{Module: limits.Module, Host: newHost, Hostile: part(nil), Cases: []statestest.Case{
		{Name: "create", Values: part(nil), Action: states.Create, Changes: both, Check: holds(file, "alice soft nofile 1024\n")},
		{Name: "everybody", Values: part(map[string]any{"domain": "*", "type": "-", "value": "unlimited"}), Action: states.Create, Changes: both, Check: holds(file, "* - nofile unlimited\n")},
		{Name: "numbers", Values: part(map[string]any{"domain": "@1000:"}), Action: states.Create, Changes: both, Check: holds(file, "@1000: soft nofile 1024\n")},
		{Name: "nice", Values: part(map[string]any{"item": "nice", "value": "-5"}), Action: states.Create, Changes: both, Check: holds(file, "alice soft nice -5\n")},
		{Name: "nothing to do", Prepare: put(main, "alice\tsoft nofile\t1024 # enough\n"), Values: part(nil)},
		{
			Name: "another value, where it is", Prepare: put(main, "# x\nalice soft nofile 1\nalice hard nofile 2\n"), Values: part(nil),
			Action: states.Update, Changes: []string{"value"}, Check: holds(main, "# x\nalice soft nofile 1024\nalice hard nofile 2\n"),
		}, {
			Name: "into another file", Prepare: put(main, "alice soft nofile 1\n"), Values: part(map[string]any{"file": file}),
			Action: states.Update, Changes: both, Check: holds(file, "alice soft nofile 1024\n"),
		}, {
			Name: "absent", Ensure: states.Absent, Prepare: put(main, "alice soft nofile 1\n"), Values: part(nil),
			Action: states.Remove, Changes: both, Check: holds(main, ""),
		},
		{
			Name: "a later file", Prepare: put("/etc/security/limits.d/99-x.conf", "alice soft nofile 1\n"), Values: part(map[string]any{"file": file}),
			Fails: "/etc/security/limits.d/99-x.conf sets alice soft nofile to 1 after",
		},
		{Name: "two lines", Values: part(map[string]any{"value": "1\nroot - nofile 0"}), Wrong: "no limit of nofile"},
		{Name: "no number", Values: part(map[string]any{"value": "many"}), Wrong: "no limit of nofile"},
		{Name: "negative", Values: part(map[string]any{"value": "-5"}), Wrong: "no limit of nofile"},
		{Name: "a domain", Values: part(map[string]any{"domain": "a b"}), Wrong: "cannot contain"},
		{Name: "a range", Values: part(map[string]any{"domain": "a:b"}), Wrong: "no range"},
		{Name: "an item", Values: part(map[string]any{"item": "files"}), Wrong: "none of"},
		{Name: "a file", Values: part(map[string]any{"file": "/etc/security/limits.d/x"}), Wrong: "no file of limits"},
	}})
}
