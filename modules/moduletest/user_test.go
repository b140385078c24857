package moduletest_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/user"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const userHash = "$6$salt$0123456789abcdef"

// userLines holds that files have a line.
func userLines(want ...string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		have := strings.Split(fake.Text(h, "/etc/passwd")+fake.Text(h, "/etc/group")+fake.Text(h, "/etc/shadow"), "\n")
		for _, line := range want {
			if !slices.Contains(have, line) {
				t.Errorf("no file has the line %s", line)
			}
		}
	}
}

// ownedHome makes a home directory of a number.
func ownedHome(dir string, uid int) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		fake.Dir(t, h, dir, 0o755)
		if err := h.SetMeta(dir, host.Meta{UID: &uid}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: user.Module, Host: plainHost, Hostile: map[string]any{"name": "deploy", "group": "staff", "groups": []string{"adm"}, "comment": "A", "home": "/srv/deploy", "shell": "/bin/sh", "password": userHash, "expires": "2030-12-31"}, Cases: []statestest.Case{
		{
			Name: "create", Values: map[string]any{"name": "deploy"}, Action: states.Create,
			Check: func(t *testing.T, h host.Host, out map[string]any) {
				userLines("deploy:x:1001:1001::/home/deploy:/bin/sh", "deploy:x:1001:")(t, h, out)
				if !fake.Exists(h, "/home/deploy/.profile") {
					t.Error("there is no home directory")
				}
			},
		}, {
			Name: "create where the home was kept", Prepare: ownedHome("/home/deploy", 1234), Values: map[string]any{"name": "deploy"},
			Action: states.Create, Check: userLines("deploy:x:1234:1234::/home/deploy:/bin/sh"),
		}, {
			Name: "the home is of a number for programs", Prepare: ownedHome("/home/deploy", 100), Values: map[string]any{"name": "deploy"},
			Fails: "/home/deploy, the home directory of deploy, belongs to the number 100, which is nobody's",
		}, {
			Name: "somebody else decides what is above the home", Prepare: func(t *testing.T, h host.Host) {
				ownedHome("/home/mallory", 1000)(t, h)
				ownedHome("/home/mallory/deploy", 1234)(t, h)
			}, Values: map[string]any{"name": "deploy", "home": "/home/mallory/deploy"},
			Fails: "belongs to the number 1234",
		}, {
			Name: "the home was kept, and the number is another", Prepare: ownedHome("/home/deploy", 1234), Values: map[string]any{"name": "deploy", "uid": 2000},
			Fails: "belongs to the number 1234, which is nobody's",
		}, {
			Name: "the home is of another number", Prepare: ownedHome("/home/alice", 1234), Values: map[string]any{"name": "alice"},
			Stays: "the home is noted",
		}, {
			Name: "another shell, and the home is of another number", Prepare: ownedHome("/home/alice", 1234),
			Values: map[string]any{"name": "alice", "shell": "/bin/sh"}, Stays: "the home is noted",
			Action: states.Update, Changes: []string{"shell"}, Check: userLines("alice:x:1000:1000:Alice:/home/alice:/bin/sh"),
		}, {
			Name: "another home, which is of another number", Prepare: ownedHome("/srv/alice", 1234),
			Values: map[string]any{"name": "alice", "home": "/srv/alice"},
			Fails:  "/srv/alice, the home directory of alice, belongs to the number 1234, which is nobody's",
		}, {
			Name: "the home is of somebody else", Prepare: ownedHome("/home/deploy", 1000), Values: map[string]any{"name": "deploy"},
			Fails: "/home/deploy, the home directory of deploy, belongs to alice",
		}, {
			Name: "a home of root's", Prepare: ownedHome("/home/alice", 0), Values: map[string]any{"name": "alice"},
		}, {
			Name: "create with all attributes",
			Values: map[string]any{
				"name": "deploy", "uid": 2000, "group": "staff", "groups": []string{"www-data", "adm"}, "comment": "De Ploy",
				"home": "/srv/deploy", "shell": "/bin/bash", "password": userHash, "locked": true, "expires": "2030-12-31", "create_home": false,
			},
			Action: states.Create, Changes: []string{"uid", "group", "groups", "comment", "home", "shell", "password", "locked", "expires"},
			Check: userLines("deploy:x:2000:50:De Ploy:/srv/deploy:/bin/bash", "adm:x:4:alice,deploy", "www-data:x:33:deploy",
				"deploy:!"+userHash+":19000:0:99999:7::22279:"),
		}, {
			Name: "system", Values: map[string]any{"name": "agent", "system": true}, Action: states.Create,
			Check: func(t *testing.T, h host.Host, out map[string]any) {
				userLines("agent:x:999:999::/home/agent:/bin/sh")(t, h, out)
				if fake.Exists(h, "/home/agent") {
					t.Error("a system account got a home directory")
				}
			},
		}, {
			Name: "nothing to do", Stays: "alice's home was never made",
			Values: map[string]any{"name": "alice", "uid": 1000, "group": "1000", "groups": []string{"adm"}, "locked": false,
				"password": "$6$salt$alice", "expires": "never", "shell": "/bin/bash"},
		}, {
			Name: "change", Values: map[string]any{"name": "alice", "groups": []string{"staff", "www-data"}, "shell": "/bin/sh", "comment": ""},
			Action: states.Update, Changes: []string{"groups", "comment", "shell"}, Check: userLines("staff:x:50:alice", "adm:x:4:", "alice:x:1000:1000::/home/alice:/bin/sh"),
		}, {
			Name: "no groups", Values: map[string]any{"name": "alice", "groups": []string{}}, Action: states.Update, Changes: []string{"groups"},
		}, {
			Name: "one more group", Values: map[string]any{"name": "alice", "groups": []string{"staff"}, "append": true}, Action: states.Update,
			Changes: []string{"groups"}, Check: userLines("staff:x:50:alice", "adm:x:4:alice"),
		}, {
			Name: "in the groups, and in others", Values: map[string]any{"name": "alice", "groups": []string{}, "append": true},
			Check: userLines("adm:x:4:alice"),
		}, {
			Name: "another shell, and a group that stays", Values: map[string]any{"name": "alice", "groups": []string{}, "append": true, "shell": "/bin/sh"},
			Action: states.Update, Changes: []string{"shell"}, Check: userLines("adm:x:4:alice"),
		}, {
			Name: "lock", Values: map[string]any{"name": "alice", "locked": true}, Action: states.Update, Changes: []string{"locked"},
			Check: userLines("alice:!$6$salt$alice:19000:0:99999:7:::"),
		}, {
			Name: "another password", Values: map[string]any{"name": "alice", "password": userHash}, Action: states.Update, Changes: []string{"password"},
			Check: userLines("alice:" + userHash + ":19000:0:99999:7:::"),
		}, {
			Name: "a first password", Values: map[string]any{"name": "agent", "password": userHash}, Action: states.Update, Changes: []string{"password"},
			Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, "/etc/passwd", fake.Text(h, "/etc/passwd")+"agent:x:1001:1000::/srv:/bin/sh\n", 0o644)
				fake.Put(t, h, "/etc/shadow", fake.Text(h, "/etc/shadow")+"agent:!:19000:0:99999:7:::\n", 0o640)
			},
			Check: userLines("agent:" + userHash + ":19000:0:99999:7:::"),
		}, {
			Name: "a group of the name is there", Values: map[string]any{"name": "staff"}, Action: states.Create,
			Check: userLines("staff:x:1001:50::/home/staff:/bin/sh"),
		}, {
			Name: "absent already", Ensure: states.Absent, Values: map[string]any{"name": "nobody-here"},
		},
		{Name: "root is needed", Ensure: states.Absent, Values: map[string]any{"name": "root"}, Fails: "root cannot be removed"},
		{Name: "uid of another", Values: map[string]any{"name": "deploy", "uid": 1000}, Fails: `the uid 1000 belongs to the user "alice"`},
		{Name: "unknown group", Values: map[string]any{"name": "deploy", "group": "none"}, Fails: `no group named "none"`},
		{Name: "unknown groups", Values: map[string]any{"name": "alice", "groups": []string{"none"}}, Fails: `no group named "none"`},
		{Name: "an option", Values: map[string]any{"name": "-x"}, Wrong: "looks like an option"},
		{Name: "a line", Values: map[string]any{"name": "deploy", "comment": "a\nroot::0:0"}, Wrong: "cannot contain"},
		{Name: "a field", Values: map[string]any{"name": "deploy", "shell": "/bin/sh:0"}, Wrong: "cannot contain"},
		{Name: "a plain password", Values: map[string]any{"name": "deploy", "password": "hunter2"}, Wrong: "no hash"},
		{Name: "a day", Values: map[string]any{"name": "deploy", "expires": "31.12.2030"}, Wrong: "is no day"},
		{Name: "a number", Values: map[string]any{"name": "deploy", "uid": -1}, Wrong: "no number of a user"},
		{Name: "a relative home", Values: map[string]any{"name": "deploy", "home": "home"}, Wrong: "no absolute path"},
	}})
}

// What a plan foresees of a user is enough for the parts that follow.
func TestUserForesee(t *testing.T) {
	t.Parallel()
	h := plainHost(t)
	shadow := host.NewShadow(h)
	want, err := user.Module.Decode(map[string]any{"name": "deploy", "groups": []any{"adm"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Module.Foresee(t.Context(), shadow, nil, want); err != nil {
		t.Fatal(err)
	}
	u, err := shadow.User("deploy")
	if err != nil || u.UID != 1001 {
		t.Errorf("the user is %+v, %v", u, err)
	}
	info, err := shadow.Lstat("/home/deploy/.profile")
	if err != nil || info.UID != 1001 {
		t.Errorf("the copied file is %+v, %v", info, err)
	}
	userLines("adm:x:4:alice,deploy")(t, shadow, nil)
	if _, err := h.User("deploy"); err == nil {
		t.Error("the host has the user")
	}
}

// That nobody could log in by a key in the home of an account that is there is told, and
// stops no part: whose files they are is decided by people.
func TestUserNotesTheHomeOfAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner  int
		values map[string]any
		note   string
	}{
		"a number that is nobody's":  {owner: 1234, note: "/home/alice, the home directory of alice, belongs to the number 1234, which is nobody's: alice cannot use it, nor log in by a key in it"},
		"the number that is wanted":  {owner: 1234, values: map[string]any{"uid": json.Number("1234")}},
		"another home":               {owner: 1234, values: map[string]any{"home": "/srv/alice"}},
		"a home that is not made":    {owner: 1234, values: map[string]any{"create_home": false}},
		"the user's":                 {owner: 1000},
		"root's, as some lay it out": {owner: 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := plainHost(t)
			ownedHome("/home/alice", c.owner)(t, h)
			values := map[string]any{"name": "alice"}
			maps.Copy(values, c.values)
			want, err := user.Module.Decode(values, nil)
			if err != nil {
				t.Fatal(err)
			}
			note := ""
			ctx := states.WithNote(t.Context(), func(text string) { note += text })
			if _, err := user.Module.Read(ctx, h, want); err != nil {
				t.Fatal(err)
			}
			if (note == "") != (c.note == "") || !strings.HasPrefix(note, c.note) {
				t.Errorf("it notes %q, want %q", note, c.note)
			}
		})
	}
}
