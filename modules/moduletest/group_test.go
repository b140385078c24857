package moduletest_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/group"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func groupLine(want string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if text := fake.Text(h, "/etc/group"); !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("there is no line %s in %q", want, text)
		}
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: group.Module, Host: plainHost, Hostile: map[string]any{"name": "deploy", "members": []string{"alice"}}, Cases: []statestest.Case{
		{Name: "create", Values: map[string]any{"name": "deploy"}, Action: states.Create, Check: groupLine("deploy:x:1001:")},
		{
			Name: "create with all attributes", Values: map[string]any{"name": "deploy", "gid": 2000, "members": []string{"www-data", "alice"}},
			Action: states.Create, Changes: []string{"gid", "members"}, Check: groupLine("deploy:x:2000:alice,www-data"),
		},
		{Name: "system", Values: map[string]any{"name": "deploy", "system": true}, Action: states.Create, Check: groupLine("deploy:x:999:")},
		{Name: "nothing to do", Values: map[string]any{"name": "adm", "gid": 4, "members": []string{"alice"}}},
		{Name: "another number", Values: map[string]any{"name": "staff", "gid": 500}, Action: states.Update, Changes: []string{"gid"}, Check: groupLine("staff:x:500:")},
		{Name: "no members", Values: map[string]any{"name": "adm", "members": []string{}}, Action: states.Update, Changes: []string{"members"}, Check: groupLine("adm:x:4:")},
		{Name: "somebody's group", Ensure: states.Absent, Values: map[string]any{"name": "alice"}, Fails: "alice is the primary group of the user \"alice\""},
		{Name: "gid of another", Values: map[string]any{"name": "deploy", "gid": 4}, Fails: `the gid 4 belongs to the group "adm"`},
		{Name: "unknown member", Values: map[string]any{"name": "adm", "members": []string{"nobody-here"}}, Fails: `no user named "nobody-here"`},
		{Name: "an option", Values: map[string]any{"name": "-x"}, Wrong: "looks like an option"},
		{Name: "a member like an option", Values: map[string]any{"name": "adm", "members": []string{"-x"}}, Wrong: "looks like an option"},
	}})
}

func TestGroupList(t *testing.T) {
	t.Parallel()
	h := plainHost(t)
	fake.Put(t, h, "/etc/group", fake.Text(h, "/etc/group")+"project:x:1500:alice\n", 0o644)
	keys, err := group.Module.List(t.Context(), h, nil)
	if err != nil || len(keys) != 1 || group.Module.Encode(keys[0])["name"] != "project" {
		t.Errorf("listed are %v, %v", keys, err)
	}
}
