package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/limits"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	limitsFile = "/etc/security/limits.d/70-tenet.conf"
	limitsMain = "/etc/security/limits.conf"
)

func newLimitsHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, limitsMain, "# <domain> <type> <item> <value>\n", 0o644)
	return h
}

// limitsPart gives values with others on top.
func limitsPart(other map[string]any) map[string]any {
	values := map[string]any{"domain": "alice", "type": "soft", "item": "nofile", "value": "1024"}
	for name, v := range other {
		values[name] = v
	}
	return values
}

func TestLimits(t *testing.T) {
	t.Parallel()
	both := []string{"value", "file"}
	statestest.Run(t, statestest.Suite{Module: limits.Module, Host: newLimitsHost, Hostile: limitsPart(nil), Cases: []statestest.Case{
		{Name: "create", Values: limitsPart(nil), Action: states.Create, Changes: both, Check: holds(limitsFile, "alice soft nofile 1024\n")},
		{Name: "everybody", Values: limitsPart(map[string]any{"domain": "*", "type": "-", "value": "unlimited"}), Action: states.Create, Changes: both, Check: holds(limitsFile, "* - nofile unlimited\n")},
		{Name: "numbers", Values: limitsPart(map[string]any{"domain": "@1000:"}), Action: states.Create, Changes: both, Check: holds(limitsFile, "@1000: soft nofile 1024\n")},
		{Name: "nice", Values: limitsPart(map[string]any{"item": "nice", "value": "-5"}), Action: states.Create, Changes: both, Check: holds(limitsFile, "alice soft nice -5\n")},
		{Name: "nothing to do", Prepare: put(limitsMain, "alice\tsoft nofile\t1024 # enough\n"), Values: limitsPart(nil)},
		{
			Name: "another value, where it is", Prepare: put(limitsMain, "# x\nalice soft nofile 1\nalice hard nofile 2\n"), Values: limitsPart(nil),
			Action: states.Update, Changes: []string{"value"}, Check: holds(limitsMain, "# x\nalice soft nofile 1024\nalice hard nofile 2\n"),
		}, {
			Name: "into another file", Prepare: put(limitsMain, "alice soft nofile 1\n"), Values: limitsPart(map[string]any{"file": limitsFile}),
			Action: states.Update, Changes: both, Check: holds(limitsFile, "alice soft nofile 1024\n"),
		}, {
			Name: "absent", Ensure: states.Absent, Prepare: put(limitsMain, "alice soft nofile 1\n"), Values: limitsPart(nil),
			Action: states.Remove, Changes: both, Check: holds(limitsMain, ""),
		},
		{
			Name: "a later file", Prepare: put("/etc/security/limits.d/99-x.conf", "alice soft nofile 1\n"), Values: limitsPart(map[string]any{"file": limitsFile}),
			Fails: "/etc/security/limits.d/99-x.conf sets alice soft nofile to 1 after",
		},
		{Name: "two lines", Values: limitsPart(map[string]any{"value": "1\nroot - nofile 0"}), Wrong: "no limit of nofile"},
		{Name: "no number", Values: limitsPart(map[string]any{"value": "many"}), Wrong: "no limit of nofile"},
		{Name: "negative", Values: limitsPart(map[string]any{"value": "-5"}), Wrong: "no limit of nofile"},
		{Name: "a domain", Values: limitsPart(map[string]any{"domain": "a b"}), Wrong: "cannot contain"},
		{Name: "a range", Values: limitsPart(map[string]any{"domain": "a:b"}), Wrong: "no range"},
		{Name: "an item", Values: limitsPart(map[string]any{"item": "files"}), Wrong: "none of"},
		{Name: "a file", Values: limitsPart(map[string]any{"file": "/etc/security/limits.d/x"}), Wrong: "no file of limits"},
	}})
}
