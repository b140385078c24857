package access

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

func newTestDirectory(t testing.TB) *Directory {
	t.Helper()
	ctx := context.Background()
	e, err := sqlite.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.New(ctx, e, store.Options{Migrations: Migrations()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Campaign(ctx); err != nil {
		t.Fatal(err)
	}
	return NewDirectory(s, Options{Cost: Cost{Time: 1, Memory: 64, Threads: 1}})
}

// A name that nobody has costs the same work as a wrong password, and has the same answer; so do
// those without a password, and those who were removed.
func TestUnknownNamesTakeAsLong(t *testing.T) {
	ctx, d := context.Background(), newTestDirectory(t)
	root := &Caller{Name: "server", Kind: Person, Grants: AllGrants()}
	password := "correct horse battery"
	add := func(name string, c PersonChange) {
		if err := d.AddPerson(ctx, root, name, c); err != nil {
			t.Fatal(err)
		}
	}
	all := AllGrants()
	add("alice", PersonChange{Password: &password, Grants: &all})
	add("bob", PersonChange{})
	add("carol", PersonChange{Password: &password})
	if err := d.RemovePerson(ctx, root, "carol", ""); err != nil {
		t.Fatal(err)
	}
	type work struct {
		cost  Cost
		salt  int
		bytes int
	}
	var done []work
	d.passwords.derive = func(c Cost, password string, salt []byte) []byte {
		done = append(done, work{c, len(salt), len(password)})
		return c.key(password, salt)
	}
	var answers []string
	for i, name := range []string{"alice", "nobody", "bob", "carol", "not a name/", "", strings.Repeat("x", 5000)} {
		_, err := d.LogIn(ctx, name, "wrong password", "192.0.2."+string(rune('1'+i)))
		if diag.CodeOf(err) != CodeUnknown {
			t.Fatal(name, err)
		}
		answers = append(answers, err.Error()+diag.HintOf(err))
		if len(done) != i+1 || done[i] != done[0] || answers[i] != answers[0] {
			t.Fatalf("%q: %v, %q", name, done, answers)
		}
	}
	// The password that stands for none opens nothing.
	d.passwords.derive = func(Cost, string, []byte) []byte { return make([]byte, passwordSize) }
	if _, err := d.LogIn(ctx, "nobody", "", "198.51.100.1"); diag.CodeOf(err) != CodeUnknown {
		t.Error(err)
	}
	if _, err := d.LogIn(ctx, "bob", "", "198.51.100.1"); diag.CodeOf(err) != CodeUnknown {
		t.Error(err)
	}
}

// Guessing is slowed down, but locks nobody out who has logged in before.
func TestAttempts(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := newAttempts()
	for i := range addressAttempts {
		if err := a.begin("alice", "192.0.2.1:10"+string(rune('0'+i)), now); err != nil {
			t.Fatal(i, err)
		}
	}
	err := a.begin("bob", "192.0.2.1:1", now)
	if diag.CodeOf(err) != CodeTooMany || err.(*TooManyError).After != addressInterval {
		t.Fatal(err)
	}
	if err := a.begin("bob", "[::ffff:192.0.2.1]:1", now); err == nil {
		t.Error("the same address in another form")
	}
	if err := a.begin("bob", "192.0.2.1:1", now.Add(addressInterval)); err != nil {
		t.Error("after a while:", err)
	}
	// Many addresses, one name.
	if err := a.begin("carol", "[2001:db8::1]:1", now); err != nil {
		t.Fatal(err)
	}
	a.success("carol", "[2001:db8::1]:1")
	var refused int
	for i := range 2 * nameAttempts {
		if a.begin("carol", "10.0."+string(rune('0'+i/10))+"."+string(rune('0'+i%10)), now) != nil {
			refused++
		}
	}
	if refused != nameAttempts {
		t.Errorf("%d of %d were refused", refused, 2*nameAttempts)
	}
	if err := a.begin("carol", "[2001:db8::ffff]:7", now); err != nil {
		t.Error("from a network of hers:", err)
	}
}

// However many names and addresses are made up, no more than so many are kept.
// Failures by a clock that was ahead, and was put right, lock nobody out.
func TestAttemptsOfAWrongClock(t *testing.T) {
	now := time.Unix(2e9, 0)
	a := newAttempts()
	for range nameAttempts {
		_ = a.begin("alice", "192.0.2.1:1", now)
		_ = a.begin("alice", "192.0.2.2:1", now)
	}
	now = now.Add(-24 * time.Hour)
	for i := range addressAttempts {
		if err := a.begin("alice", "192.0.2.1:1", now); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := a.begin("alice", "192.0.2.1:1", now); diag.CodeOf(err) != CodeTooMany {
		t.Errorf("those of the right clock do not count: %v", err)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	a := newAttempts()
	for i := range 2 * maxBuckets {
		_ = a.begin(strings.Repeat("x", 1+i%7)+time.Duration(i).String(), time.Duration(i).String(), time.Unix(0, int64(i)))
	}
	if len(a.full) > maxBuckets+2 {
		t.Error(len(a.full))
	}
}

func TestHashes(t *testing.T) {
	cost := Cost{Time: 1, Memory: 64, Threads: 2}
	p := newPasswords(cost)
	text, err := p.hash(context.Background(), "correct horse battery")
	if err != nil || !strings.HasPrefix(text, "$argon2id$v=19$m=64,t=1,p=2$") {
		t.Fatal(text, err)
	}
	for _, bad := range []string{"$", "x", text[:len(text)-1], text + "x", strings.Replace(text, "v=19", "v=18", 1), strings.Replace(text, "m=64", "m=99999999", 1),
		strings.Replace(text, "t=1", "t=0", 1), strings.Replace(text, "p=2", "p=0", 1), strings.Replace(text, "argon2id", "argon2i", 1)} {
		if fits, _, err := p.compare(context.Background(), "correct horse battery", bad); err == nil || fits {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := p.hash(context.Background(), "elevenchars"); diag.CodeOf(err) != CodeInvalid {
		t.Error(err)
	}
}

func FuzzHash(f *testing.F) {
	f.Add("$argon2id$v=19$m=64,t=1,p=2$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2id$v=19$m=64,t=1,p=2$")
	f.Fuzz(func(t *testing.T, text string) {
		c, salt, key, err := decodeHash(text)
		if err != nil {
			return
		}
		if len(salt) != saltSize || len(key) != passwordSize || c.Memory > 4<<20 || c.Time == 0 || c.Threads == 0 {
			t.Fatalf("%q is taken as %v", text, c)
		}
		if c2, _, _, err := decodeHash(encodeHash(c, salt, key)); err != nil || c2 != c {
			t.Fatal(c2, err)
		}
	})
}
