package access_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

const password = "correct horse battery"

type world struct {
	*access.Directory
	t    testing.TB
	now  time.Time
	root *access.Caller
}

// people has alice, who may do everything.
func people(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, now: time.Unix(1e9, 0).UTC(), root: &access.Caller{Name: "server", Kind: access.Person, Grants: access.AllGrants()}}
	w.Directory = access.NewDirectory(open(t), access.Options{Clock: func() time.Time { return w.now }, Cost: cheap()})
	w.add("alice", access.AllGrants()...)
	return w
}

func cheap() access.Cost { return access.Cost{Time: 1, Memory: 64, Threads: 1} }

func (w *world) add(name string, grants ...access.Grant) {
	w.t.Helper()
	must(w.t, w.AddPerson(context.Background(), w.root, name, access.PersonChange{Password: new(password), Grants: &grants}))
}

func (w *world) login(name string) (*access.Login, *access.Caller) {
	w.t.Helper()
	l, err := w.LogIn(context.Background(), name, password, "192.0.2.1:1")
	must(w.t, err)
	c, err := w.Authenticate(context.Background(), l.Secret)
	must(w.t, err)
	return l, c
}

func TestSessions(t *testing.T) {
	ctx, w := context.Background(), people(t)
	l, c := w.login("alice")
	if c.Name != "alice" || c.Kind != access.Person || c.ID != l.ID || !c.MayEverywhere(access.Admin) {
		t.Fatal(c)
	}
	other, _ := w.login("alice")
	if other.Secret == l.Secret || other.ID == l.ID {
		t.Fatal("a session was taken on")
	}
	for _, bad := range []string{"", "x", l.Secret + "x", l.Secret[:len(l.Secret)-1], "tenet_s_" + strings.Repeat("A", 43), strings.Replace(l.Secret, "_s_", "_p_", 1), l.ID} {
		_, err := w.Authenticate(ctx, bad)
		wantCode(t, err, access.CodeUnknown)
	}
	list, err := w.Sessions(ctx, "alice")
	if err != nil || len(list) != 2 || list[0].Origin != "192.0.2.1:1" {
		t.Fatal(list, err)
	}
	must(t, w.EndSession(ctx, c, l.ID, ""))
	_, err = w.Authenticate(ctx, l.Secret)
	wantCode(t, err, access.CodeUnknown)
	_, err = w.Authenticate(ctx, other.Secret)
	must(t, err)
}

func TestSessionsEnd(t *testing.T) {
	ctx, w := context.Background(), people(t)
	idle, _ := w.login("alice")
	used, _ := w.login("alice")
	for range 13 {
		w.now = w.now.Add(time.Hour)
		_, err := w.Authenticate(ctx, used.Secret)
		must(t, err)
	}
	_, err := w.Authenticate(ctx, idle.Secret)
	wantCode(t, err, access.CodeUnknown)
	for w.now.Before(used.Ends.Add(-time.Hour)) {
		w.now = w.now.Add(time.Hour)
		_, err := w.Authenticate(ctx, used.Secret)
		must(t, err)
	}
	w.now = used.Ends
	_, err = w.Authenticate(ctx, used.Secret)
	wantCode(t, err, access.CodeUnknown)
	if list, err := w.Sessions(ctx, ""); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// A session that was begun by a clock that was ahead ends with that; a clock that is put back a little ends none.
func TestSessionsOfAWrongClock(t *testing.T) {
	ctx, w := context.Background(), people(t)
	right := w.now
	w.now = right.Add(4 * 365 * 24 * time.Hour)
	l, _ := w.login("alice")
	w.now = w.now.Add(-time.Minute)
	_, err := w.Authenticate(ctx, l.Secret)
	must(t, err)
	w.now = right
	_, err = w.Authenticate(ctx, l.Secret)
	wantCode(t, err, access.CodeUnknown)
	if list, err := w.Sessions(ctx, ""); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	_, caller := w.login("alice")
	if list, err := w.Sessions(ctx, ""); err != nil || len(list) != 1 || list[0].ID != caller.ID {
		t.Error(list, err)
	}
}

// What can be had from the database is no secret with which one could log in.
func TestNoSecretIsKept(t *testing.T) {
	ctx, w := context.Background(), people(t)
	l, c := w.login("alice")
	program, _, err := w.AddProgram(ctx, c, "ci", access.AllGrants(), w.now.Add(time.Hour), "")
	must(t, err)
	var backup strings.Builder
	must(t, w.Store().Backup(ctx, &backup))
	for _, secret := range []string{l.Secret, strings.TrimPrefix(l.Secret, "tenet_s_"), program, strings.TrimPrefix(program, "tenet_p_"), password} {
		if strings.Contains(backup.String(), secret) {
			t.Error("the store holds a secret")
		}
	}
}

func TestOthersSessions(t *testing.T) {
	ctx, w := context.Background(), people(t)
	w.add("bob", grant(t, access.Read, "*", "*"))
	mine, _ := w.login("alice")
	_, bob := w.login("bob")
	wantCode(t, w.EndSession(ctx, bob, mine.ID, ""), access.CodeNotFound)
	wantCode(t, w.EndSession(ctx, bob, "nothing", ""), access.CodeNotFound)
	_, err := w.Authenticate(ctx, mine.Secret)
	must(t, err)
	_, alice := w.login("alice")
	must(t, w.EndSession(ctx, alice, bob.ID, "left"))
}

func TestPasswordsAreHashedAnew(t *testing.T) {
	ctx, w := context.Background(), people(t)
	kept := func() (text string) {
		must(t, w.Store().Read(ctx, func(r store.Reader) error {
			_, err := store.One(r, "SELECT password FROM access_people WHERE name = 'alice'", nil, &text)
			return err
		}))
		return text
	}
	before := kept()
	w.login("alice")
	if kept() != before {
		t.Error("it was hashed anew for nothing")
	}
	w.Directory = access.NewDirectory(w.Store(), access.Options{Clock: func() time.Time { return w.now }, Cost: access.Cost{Time: 2, Memory: 64, Threads: 1}})
	w.login("alice")
	if after := kept(); after == before || !strings.Contains(after, "t=2") {
		t.Error(after)
	}
	w.login("alice")
}

func TestOwnPassword(t *testing.T) {
	ctx, w := context.Background(), people(t)
	old, _ := w.login("alice")
	l, c := w.login("alice")
	wantCode(t, w.SetOwnPassword(ctx, c, "wrong", "another password", "x"), access.CodeForbidden)
	wantCode(t, w.SetOwnPassword(ctx, c, password, "short", "x"), access.CodeInvalid)
	must(t, w.SetOwnPassword(ctx, c, password, "another password", "x"))
	_, err := w.Authenticate(ctx, old.Secret)
	wantCode(t, err, access.CodeUnknown)
	_, err = w.Authenticate(ctx, l.Secret)
	must(t, err)
	_, err = w.LogIn(ctx, "alice", password, "x")
	wantCode(t, err, access.CodeUnknown)
}

// Nobody gives what they do not have, by whichever way.
func TestEscalation(t *testing.T) {
	ctx, w := context.Background(), people(t)
	must(t, w.PutRole(ctx, w.root, access.Role{Name: "root", Grants: access.AllGrants()}, ""))
	must(t, w.PutRole(ctx, w.root, access.Role{Name: "readers", Grants: []access.Grant{grant(t, access.Read, "*", "*")}}, ""))
	w.add("clerk", grant(t, access.Admin, "*", "*"), grant(t, access.Read, "web*", "*"), grant(t, access.Deploy, "web*", "shop"))
	w.add("bob", grant(t, access.Exec, "*", "*"))
	_, clerk := w.login("clerk")
	grants := func(g ...access.Grant) *[]access.Grant { return &g }
	for what, c := range map[string]access.PersonChange{
		"another verb":  {Grants: grants(grant(t, access.Exec, "web1", "shop"))},
		"more hosts":    {Grants: grants(grant(t, access.Deploy, "*", "shop"))},
		"more sites":    {Grants: grants(grant(t, access.Deploy, "web1", "*"))},
		"by exclusion":  {Grants: grants(grant(t, access.Deploy, "!web1", "shop"))},
		"by a role":     {Roles: &[]string{"root"}},
		"by its reader": {Roles: &[]string{"readers"}},
	} {
		wantCode(t, w.ChangePerson(ctx, clerk, "clerk", c), access.CodeForbidden)
		wantCode(t, w.AddPerson(ctx, clerk, "new", c), access.CodeForbidden)
		if t.Failed() {
			t.Fatal(what)
		}
	}
	// The ways to log in as somebody who has more.
	wantCode(t, w.ChangePerson(ctx, clerk, "alice", access.PersonChange{Password: new("a password of mine")}), access.CodeForbidden)
	wantCode(t, w.ChangePerson(ctx, clerk, "bob", access.PersonChange{Subject: new("clerk's"), Issuer: new("https://id")}), access.CodeForbidden)
	// Roles, and the groups by which one has them.
	wantCode(t, w.PutRole(ctx, clerk, access.Role{Name: "mine", Grants: access.AllGrants()}, ""), access.CodeForbidden)
	wantCode(t, w.PutRole(ctx, clerk, access.Role{Name: "root", Grants: access.AllGrants(), Groups: []string{"clerks"}}, ""), access.CodeForbidden)
	must(t, w.PutRole(ctx, clerk, access.Role{Name: "root", Grants: access.AllGrants()[:7]}, "")) // less is no gift
	// What is theirs can be given, and what others have stays with them.
	must(t, w.ChangePerson(ctx, clerk, "bob", access.PersonChange{Grants: grants(grant(t, access.Exec, "*", "*"), grant(t, access.Deploy, "web1", "shop"))}))
	w.add("carol", grant(t, access.Read, "*", "*"))
	_, carol := w.login("carol")
	wantCode(t, w.ChangePerson(ctx, carol, "carol", access.PersonChange{Grants: grants()}), access.CodeForbidden)
	wantCode(t, w.AddPerson(ctx, carol, "x", access.PersonChange{}), access.CodeForbidden)
	wantCode(t, w.RemovePerson(ctx, carol, "bob", ""), access.CodeForbidden)
	wantCode(t, w.PutRole(ctx, carol, access.Role{Name: "x"}, ""), access.CodeForbidden)
	wantCode(t, w.RemoveRole(ctx, carol, "root", ""), access.CodeForbidden)
}

func TestPrograms(t *testing.T) {
	ctx, w := context.Background(), people(t)
	w.add("bob", grant(t, access.Deploy, "web*", "shop"), grant(t, access.Read, "*", "*"))
	_, bob := w.login("bob")
	ends := w.now.Add(24 * time.Hour)
	add := func(by *access.Caller, name string, ends time.Time, g ...access.Grant) (string, access.ProgramRecord, error) {
		return w.AddProgram(ctx, by, name, g, ends, "")
	}
	_, _, err := add(bob, "ci", ends, grant(t, access.Deploy, "*", "shop"))
	wantCode(t, err, access.CodeForbidden)
	_, _, err = add(bob, "ci", w.now, grant(t, access.Deploy, "web1", "shop"))
	wantCode(t, err, access.CodeInvalid)
	_, _, err = add(bob, "ci", w.now.Add(400*24*time.Hour), grant(t, access.Deploy, "web1", "shop"))
	wantCode(t, err, access.CodeInvalid)
	_, _, err = add(bob, "../ci", ends, grant(t, access.Deploy, "web1", "shop"))
	wantCode(t, err, access.CodeInvalid)
	secret, record, err := add(bob, "ci", ends, grant(t, access.Deploy, "web1", "shop"), grant(t, access.Read, "*", "shop"))
	must(t, err)
	_, _, err = add(bob, "ci", ends, grant(t, access.Deploy, "web1", "shop"))
	wantCode(t, err, access.CodeExists)
	program, err := w.Authenticate(ctx, secret)
	must(t, err)
	if program.Name != "bob/ci" || program.Kind != access.Program || len(program.Grants) != 2 || access.PersonOf(program.Name) != "bob" {
		t.Fatal(program)
	}
	_, _, err = add(program, "more", ends, grant(t, access.Deploy, "web1", "shop"))
	wantCode(t, err, access.CodeForbidden)
	// It has no more than its maker has at that time.
	must(t, w.ChangePerson(ctx, w.root, "bob", access.PersonChange{Grants: &[]access.Grant{grant(t, access.Read, "*", "*")}}))
	program, err = w.Authenticate(ctx, secret)
	if err != nil || len(program.Grants) != 1 || program.Grants[0].Verb != access.Read {
		t.Fatal(program, err)
	}
	w.add("carol")
	_, carol := w.login("carol")
	wantCode(t, w.RemoveProgram(ctx, carol, record.ID, ""), access.CodeNotFound)
	if list, err := w.Programs(ctx, "bob"); err != nil || len(list) != 1 || list[0].Used == nil {
		t.Fatal(list, err)
	}
	w.now = ends
	_, err = w.Authenticate(ctx, secret)
	wantCode(t, err, access.CodeUnknown)
	must(t, w.RemovePerson(ctx, w.root, "bob", "left"))
	if list, err := w.Programs(ctx, ""); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
}

func TestRemovedPeople(t *testing.T) {
	ctx, w := context.Background(), people(t)
	w.add("bob")
	l, bob := w.login("bob")
	program, _, err := w.AddProgram(ctx, bob, "ci", []access.Grant{grant(t, access.Read, "*", "*")}, w.now.Add(time.Hour), "")
	wantCode(t, err, access.CodeForbidden)
	must(t, w.RemovePerson(ctx, w.root, "bob", "left"))
	for _, secret := range []string{l.Secret, program} {
		_, err := w.Authenticate(ctx, secret)
		wantCode(t, err, access.CodeUnknown)
	}
	_, err = w.LogIn(ctx, "bob", password, "x")
	wantCode(t, err, access.CodeUnknown)
	wantCode(t, w.AddPerson(ctx, w.root, "bob", access.PersonChange{}), access.CodeExists)
	wantCode(t, w.ChangePerson(ctx, w.root, "bob", access.PersonChange{Password: new(password)}), access.CodeNotFound)
}

// Somebody can always administer the server.
func TestLastAdmin(t *testing.T) {
	ctx, w := context.Background(), people(t)
	none := []access.Grant{}
	wantCode(t, w.RemovePerson(ctx, w.root, "alice", ""), access.CodeLastAdmin)
	wantCode(t, w.ChangePerson(ctx, w.root, "alice", access.PersonChange{Grants: &none}), access.CodeLastAdmin)
	wantCode(t, w.ChangePerson(ctx, w.root, "alice", access.PersonChange{Password: new("")}), access.CodeLastAdmin)
	must(t, w.PutRole(ctx, w.root, access.Role{Name: "root", Grants: access.AllGrants()}, ""))
	must(t, w.ChangePerson(ctx, w.root, "alice", access.PersonChange{Grants: &none, Roles: &[]string{"root"}}))
	wantCode(t, w.RemoveRole(ctx, w.root, "root", ""), access.CodeLastAdmin)
	wantCode(t, w.PutRole(ctx, w.root, access.Role{Name: "root"}, ""), access.CodeLastAdmin)
	w.add("bob", access.AllGrants()...)
	must(t, w.RemoveRole(ctx, w.root, "root", ""))
	if p, grants, err := w.Person(ctx, "alice"); err != nil || len(p.Roles) != 0 || len(grants) != 0 {
		t.Error(p, grants, err)
	}
}

func TestRolesSayWhy(t *testing.T) {
	ctx, w := context.Background(), people(t)
	must(t, w.PutRole(ctx, w.root, access.Role{Name: "web", Grants: []access.Grant{grant(t, access.Deploy, "web*", "*")}}, ""))
	must(t, w.AddPerson(ctx, w.root, "bob", access.PersonChange{Roles: &[]string{"web", "web"}, Grants: &[]access.Grant{grant(t, access.Read, "*", "*")}}))
	_, grants, err := w.Person(ctx, "bob")
	if err != nil || len(grants) != 2 || grants[0].Source != "own" || grants[1].Source != "role web" {
		t.Error(grants, err)
	}
	wantCode(t, w.ChangePerson(ctx, w.root, "bob", access.PersonChange{Roles: &[]string{"none"}}), access.CodeNotFound)
	_, _, err = w.Person(ctx, "x")
	wantCode(t, err, access.CodeNotFound)
}

// Nobody is taken for somebody else by a name in other letters, or for the server.
func TestNames(t *testing.T) {
	ctx, w := context.Background(), people(t)
	wantCode(t, w.AddPerson(ctx, w.root, "Alice", access.PersonChange{}), access.CodeExists)
	for _, name := range []string{"", "server", "SERVER", "a/b", "-a", "a b", "ä", "a\n", strings.Repeat("a", 101)} {
		wantCode(t, w.AddPerson(ctx, w.root, name, access.PersonChange{}), access.CodeInvalid)
	}
}

func TestVoid(t *testing.T) {
	ctx, w := context.Background(), people(t)
	l, c := w.login("alice")
	program, _, err := w.AddProgram(ctx, c, "ci", access.AllGrants(), w.now.Add(time.Hour), "")
	must(t, err)
	must(t, w.Store().Write(ctx, func(tx store.Tx) error { return access.Void(tx, w.now, "restored") }))
	for _, secret := range []string{l.Secret, program} {
		_, err := w.Authenticate(ctx, secret)
		wantCode(t, err, access.CodeUnknown)
	}
	w.login("alice")
	_, err = access.Verify(ctx, w.Store())
	must(t, err)
}

// Every act is in the audit, and none of its secrets.
func TestActsAreAudited(t *testing.T) {
	ctx, w := context.Background(), people(t)
	_, alice := w.login("alice")
	must(t, w.AddPerson(ctx, alice, "bob", access.PersonChange{Password: new("another password"), Reason: "new here"}))
	must(t, w.PutRole(ctx, alice, access.Role{Name: "r"}, "r1"))
	must(t, w.RemoveRole(ctx, alice, "r", "r2"))
	_, record, err := w.AddProgram(ctx, alice, "ci", access.AllGrants(), w.now.Add(time.Hour), "r3")
	must(t, err)
	must(t, w.RemoveProgram(ctx, alice, record.ID, "r4"))
	must(t, w.RemovePerson(ctx, alice, "bob", "r5"))
	must(t, w.EndSession(ctx, alice, alice.ID, "r6"))
	var actions []string
	must(t, w.Store().Read(ctx, func(r store.Reader) error {
		all, err := access.ListAudit(r, access.AuditFilter{})
		for _, e := range all {
			actions = append(actions, e.Actor+":"+e.Action+":"+e.Reason)
			for _, text := range e.Detail {
				if strings.Contains(text, "battery") || strings.Contains(text, "another") {
					t.Error(e)
				}
			}
		}
		return err
	}))
	want := "alice:session.end:r6 alice:person.remove:r5 alice:program.remove:r4 alice:program.add:r3 alice:role.remove:r2 alice:role.put:r1 alice:person.add:new here alice:session.begin: server:person.add:"
	if got := strings.Join(actions, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, err = access.Verify(ctx, w.Store())
	must(t, err)
}
