package moduletest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/user"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

// userRuns puts a program of a user into /proc.
func userRuns(t *testing.T, h host.Host, pid, name string, uid int) {
	t.Helper()
	fake.Put(t, h, "/proc/"+pid+"/comm", name+"\n", 0o444)
	if err := h.SetMeta("/proc/"+pid, host.Meta{UID: &uid}); err != nil {
		t.Fatal(err)
	}
}

func TestUserWhatWouldFail(t *testing.T) {
	t.Parallel()
	busy := func(t *testing.T, h host.Host) {
		userRuns(t, h, "7", "sshd", 0)
		for _, pid := range []string{"41", "42", "43", "44"} {
			userRuns(t, h, pid, "sleep", 1000)
		}
	}
	programs := "programs of alice still run: 41 (sleep), 42 (sleep), 43 (sleep) and 1 more"
	none := func(name string) func(*testing.T, host.Host) {
		return func(t *testing.T, h host.Host) {
			if err := h.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	statestest.Run(t, statestest.Suite{Module: user.Module, Host: plainHost, Cases: []statestest.Case{
		{Name: "absent", Ensure: states.Absent, Prepare: busy, Values: map[string]any{"name": "alice"}, Fails: programs},
		{Name: "another number", Prepare: busy, Values: map[string]any{"name": "alice", "uid": 2000}, Fails: programs},
		{Name: "a move", Prepare: busy, Values: map[string]any{"name": "alice", "home": "/srv/alice", "move_home": true}, Fails: programs},
		{Name: "not a change of the shell", Prepare: busy, Values: map[string]any{"name": "alice", "shell": "/bin/sh"}, Action: states.Update, Changes: []string{"shell"}, Stays: "its programs run"},
		{Name: "a move to what is there", Values: map[string]any{"name": "alice", "home": "/srv", "move_home": true}, Fails: "/srv is there already"},
		{Name: "a password for nobody", Values: map[string]any{"name": "deploy", "locked": false}, Fails: "deploy has no password"},
		{Name: "no passwd", Prepare: none("/etc/passwd"), Values: map[string]any{"name": "deploy"}, Fails: "this host has no /etc/passwd"},
		{Name: "a long name", Values: map[string]any{"name": strings.Repeat("a", 33)}, Wrong: "at most 32 characters"},
		{Name: "a number for a name", Values: map[string]any{"name": "1000"}, Wrong: "not digits alone"},
		{Name: "before time began", Values: map[string]any{"name": "deploy", "expires": "1969-12-31"}, Wrong: "is no day"},
	}})
}

// Without the programs nothing is promised.
func TestNoUseradd(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: user.Module,
		Host: func(t *testing.T) host.Host {
			h := host.NewMemory()
			if err := h.Add("/etc/passwd", "root:x:0:0::/root:/bin/sh\n"); err != nil {
				t.Fatal(err)
			}
			return h
		},
		Cases: []statestest.Case{{Name: "create", Values: map[string]any{"name": "deploy"}, Fails: "the package passwd brings it"}},
	})
}

func TestUserForeseeGroups(t *testing.T) {
	t.Parallel()
	h := plainHost(t)
	fake.Put(t, h, "/etc/gshadow", "root:*::\nadm:*::alice\nalice:!::\nold:!::\n", 0o640)
	shadow := host.NewShadow(h)
	foresee := func(have, want map[string]any) {
		t.Helper()
		decode := func(values map[string]any) any {
			if values == nil {
				return nil
			}
			r, err := user.Module.Decode(values, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if err := user.Module.Foresee(t.Context(), shadow, decode(have), decode(want)); err != nil {
			t.Fatal(err)
		}
	}
	foresee(nil, map[string]any{"name": "deploy", "groups": []any{"adm"}})
	text := fake.Text(shadow, "/etc/gshadow")
	for _, line := range []string{"adm:*::alice,deploy\n", "deploy:!::\n", "alice:!::\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("gshadow holds %q, without %q", text, line)
		}
	}
	foresee(map[string]any{"name": "alice"}, nil)
	text = fake.Text(shadow, "/etc/gshadow")
	if strings.Contains(text, "alice") || strings.Contains(text, "old") {
		t.Errorf("gshadow holds %q", text)
	}
	fake.Dir(t, h, "/home/deploy", 0o700)
}

func TestUserListAndImport(t *testing.T) {
	t.Parallel()
	h := plainHost(t)
	fake.Put(t, h, "/etc/login.defs", "# bounds\nUID_MIN 500\nUID_MAX\t\t60000\n", 0o644)
	fake.Put(t, h, "/etc/passwd", fake.Text(h, "/etc/passwd")+"low:x:499:499::/:/bin/sh\npeer:x:500:500::/home/peer:/bin/sh\n", 0o644)
	keys, err := user.Module.List(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []any
	for _, key := range keys {
		names = append(names, user.Module.Encode(key)["name"])
	}
	if want := []any{"alice", "peer"}; !reflect.DeepEqual(names, want) {
		t.Errorf("listed are %v, want %v", names, want)
	}
	have, err := user.Module.Import(t.Context(), h, keys[0])
	if err != nil {
		t.Fatal(err)
	}
	values := user.Module.Encode(have)
	for name, want := range map[string]any{"comment": "Alice", "shell": "/bin/bash", "home": "/home/alice", "groups": []any{"adm"}, "group": nil, "password": nil, "locked": nil, "expires": nil} {
		if !reflect.DeepEqual(values[name], want) {
			t.Errorf("%s is %v, want %v", name, values[name], want)
		}
	}
}
