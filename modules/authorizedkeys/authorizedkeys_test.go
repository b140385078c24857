package authorizedkeys_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/modules/authorizedkeys"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	bare  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGaDKCEuqem8pbzUlITp2rGeMIFwXHm/tjYTy6Eff63"
	a     = bare + " a@x"
	b     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICrFlLYYldOmS3Eh3mCy1N9cbhisWPDQITX3r1Q7kt2E b b"
	c     = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGEkrs/P3Q102ybGVDYrxvrAqTVozR1OeXlRoYhuqoGot09jwNEun2TgUdXfRtUlwZxtO6G4q+7iftOJdGhDNj0= c"
	forA  = `restrict,command="echo \"a b\"" ` + bare + " a@x"
	ssh   = "/home/alice/.ssh"
	file  = ssh + "/authorized_keys"
	alice = 1000
)

func newHost(t *testing.T) host.Host {
	h := fake.Host(t)
	owned(t, h, "/home/alice", 0o755, alice)
	return h
}

// owned makes a directory of a user.
func owned(t *testing.T, h host.Host, name string, mode fs.FileMode, uid int) {
	t.Helper()
	if !fake.Exists(h, name) {
		fake.Dir(t, h, name, mode)
	}
	set(t, h, name, mode, uid)
}

func set(t *testing.T, h host.Host, name string, mode fs.FileMode, uid int) {
	t.Helper()
	if err := h.SetMeta(name, host.Meta{Mode: &mode, UID: &uid, GID: &uid}); err != nil {
		t.Fatal(err)
	}
}

func put(text string, mode fs.FileMode, uid int) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		owned(t, h, ssh, 0o700, alice)
		fake.Put(t, h, file, text, mode)
		set(t, h, file, mode, uid)
	}
}

func holds(text string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, file); is != text {
			t.Errorf("the file holds %q, want %q", is, text)
		}
		for name, mode := range map[string]fs.FileMode{ssh: 0o700, file: 0o600} {
			if info, err := h.Lstat(name); err != nil || info.Mode != mode || info.UID != alice || info.GID != alice {
				t.Errorf("%s is %+v, %v", name, info, err)
			}
		}
	}
}

func keys(keys ...string) map[string]any { return map[string]any{"user": "alice", "keys": keys} }

func exclusive(k ...string) map[string]any {
	values := keys(k...)
	values["exclusive"] = true
	return values
}

func TestAuthorizedKeys(t *testing.T) {
	link := func(target, name string) func(*testing.T, host.Host) {
		return func(t *testing.T, h host.Host) { fake.Link(t, h, target, name) }
	}
	changes := []string{"keys"}
	statestest.Run(t, statestest.Suite{Module: authorizedkeys.Module, Host: newHost, Hostile: keys(a), Cases: []statestest.Case{
		{Name: "create", Values: keys(a, c), Action: states.Create, Changes: changes, Check: holds(c + "\n" + a + "\n")},
		{Name: "of root", Values: map[string]any{"user": "root", "keys": []string{a}}, Action: states.Create, Changes: changes},
		{Name: "beside others", Prepare: put("# mine\n"+b+"\nwhat is this?\n", 0o600, alice), Values: keys(a), Action: states.Create, Changes: changes, Check: holds("# mine\n" + b + "\nwhat is this?\n" + a + "\n")},
		{Name: "nothing to do", Prepare: put(b+"\n"+a+"\n", 0o600, alice), Values: keys(a), Check: holds(b + "\n" + a + "\n")},
		{Name: "with options", Prepare: put(a+"\n"+b+"\n", 0o600, alice), Values: keys(forA), Action: states.Update, Changes: changes, Check: holds(forA + "\n" + b + "\n")},
		{Name: "another comment, and twice", Prepare: put(bare+"\n"+b+"\n"+a+"\n", 0o600, alice), Values: keys(a), Action: states.Update, Changes: changes, Check: holds(a + "\n" + b + "\n")},
		{Name: "exclusive", Prepare: put("# mine\n"+b+"\n"+a+"\nwhat is this?\n", 0o600, alice), Values: exclusive(a, c), Action: states.Update, Changes: changes, Check: holds("# mine\n" + a + "\n" + c + "\n"), Stays: "that removes the file, comment and all"},
		{Name: "exclusive, nothing to do", Prepare: put("# mine\n"+a+"\n", 0o600, alice), Values: exclusive(a)},
		{Name: "nobody", Prepare: put("# mine\n"+a+"\n", 0o600, alice), Values: exclusive(), Action: states.Update, Changes: changes, Check: holds("# mine\n")},
		{Name: "mode", Prepare: put(a+"\n", 0o644, alice), Values: keys(a), Action: states.Update, Changes: []string{"mode"}, Check: holds(a + "\n")},
		{Name: "owner", Prepare: put(a+"\n", 0o600, 0), Values: keys(a), Action: states.Update, Changes: []string{"owner"}, Check: holds(a + "\n")},
		{Name: "mode of the directory", Prepare: func(t *testing.T, h host.Host) { put(a+"\n", 0o600, alice)(t, h); set(t, h, ssh, 0o770, alice) }, Values: keys(a), Action: states.Update, Changes: []string{"mode of .ssh"}, Check: holds(a + "\n")},
		{Name: "absent", Ensure: states.Absent, Prepare: put("# mine\n"+b+"\n"+a+"\n", 0o600, alice), Values: keys(a, c), Action: states.Remove, Changes: changes, Check: holds("# mine\n" + b + "\n")},
		{Name: "absent, the last one", Ensure: states.Absent, Prepare: put(a+"\n", 0o600, alice), Values: keys(a), Action: states.Remove, Changes: changes},
		{Name: "all absent", Ensure: states.Absent, Prepare: put("# mine\n"+b+"\n"+a+"\n", 0o600, alice), Values: exclusive(a), Action: states.Remove, Changes: changes},
		{Name: "a home behind a link of root", Values: keys(a), Action: states.Create, Changes: changes, Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove("/home/alice"); err != nil {
				t.Fatal(err)
			}
			owned(t, h, "/srv/alice", 0o755, alice)
			fake.Link(t, h, "/srv/alice", "/home/alice")
		}},

		{Name: "a link to a directory", Prepare: link("/root", ssh), Values: keys(a), Fails: "is a symlink, not a directory"},
		{Name: "a link to nothing", Prepare: link("/root/.ssh", ssh), Values: keys(a), Fails: "is a symlink, not a directory"},
		{Name: "a link to a file", Prepare: func(t *testing.T, h host.Host) {
			owned(t, h, ssh, 0o700, alice)
			fake.Link(t, h, "/etc/shadow", file)
		}, Values: keys(a), Fails: "is a symlink, not a file"},
		{Name: "a file of another", Prepare: put(a+"\n", 0o600, 33), Values: keys(a), Fails: "belongs to the user 33"},
		{Name: "a directory of another", Prepare: func(t *testing.T, h host.Host) { owned(t, h, ssh, 0o700, 33) }, Values: keys(a), Fails: "belongs to the user 33"},
		{Name: "a home of another", Prepare: func(t *testing.T, h host.Host) { set(t, h, "/home/alice", 0o755, 33) }, Values: keys(a), Fails: "belongs to the user 33"},
		{Name: "a home below another's", Prepare: func(t *testing.T, h host.Host) { set(t, h, "/home", 0o755, 33) }, Values: keys(a), Fails: "above the home directory of alice, belongs to the user 33"},
		{Name: "a home of root below the user's", Prepare: func(t *testing.T, h host.Host) {
			set(t, h, "/home", 0o755, alice)
			set(t, h, "/home/alice", 0o755, 0)
		}, Values: keys(a), Fails: "the home directory of alice, belongs to the user 0"},
		{Name: "no home", Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove("/home/alice"); err != nil {
				t.Fatal(err)
			}
		}, Values: keys(a), Fails: "the home directory of alice, is not there"},
		{Name: "no user", Values: map[string]any{"user": "nobody-here", "keys": []string{a}}, Fails: `no user named "nobody-here"`},
		{Name: "absent without the user", Ensure: states.Absent, Values: map[string]any{"user": "nobody-here", "keys": []string{a}}},
		{Name: "no key", Values: keys("hello"), Wrong: "no public key"},
		{Name: "a torn key", Values: keys(bare[:40]), Wrong: "not whole"},
		{Name: "two lines", Values: keys(a + "\n" + b), Wrong: "cannot contain"},
		{Name: "one key twice", Values: keys(a, forA), Wrong: "given twice"},
		{Name: "no keys", Values: map[string]any{"user": "alice"}, Wrong: "required"},
	}})
}

const (
	centrals = "/etc/ssh/keys"
	central  = centrals + "/alice"
)

// centrally gives the host with a file of keys that is not the user's.
func centrally(text string, mode fs.FileMode, uid int) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		owned(t, h, "/etc/ssh", 0o755, 0)
		owned(t, h, centrals, 0o755, 0)
		if text != "" {
			fake.Put(t, h, central, text, mode)
			set(t, h, central, mode, uid)
		}
	}
}

func TestAuthorizedKeysElsewhere(t *testing.T) {
	at := func(more map[string]any) map[string]any { more["path"] = central; return more }
	is := func(text string) func(*testing.T, host.Host, map[string]any) {
		return func(t *testing.T, h host.Host, _ map[string]any) {
			info, err := h.Lstat(central)
			if is := fake.Text(h, central); is != text || err != nil || info.Mode != 0o644 || info.UID != 0 || info.GID != 0 {
				t.Errorf("%q, %+v, %v", is, info, err)
			}
		}
	}
	after := func(change func(t *testing.T, h host.Host)) func(*testing.T, host.Host) {
		return func(t *testing.T, h host.Host) { centrally(a+"\n", 0o644, 0)(t, h); change(t, h) }
	}
	changes := []string{"keys"}
	statestest.Run(t, statestest.Suite{Module: authorizedkeys.Module, Host: newHost, Cases: []statestest.Case{
		{Name: "create", Prepare: centrally("", 0, 0), Values: at(keys(a, c)), Action: states.Create, Changes: changes, Check: is(c + "\n" + a + "\n")},
		{Name: "of nobody here", Prepare: centrally("", 0, 0), Values: map[string]any{"user": "later", "path": centrals + "/later", "keys": []string{a}}, Action: states.Create, Changes: changes},
		{Name: "nothing to do", Prepare: centrally(a+"\n", 0o644, 0), Values: at(keys(a))},
		{Name: "exclusive", Prepare: centrally(b+"\n"+a+"\n", 0o644, 0), Values: at(exclusive(a)), Action: states.Update, Changes: changes, Check: is(a + "\n")},
		{Name: "owner and mode", Prepare: centrally(a+"\n", 0o600, alice), Values: at(keys(a)), Action: states.Update, Changes: []string{"owner", "mode"}, Check: is(a + "\n")},
		{Name: "absent", Ensure: states.Absent, Prepare: centrally(b+"\n"+a+"\n", 0o644, 0), Values: at(keys(a)), Action: states.Remove, Changes: changes, Check: is(b + "\n")},
		{Name: "absent already", Ensure: states.Absent, Values: at(keys(a))},
		{Name: "no directory", Values: at(keys(a)), Fails: "the directory " + centrals + " is not there"},
		{Name: "a directory of somebody", Values: at(keys(a)), Prepare: after(func(t *testing.T, h host.Host) { set(t, h, centrals, 0o755, alice) }), Fails: "belongs to the user 1000"},
		{Name: "a directory of somebody above", Values: at(keys(a)), Prepare: after(func(t *testing.T, h host.Host) { set(t, h, "/etc/ssh", 0o755, alice) }), Fails: "belongs to the user 1000"},
		{Name: "a directory for all", Values: at(keys(a)), Prepare: after(func(t *testing.T, h host.Host) { set(t, h, centrals, 0o1777, 0) }), Fails: "so that others may write to it"},
		{Name: "a directory for root alone", Values: at(keys(a)), Prepare: after(func(t *testing.T, h host.Host) { set(t, h, centrals, 0o700, 0) }), Fails: "does not come in"},
		{Name: "in the home", Values: map[string]any{"user": "alice", "path": "/home/alice/keys", "keys": []string{a}}, Fails: "belongs to the user 1000"},
		{Name: "by a link", Values: map[string]any{"user": "alice", "path": "/srv/keys/alice", "keys": []string{a}}, Fails: "a symbolic link leads from /srv/keys/alice to " + central,
			Prepare: after(func(t *testing.T, h host.Host) {
				if !fake.Exists(h, "/srv") {
					fake.Dir(t, h, "/srv", 0o755)
				}
				fake.Link(t, h, centrals, "/srv/keys")
			})},
		{Name: "a link", Values: at(keys(a)), Fails: "is a symlink, not a file", Prepare: func(t *testing.T, h host.Host) {
			centrally("", 0, 0)(t, h)
			fake.Link(t, h, "/etc/shadow", central)
		}},
		{Name: "a pattern", Values: map[string]any{"user": "alice", "path": centrals + "/%u", "keys": []string{a}}, Wrong: "names the file of one user"},
		{Name: "no path", Values: map[string]any{"user": "alice", "path": "keys", "keys": []string{a}}, Wrong: "is no absolute path"},
	}})
}

// Below a root it is the same, in real files.
func TestBelowRoot(t *testing.T) {
	h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := h.Actor()
	fake.Put(t, h, "/etc/passwd", fmt.Sprintf("alice:x:%d:%d::/home/alice:/bin/sh\n", uid, gid), 0o644)
	fake.Dir(t, h, "/home/alice", 0o755)
	statestest.Run(t, statestest.Suite{
		Module: authorizedkeys.Module, Host: func(*testing.T) host.Host { return h },
		Cases: []statestest.Case{{Name: "create", Values: keys(a, c), Action: states.Create, Changes: []string{"keys"}, Check: func(t *testing.T, h host.Host, _ map[string]any) {
			if is := fake.Text(h, file); is != c+"\n"+a+"\n" {
				t.Errorf("the file holds %q", is)
			}
		}}},
	})
}
