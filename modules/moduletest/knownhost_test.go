package moduletest_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/knownhost"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	knownHostA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGaDKCEuqem8pbzUlITp2rGeMIFwXHm/tjYTy6Eff63"
	knownHostB = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICrFlLYYldOmS3Eh3mCy1N9cbhisWPDQITX3r1Q7kt2E"
	knownHostC = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGEkrs/P3Q102ybGVDYrxvrAqTVozR1OeXlRoYhuqoGot09jwNEun2TgUdXfRtUlwZxtO6G4q+7iftOJdGhDNj0="

	// As ssh-keygen -H made them of web.test, [web.test]:2222 and 192.0.2.1.
	hashedA    = "|1|x/s4QUEcGeYzqgoDcnM8sZ9mHmY=|hCAzOWV/MZXxmjkoGZ87kltKkwk= " + knownHostA
	hashedPort = "|1|2kXN1Gat7JmsJrrWLnqCw81VwK0=|SeIWtJiGlhk15qzLPsTqyF8jfMY= " + knownHostC

	global       = "/etc/ssh/ssh_known_hosts"
	knownHostOwn = "/home/alice/.ssh/known_hosts"
)

func newKnownHostHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Dir(t, h, "/etc/ssh", 0o755)
	fake.Dir(t, h, "/home/alice", 0o755)
	if err := h.SetMeta("/home/alice", host.Meta{UID: new(1000), GID: new(1000)}); err != nil {
		t.Fatal(err)
	}
	return h
}

func putKnownHost(text string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, global, text, 0o644) }
}

func known(name string, keys ...string) map[string]any {
	return map[string]any{"host": name, "keys": keys}
}

func hashed(name string, is bool, keys ...string) map[string]any {
	values := known(name, keys...)
	values["hashed"] = is
	return values
}

// A line that is hashed has another salt each time, and is known again all the same.
func TestKnownHostIsHashed(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "web.test,x " + knownHostA + "\n" + hashedA + "\nweb.test " + knownHostB + "\n"} {
		h := newKnownHostHost(t)
		putKnownHost(before)(t, h)
		m := knownhost.Module
		want, err := m.Decode(map[string]any{"host": "web.test", "hashed": true, "keys": []any{knownHostA, knownHostC}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		have, err := m.Read(t.Context(), h, want)
		if err == nil {
			err = m.Write(t.Context(), h, have, want)
		}
		if err == nil {
			have, err = m.Read(t.Context(), h, want)
		}
		if err != nil || have == nil || len(m.Diff(have, want)) > 0 {
			t.Fatalf("%v, %v", have, err)
		}
		text := fake.Text(h, global)
		if strings.Contains(text, "web.test") || strings.Count(text, "|1|") != 2 || strings.Contains(text, knownHostB) || strings.Contains(before, "x ") && !strings.HasPrefix(text, "x "+knownHostA+"\n"+hashedA) {
			t.Errorf("the file holds %q", text)
		}
	}
}

func TestKnownHost(t *testing.T) {
	t.Parallel()
	changes := []string{"keys"}
	mine := known("web.test", knownHostA)
	mine["user"] = "alice"
	others := "# known\n@revoked web.test " + knownHostB + "\nweb.*,!x " + knownHostB + "\n[web.test]:2222 " + knownHostB + "\n"
	statestest.Run(t, statestest.Suite{Module: knownhost.Module, Host: newKnownHostHost, Hostile: mine, Cases: []statestest.Case{
		{Name: "create", Prepare: putKnownHost(others), Values: known("web.test", knownHostA, knownHostC), Action: states.Create, Changes: changes, Check: holds(global, others+"web.test "+knownHostC+"\nweb.test "+knownHostA+"\n")},
		{Name: "create the file", Values: known("[2001:db8::1]:2222", knownHostA), Action: states.Create, Changes: changes, Check: holds(global, "[2001:db8::1]:2222 "+knownHostA+"\n")},
		{
			Name: "of a user", Values: mine, Action: states.Create, Changes: changes,
			Check: func(t *testing.T, h host.Host, out map[string]any) {
				holds(knownHostOwn, "web.test "+knownHostA+"\n")(t, h, out)
				if info, err := h.Lstat(knownHostOwn); err != nil || info.UID != 1000 || info.Mode != 0o600 {
					t.Errorf("it is %+v, %v", info, err)
				}
			},
		},
		{Name: "nothing to do", Prepare: putKnownHost("x,web.test " + knownHostA + " comment\n"), Values: known("web.test", knownHostA)},
		{Name: "hashed", Prepare: putKnownHost(hashedA + "\n"), Values: known("web.test", knownHostA)},
		{Name: "hashed, as it is to be", Prepare: putKnownHost(hashedA + "\n"), Values: hashed("web.test", true, knownHostA)},
		{Name: "hashed, and not to be", Prepare: putKnownHost(hashedA + "\n" + hashedPort + "\n"), Values: hashed("web.test", false, knownHostA), Action: states.Update, Changes: []string{"hashed"}, Check: holds(global, hashedPort+"\nweb.test "+knownHostA+"\n")},
		{Name: "hashed with a port", Prepare: putKnownHost(hashedA + "\n" + hashedPort + "\n"), Values: known("[web.test]:2222", knownHostC)},
		{Name: "another key", Prepare: putKnownHost(hashedA + "\n" + hashedPort + "\n"), Values: known("web.test", knownHostB), Action: states.Update, Changes: changes, Check: holds(global, hashedPort+"\nweb.test "+knownHostB+"\n")},
		{Name: "fewer keys, and shared lines", Prepare: putKnownHost("web.test,192.0.2.1 " + knownHostA + " x\nweb.test " + knownHostC + "\n"), Values: known("web.test", knownHostC), Action: states.Update, Changes: changes, Check: holds(global, "192.0.2.1 "+knownHostA+" x\nweb.test "+knownHostC+"\n")},
		{Name: "absent", Ensure: states.Absent, Prepare: putKnownHost(others + "a,web.test " + knownHostA + "\n" + hashedA + "\n"), Values: known("web.test", knownHostB), Action: states.Remove, Changes: changes, Check: holds(global, others+"a "+knownHostA+"\n")},
		{Name: "absent, the last one", Ensure: states.Absent, Prepare: putKnownHost(hashedA + "\n"), Values: map[string]any{"host": "web.test"}, Action: states.Remove, Changes: changes},
		{Name: "absent without the user", Ensure: states.Absent, Values: map[string]any{"host": "web.test", "user": "nobody-here"}},
		{Name: "no user", Values: map[string]any{"host": "web.test", "user": "nobody-here", "keys": []string{knownHostA}}, Fails: "no user named"},
		{Name: "a link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/root", "/home/alice/.ssh") }, Values: mine, Fails: "is a symlink"},
		{Name: "no keys", Values: map[string]any{"host": "web.test", "keys": []string{}}, Wrong: "is not known"},
		{Name: "a comment", Values: known("web.test", knownHostA+" x"), Wrong: "more than the type and the key"},
		{Name: "a torn key", Values: known("web.test", "ssh-ed25519 AAAA"), Wrong: "not whole"},
		{Name: "capitals", Values: known("Web.test", knownHostA), Wrong: "capital letters"},
		{Name: "a pattern", Values: known("*.test", knownHostA), Wrong: "cannot contain"},
		{Name: "two hosts", Values: known("a,b", knownHostA), Wrong: "cannot contain"},
		{Name: "a marker", Values: known("@revoked", knownHostA), Wrong: "cannot contain"},
		{Name: "the usual port", Values: known("[a]:22", knownHostA), Wrong: "22 is the port"},
		{Name: "no port", Values: known("[a]:0", knownHostA), Wrong: "is no port"},
		{Name: "a long address", Values: known("2001:DB8::1", knownHostA), Wrong: "shortest form"},
	}})
}

// Whatever the file holds: afterwards the host has its keys, and the names of others
// have theirs.
func FuzzKnownHosts(f *testing.F) {
	f.Add("web.test " + knownHostA + "\n" + hashedA + "\nx,web.test,y " + knownHostB + "\r\n# web.test\n@revoked web.test " + knownHostA)
	f.Add(",web.test, " + knownHostA)
	f.Add("web.test,web.test\t" + knownHostC)
	f.Fuzz(func(t *testing.T, text string) {
		h := host.NewMemory()
		if err := h.Add(global, text); err != nil {
			return
		}
		m := knownhost.Module
		read := func(want any) any {
			have, err := m.Read(t.Context(), h, want)
			if err != nil {
				t.Fatal(err)
			}
			return have
		}
		decode := func(name string) any {
			r, err := m.Decode(map[string]any{"host": name, "keys": []any{knownHostA}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		want, other := decode("web.test"), decode("y")
		if _, err := m.Read(t.Context(), h, want); err != nil {
			return // it is refused whole
		}
		before := read(other)
		have := read(want)
		if len(m.Diff(have, want)) == 0 {
			return
		}
		if err := m.Write(t.Context(), h, have, want); err != nil {
			t.Fatal(err)
		}
		if diff := m.Diff(read(want), want); len(diff) > 0 {
			t.Errorf("%q became %q, which differs by %v", text, fake.Text(h, global), diff)
		}
		if after := read(other); (before == nil) != (after == nil) || before != nil && len(m.Diff(before, after)) > 0 {
			t.Errorf("%q became %q, in which another host has other keys", text, fake.Text(h, global))
		}
	})
}
