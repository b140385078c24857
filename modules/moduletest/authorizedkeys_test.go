package moduletest_test

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
	authorizedKeysBare = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGaDKCEuqem8pbzUlITp2rGeMIFwXHm/tjYTy6Eff63"
	authorizedKeysA    = authorizedKeysBare + " a@x"
	authorizedKeysB    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICrFlLYYldOmS3Eh3mCy1N9cbhisWPDQITX3r1Q7kt2E b b"
	authorizedKeysC    = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGEkrs/P3Q102ybGVDYrxvrAqTVozR1OeXlRoYhuqoGot09jwNEun2TgUdXfRtUlwZxtO6G4q+7iftOJdGhDNj0= c"
	authorizedKeysForA = `restrict,command="echo \"a b\"" ` + authorizedKeysBare + " a@x"
	authorizedKeysDir  = "/home/alice/.ssh"
	authorizedKeysFile = authorizedKeysDir + "/authorized_keys"
	alice              = 1000
)

func newAuthorizedKeysHost(t *testing.T) host.Host {
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
	setAuthorizedKeys(t, h, name, mode, uid)
}

func setAuthorizedKeys(t *testing.T, h host.Host, name string, mode fs.FileMode, uid int) {
	t.Helper()
	if err := h.SetMeta(name, host.Meta{Mode: &mode, UID: &uid, GID: &uid}); err != nil {
		t.Fatal(err)
	}
}

func putAuthorizedKeys(text string, mode fs.FileMode, uid int) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		owned(t, h, authorizedKeysDir, 0o700, alice)
		fake.Put(t, h, authorizedKeysFile, text, mode)
		setAuthorizedKeys(t, h, authorizedKeysFile, mode, uid)
	}
}

func authorizedKeysHolds(text string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, authorizedKeysFile); is != text {
			t.Errorf("the file holds %q, want %q", is, text)
		}
		for name, mode := range map[string]fs.FileMode{authorizedKeysDir: 0o700, authorizedKeysFile: 0o600} {
			if info, err := h.Lstat(name); err != nil || info.Mode != mode || info.UID != alice || info.GID != alice {
				t.Errorf("%s is %+v, %v", name, info, err)
			}
		}
	}
}

func authorizedKeysText(keys ...string) map[string]any {
	return map[string]any{"user": "alice", "keys": keys}
}

func exclusive(k ...string) map[string]any {
	values := authorizedKeysText(k...)
	values["exclusive"] = true
	return values
}

func TestAuthorizedKeys(t *testing.T) {
	t.Parallel()
	link := func(target, name string) func(*testing.T, host.Host) {
		return func(t *testing.T, h host.Host) { fake.Link(t, h, target, name) }
	}
	changes := []string{"keys"}
	statestest.Run(t, statestest.Suite{Module: authorizedkeys.Module, Host: newAuthorizedKeysHost, Hostile: authorizedKeysText(authorizedKeysA), Cases: []statestest.Case{
		{Name: "create", Values: authorizedKeysText(authorizedKeysA, authorizedKeysC), Action: states.Create, Changes: changes, Check: authorizedKeysHolds(authorizedKeysC + "\n" + authorizedKeysA + "\n")},
		{Name: "of root", Values: map[string]any{"user": "root", "keys": []string{authorizedKeysA}}, Action: states.Create, Changes: changes},
		{Name: "beside others", Prepare: putAuthorizedKeys("# mine\n"+authorizedKeysB+"\nwhat is this?\n", 0o600, alice), Values: authorizedKeysText(authorizedKeysA), Action: states.Create, Changes: changes, Check: authorizedKeysHolds("# mine\n" + authorizedKeysB + "\nwhat is this?\n" + authorizedKeysA + "\n")},
		{Name: "nothing to do", Prepare: putAuthorizedKeys(authorizedKeysB+"\n"+authorizedKeysA+"\n", 0o600, alice), Values: authorizedKeysText(authorizedKeysA), Check: authorizedKeysHolds(authorizedKeysB + "\n" + authorizedKeysA + "\n")},
		{Name: "with options", Prepare: putAuthorizedKeys(authorizedKeysA+"\n"+authorizedKeysB+"\n", 0o600, alice), Values: authorizedKeysText(authorizedKeysForA), Action: states.Update, Changes: changes, Check: authorizedKeysHolds(authorizedKeysForA + "\n" + authorizedKeysB + "\n")},
		{Name: "another comment, and twice", Prepare: putAuthorizedKeys(authorizedKeysBare+"\n"+authorizedKeysB+"\n"+authorizedKeysA+"\n", 0o600, alice), Values: authorizedKeysText(authorizedKeysA), Action: states.Update, Changes: changes, Check: authorizedKeysHolds(authorizedKeysA + "\n" + authorizedKeysB + "\n")},
		{Name: "exclusive", Prepare: putAuthorizedKeys("# mine\n"+authorizedKeysB+"\n"+authorizedKeysA+"\nwhat is this?\n", 0o600, alice), Values: exclusive(authorizedKeysA, authorizedKeysC), Action: states.Update, Changes: changes, Check: authorizedKeysHolds("# mine\n" + authorizedKeysA + "\n" + authorizedKeysC + "\n"), Stays: "that removes the file, comment and all"},
		{Name: "exclusive, nothing to do", Prepare: putAuthorizedKeys("# mine\n"+authorizedKeysA+"\n", 0o600, alice), Values: exclusive(authorizedKeysA)},
		{Name: "nobody", Prepare: putAuthorizedKeys("# mine\n"+authorizedKeysA+"\n", 0o600, alice), Values: exclusive(), Action: states.Update, Changes: changes, Check: authorizedKeysHolds("# mine\n")},
		{Name: "mode", Prepare: putAuthorizedKeys(authorizedKeysA+"\n", 0o644, alice), Values: authorizedKeysText(authorizedKeysA), Action: states.Update, Changes: []string{"mode"}, Check: authorizedKeysHolds(authorizedKeysA + "\n")},
		{Name: "owner", Prepare: putAuthorizedKeys(authorizedKeysA+"\n", 0o600, 0), Values: authorizedKeysText(authorizedKeysA), Action: states.Update, Changes: []string{"owner"}, Check: authorizedKeysHolds(authorizedKeysA + "\n")},
		{Name: "mode of the directory", Prepare: func(t *testing.T, h host.Host) {
			putAuthorizedKeys(authorizedKeysA+"\n", 0o600, alice)(t, h)
			setAuthorizedKeys(t, h, authorizedKeysDir, 0o770, alice)
		}, Values: authorizedKeysText(authorizedKeysA), Action: states.Update, Changes: []string{"mode of .ssh"}, Check: authorizedKeysHolds(authorizedKeysA + "\n")},
		{Name: "absent", Ensure: states.Absent, Prepare: putAuthorizedKeys("# mine\n"+authorizedKeysB+"\n"+authorizedKeysA+"\n", 0o600, alice), Values: authorizedKeysText(authorizedKeysA, authorizedKeysC), Action: states.Remove, Changes: changes, Check: authorizedKeysHolds("# mine\n" + authorizedKeysB + "\n")},
		{Name: "absent, the last one", Ensure: states.Absent, Prepare: putAuthorizedKeys(authorizedKeysA+"\n", 0o600, alice), Values: authorizedKeysText(authorizedKeysA), Action: states.Remove, Changes: changes},
		{Name: "all absent", Ensure: states.Absent, Prepare: putAuthorizedKeys("# mine\n"+authorizedKeysB+"\n"+authorizedKeysA+"\n", 0o600, alice), Values: exclusive(authorizedKeysA), Action: states.Remove, Changes: changes},
		{Name: "a home behind a link of root", Values: authorizedKeysText(authorizedKeysA), Action: states.Create, Changes: changes, Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove("/home/alice"); err != nil {
				t.Fatal(err)
			}
			owned(t, h, "/srv/alice", 0o755, alice)
			fake.Link(t, h, "/srv/alice", "/home/alice")
		}},

		{Name: "a link to a directory", Prepare: link("/root", authorizedKeysDir), Values: authorizedKeysText(authorizedKeysA), Fails: "is a symlink, not a directory"},
		{Name: "a link to nothing", Prepare: link("/root/.ssh", authorizedKeysDir), Values: authorizedKeysText(authorizedKeysA), Fails: "is a symlink, not a directory"},
		{Name: "a link to a file", Prepare: func(t *testing.T, h host.Host) {
			owned(t, h, authorizedKeysDir, 0o700, alice)
			fake.Link(t, h, "/etc/shadow", authorizedKeysFile)
		}, Values: authorizedKeysText(authorizedKeysA), Fails: "is a symlink, not a file"},
		{Name: "a file of another", Prepare: putAuthorizedKeys(authorizedKeysA+"\n", 0o600, 33), Values: authorizedKeysText(authorizedKeysA), Fails: "belongs to the user 33"},
		{Name: "a directory of another", Prepare: func(t *testing.T, h host.Host) { owned(t, h, authorizedKeysDir, 0o700, 33) }, Values: authorizedKeysText(authorizedKeysA), Fails: "belongs to the user 33"},
		{Name: "a home of another", Prepare: func(t *testing.T, h host.Host) { setAuthorizedKeys(t, h, "/home/alice", 0o755, 33) }, Values: authorizedKeysText(authorizedKeysA), Fails: "belongs to the user 33"},
		{Name: "a home below another's", Prepare: func(t *testing.T, h host.Host) { setAuthorizedKeys(t, h, "/home", 0o755, 33) }, Values: authorizedKeysText(authorizedKeysA), Fails: "above the home directory of alice, belongs to the user 33"},
		{Name: "a home of root below the user's", Prepare: func(t *testing.T, h host.Host) {
			setAuthorizedKeys(t, h, "/home", 0o755, alice)
			setAuthorizedKeys(t, h, "/home/alice", 0o755, 0)
		}, Values: authorizedKeysText(authorizedKeysA), Fails: "the home directory of alice, belongs to the user 0"},
		{Name: "no home", Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove("/home/alice"); err != nil {
				t.Fatal(err)
			}
		}, Values: authorizedKeysText(authorizedKeysA), Fails: "the home directory of alice, is not there", Hint: `directory "/home/alice"`},
		{Name: "no user", Values: map[string]any{"user": "nobody-here", "keys": []string{authorizedKeysA}}, Fails: `no user named "nobody-here"`},
		{Name: "absent without the user", Ensure: states.Absent, Values: map[string]any{"user": "nobody-here", "keys": []string{authorizedKeysA}}},
		{Name: "no key", Values: authorizedKeysText("hello"), Wrong: "no public key"},
		{Name: "a torn key", Values: authorizedKeysText(authorizedKeysBare[:40]), Wrong: "not whole"},
		{Name: "two lines", Values: authorizedKeysText(authorizedKeysA + "\n" + authorizedKeysB), Wrong: "cannot contain"},
		{Name: "one key twice", Values: authorizedKeysText(authorizedKeysA, authorizedKeysForA), Wrong: "given twice"},
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
			setAuthorizedKeys(t, h, central, mode, uid)
		}
	}
}

func TestAuthorizedKeysElsewhere(t *testing.T) {
	t.Parallel()
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
		return func(t *testing.T, h host.Host) { centrally(authorizedKeysA+"\n", 0o644, 0)(t, h); change(t, h) }
	}
	changes := []string{"keys"}
	statestest.Run(t, statestest.Suite{Module: authorizedkeys.Module, Host: newAuthorizedKeysHost, Cases: []statestest.Case{
		{Name: "create", Prepare: centrally("", 0, 0), Values: at(authorizedKeysText(authorizedKeysA, authorizedKeysC)), Action: states.Create, Changes: changes, Check: is(authorizedKeysC + "\n" + authorizedKeysA + "\n")},
		{Name: "of nobody here", Prepare: centrally("", 0, 0), Values: map[string]any{"user": "later", "path": centrals + "/later", "keys": []string{authorizedKeysA}}, Action: states.Create, Changes: changes},
		{Name: "nothing to do", Prepare: centrally(authorizedKeysA+"\n", 0o644, 0), Values: at(authorizedKeysText(authorizedKeysA))},
		{Name: "exclusive", Prepare: centrally(authorizedKeysB+"\n"+authorizedKeysA+"\n", 0o644, 0), Values: at(exclusive(authorizedKeysA)), Action: states.Update, Changes: changes, Check: is(authorizedKeysA + "\n")},
		{Name: "owner and mode", Prepare: centrally(authorizedKeysA+"\n", 0o600, alice), Values: at(authorizedKeysText(authorizedKeysA)), Action: states.Update, Changes: []string{"owner", "mode"}, Check: is(authorizedKeysA + "\n")},
		{Name: "absent", Ensure: states.Absent, Prepare: centrally(authorizedKeysB+"\n"+authorizedKeysA+"\n", 0o644, 0), Values: at(authorizedKeysText(authorizedKeysA)), Action: states.Remove, Changes: changes, Check: is(authorizedKeysB + "\n")},
		{Name: "absent already", Ensure: states.Absent, Values: at(authorizedKeysText(authorizedKeysA))},
		{Name: "no directory", Values: at(authorizedKeysText(authorizedKeysA)), Fails: "the directory " + centrals + " is not there"},
		{Name: "a directory of somebody", Values: at(authorizedKeysText(authorizedKeysA)), Prepare: after(func(t *testing.T, h host.Host) { setAuthorizedKeys(t, h, centrals, 0o755, alice) }), Fails: "belongs to the user 1000"},
		{Name: "a directory of somebody above", Values: at(authorizedKeysText(authorizedKeysA)), Prepare: after(func(t *testing.T, h host.Host) { setAuthorizedKeys(t, h, "/etc/ssh", 0o755, alice) }), Fails: "belongs to the user 1000"},
		{Name: "a directory for all", Values: at(authorizedKeysText(authorizedKeysA)), Prepare: after(func(t *testing.T, h host.Host) { setAuthorizedKeys(t, h, centrals, 0o1777, 0) }), Fails: "so that others may write to it"},
		{Name: "a directory for root alone", Values: at(authorizedKeysText(authorizedKeysA)), Prepare: after(func(t *testing.T, h host.Host) { setAuthorizedKeys(t, h, centrals, 0o700, 0) }), Fails: "does not come in"},
		{Name: "in the home", Values: map[string]any{"user": "alice", "path": "/home/alice/keys", "keys": []string{authorizedKeysA}}, Fails: "belongs to the user 1000"},
		{Name: "by a link", Values: map[string]any{"user": "alice", "path": "/srv/keys/alice", "keys": []string{authorizedKeysA}}, Fails: "a symbolic link leads from /srv/keys/alice to " + central,
			Prepare: after(func(t *testing.T, h host.Host) {
				if !fake.Exists(h, "/srv") {
					fake.Dir(t, h, "/srv", 0o755)
				}
				fake.Link(t, h, centrals, "/srv/keys")
			})},
		{Name: "a link", Values: at(authorizedKeysText(authorizedKeysA)), Fails: "is a symlink, not a file", Prepare: func(t *testing.T, h host.Host) {
			centrally("", 0, 0)(t, h)
			fake.Link(t, h, "/etc/shadow", central)
		}},
		{Name: "a pattern", Values: map[string]any{"user": "alice", "path": centrals + "/%u", "keys": []string{authorizedKeysA}}, Wrong: "names the file of one user"},
		{Name: "no path", Values: map[string]any{"user": "alice", "path": "keys", "keys": []string{authorizedKeysA}}, Wrong: "is no absolute path"},
	}})
}

// Below a root it is the same, in real files.
func TestAuthorizedKeysBelowRoot(t *testing.T) {
	t.Parallel()
	h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := h.Actor()
	fake.Put(t, h, "/etc/passwd", fmt.Sprintf("alice:x:%d:%d::/home/alice:/bin/sh\n", uid, gid), 0o644)
	fake.Dir(t, h, "/home/alice", 0o755)
	statestest.Run(t, statestest.Suite{
		Module: authorizedkeys.Module, Host: func(*testing.T) host.Host { return h },
		Cases: []statestest.Case{{Name: "create", Values: authorizedKeysText(authorizedKeysA, authorizedKeysC), Action: states.Create, Changes: []string{"keys"}, Check: func(t *testing.T, h host.Host, _ map[string]any) {
			if is := fake.Text(h, authorizedKeysFile); is != authorizedKeysC+"\n"+authorizedKeysA+"\n" {
				t.Errorf("the file holds %q", is)
			}
		}}},
	})
}
