package enroll

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
)

// A host whose token approves it is in at once, knows whom to trust, and may connect by its own key alone; once it has renewed it is active.
func TestJoin(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	h := w.wantState(i.ID(), identity.Approved)
	chain, err := i.Chain()
	must(t, err)
	if endpoints, _ := i.Brokers(); chain.Newest() == nil || !slices.Equal(endpoints, []string{"tls://broker"}) || i.Name() != "web1" {
		t.Errorf("the host does not know what it is to know: %v, %q", endpoints, i.Name())
	}
	if !w.registry.MayConnect(i.ID(), i.Keys().Connection) || w.registry.MayConnect(i.ID(), "") || w.registry.MayConnect(i.ID(), "UA") || w.registry.MayConnect("x", i.Keys().Connection) {
		t.Error("it may not connect, or others may")
	}
	if a := w.renew(i); a.State != identity.Active || !a.Renewed {
		t.Errorf("%+v", a)
	}
	w.wantState(i.ID(), identity.Active)
	if got := w.audited(h.ID); !slices.Equal(got, []string{"host.approve server"}) {
		t.Errorf("audit: %q", got)
	}
	again, err := Open(w.ctx, w.store, w.authority, w.contents, w.registry.options)
	must(t, err)
	if !again.MayConnect(i.ID(), i.Keys().Connection) {
		t.Error("after a start it may not connect")
	}
}

// A host that a person has to approve asks until that has happened. It gets no broker meanwhile, and takes the name that it was given.
func TestPending(t *testing.T) {
	w := newWorld(t)
	asked := 0
	j := once("web1", "role", "web")
	j.Once, j.Wait = false, func(context.Context, time.Duration) error {
		list, err := w.registry.List(w.ctx, Filter{States: []State{identity.Pending}})
		must(t, err)
		if asked++; asked == 2 {
			_, err := w.registry.Approve(w.ctx, ada, list[0].ID, Approval{Name: "web2", Labels: map[string]string{"role": "db"}})
			must(t, err)
		} else if w.registry.MayConnect(list[0].ID, list[0].Keys.Connection) {
			t.Error("a pending host may connect")
		}
		return nil
	}
	_, err := w.join(t.TempDir(), w.token(NewToken{Labels: map[string]string{"role": "w*"}}), j)
	wantError(t, err, "others may look")
	dir := private(t)
	i, err := w.join(dir, w.token(NewToken{Labels: map[string]string{"role": "w*"}}), j)
	must(t, err)
	if i.Name() != "web2" || i.Labels()["role"] != "db" || asked != 2 {
		t.Errorf("%s, %v, asked %d times", i.Name(), i.Labels(), asked)
	}
	if got := w.audited(i.ID()); !slices.Equal(got, []string{"host.approve ada"}) {
		t.Errorf("audit: %q", got)
	}
}

func private(t testing.TB) string {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	return dir
}

// A join that breaks off, on either side and at any point, is repeated by the same host, and takes one use of the token.
func TestJoinInterrupted(t *testing.T) {
	for _, auto := range []bool{false, true} {
		for cut := range 5 {
			w := newWorld(t)
			token, dir, n := w.token(NewToken{Auto: auto}), private(t), 0
			// Requests are cut off in turn before they are served and before they are answered.
			w.before = func(*http.Request) bool { n++; return cut%2 == 0 && n <= cut/2+1 }
			w.after = func(*http.Request) bool { return cut%2 == 1 && n <= cut/2+1 }
			var ids []trust.ID
			for range 4 {
				i, err := identity.Join(w.ctx, dir, token, once("web1"), identity.Options{Clock: w.now})
				if err == nil {
					ids = append(ids, i.ID())
					must(t, i.Close())
				}
			}
			list, err := w.registry.List(w.ctx, Filter{})
			must(t, err)
			if len(list) != 1 || len(ids) == 0 || list[0].ID != ids[0] || slices.ContainsFunc(ids, func(id trust.ID) bool { return id != ids[0] }) {
				t.Errorf("cut %d: the host has joined as %v: %d hosts", cut, ids, len(list))
			}
		}
	}
}

// Tokens that expired, were revoked, used, or never made let nobody in, and those for other names and labels nobody who is called otherwise.
func TestTokenRefused(t *testing.T) {
	w := newWorld(t)
	other, err := trust.NewToken(w.address, w.authority.AuthorityDigest(), noon.Add(time.Hour))
	must(t, err)
	_, err = w.join(private(t), other.String(), once("web1"))
	wantCode(t, err, CodeToken)

	expired := w.token(NewToken{Auto: true})
	w.pass(time.Hour)
	_, err = w.join(private(t), expired, once("web1"))
	wantCode(t, err, CodeExpired)

	text, kept, err := w.registry.NewToken(w.ctx, ada, NewToken{})
	must(t, err)
	must(t, w.registry.RevokeToken(w.ctx, ada, kept.ID))
	_, err = w.join(private(t), text, once("web1"))
	wantCode(t, err, CodeToken)

	used := w.token(NewToken{Auto: true})
	_, err = w.join(private(t), used, once("web1"))
	must(t, err)
	_, err = w.join(private(t), used, once("web2"))
	wantCode(t, err, CodeUsed)

	claims := w.token(NewToken{Names: "web*,!web9", Labels: map[string]string{"role": "web*"}, Uses: 9})
	for _, j := range []identity.Joining{once("db1"), once("web9"), once("web3", "role", "db"), once("web3", "env", "prod"), once("web3", "role", "web", "env", "prod")} {
		_, err = w.join(private(t), claims, j)
		wantCode(t, err, CodeClaim)
	}
	for _, name := range []string{"", "a b", "../etc", "a/b", ".hidden", "-rf", "*", "a,b", "a=b", "ünïcode", "a\x00", strings.Repeat("a", 201)} {
		_, err = w.join(private(t), w.token(NewToken{}), once(name))
		wantCode(t, err, CodeInvalid)
	}
	for _, labels := range [][]string{{"", "x"}, {"a b", "x"}, {"role", "a\nb"}, {"role", "\x1b[2J"}, {"role", "a,b"}, {"role", strings.Repeat("a", 201)}} {
		_, err = w.join(private(t), w.token(NewToken{Labels: map[string]string{"role": "*"}}), once("web5", labels...))
		wantCode(t, err, CodeInvalid)
	}
	if list, err := w.registry.List(w.ctx, Filter{}); err != nil || len(list) != 1 {
		t.Errorf("%d hosts were taken in, %v", len(list), err)
	}
	_, _, err = w.registry.NewToken(w.ctx, ada, NewToken{Auto: true, Uses: 2})
	wantError(t, err, "approves none of them by itself")
}

// Of many hosts that come with one token at once, as many get in as it has uses.
func TestTokenRace(t *testing.T) {
	w := newWorld(t)
	for _, uses := range []int64{1, 3} {
		token := w.token(NewToken{Uses: uses, Auto: uses == 1})
		var group sync.WaitGroup
		var mu sync.Mutex
		won, refused := 0, 0
		for k := range 12 {
			dir := private(t)
			group.Go(func() {
				i, err := identity.Join(w.ctx, dir, token, once("host"+string(rune('a'+k))+string(rune(48+uses))), identity.Options{Clock: w.now})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
					i.Close()
				} else if wantCode(t, err, CodeUsed); err != nil {
					refused++
				}
			})
		}
		group.Wait()
		if int64(won) != uses || won+refused != 12 {
			t.Errorf("%d uses: %d got in, %d were refused", uses, won, refused)
		}
	}
	tokens, err := w.registry.Tokens(w.ctx)
	must(t, err)
	for _, k := range tokens {
		if k.Used != k.Uses {
			t.Errorf("%d of %d uses are gone", k.Used, k.Uses)
		}
	}
}

// Who takes a known name waits for a person, whatever the token says, and the person sees what differs. Only on purpose is the former host replaced.
func TestNameSquatting(t *testing.T) {
	w := newWorld(t)
	victim, _ := w.host("web1")
	for _, name := range []string{"web1", "WEB1"} {
		squatter, err := w.join(private(t), w.token(NewToken{Auto: true}), once(name))
		must(t, err)
		h := w.wantState(squatter.ID(), identity.Pending)
		if h.Replaces == nil || h.Replaces.ID != victim.ID() || !slices.ContainsFunc(h.Replaces.Difference, func(d Difference) bool { return d.What == "identity" }) {
			t.Errorf("the difference is not shown: %+v", h.Replaces)
		}
		_, err = w.registry.Approve(w.ctx, ada, h.ID, Approval{})
		wantCode(t, err, CodeNameTaken)
		_, err = w.registry.Reject(w.ctx, ada, h.ID)
		must(t, err)
	}
	w.wantState(victim.ID(), identity.Approved)

	next, err := w.join(private(t), w.token(NewToken{}), once("web1"))
	must(t, err)
	_, err = w.registry.Approve(w.ctx, ada, next.ID(), Approval{Replace: true})
	must(t, err)
	w.wantState(next.ID(), identity.Approved)
	w.wantState(victim.ID(), identity.Revoked)
	if w.registry.MayConnect(victim.ID(), victim.Keys().Connection) {
		t.Error("the former host may still connect")
	}
	if got := w.audited(victim.ID()); !slices.Equal(got, []string{"host.approve server", "host.revoke ada"}) {
		t.Errorf("audit: %q", got)
	}
	if h, err := w.registry.Named(w.ctx, "web1"); err != nil || h.ID != next.ID() {
		t.Errorf("web1 is %v, %v", h, err)
	}
}

// A name is the same in whatever case it is written.
func TestCaseOfNames(t *testing.T) {
	w := newWorld(t)
	w.host("DB1")
	i, err := w.join(private(t), w.token(NewToken{Auto: true}), once("db1"))
	must(t, err)
	w.wantState(i.ID(), identity.Pending)
	other, _ := w.host("db2")
	_, err = w.registry.Rename(w.ctx, ada, other.ID(), "db1")
	wantCode(t, err, CodeNameTaken)
	_, err = w.registry.Rename(w.ctx, ada, other.ID(), "DB2")
	must(t, err)
}

// Two machines with one identity that both ask, as where an image was made of a host that had begun to join, are noticed.
func TestJoinOfCopy(t *testing.T) {
	w := newWorld(t)
	key := newKey(t)
	certificate, keys := rawKeys(t, key, 1)
	join := func(n byte, token string) *identity.Answer {
		t.Helper()
		secret, err := trust.ParseToken(token)
		must(t, err)
		a, err := w.registry.Join(w.ctx, &identity.JoinRequest{Secret: secret.Secret, Keys: certificate, Name: "web1", Value: bytes.Repeat([]byte{n}, identity.ValueSize)}, keys, "192.0.2.1")
		must(t, err)
		return a
	}
	if a := join(1, w.token(NewToken{})); a.State != identity.Pending {
		t.Errorf("%+v", a)
	}
	join(2, w.token(NewToken{Auto: true})) // nobody has looked at it yet: it may have begun anew
	_, err := w.registry.Approve(w.ctx, ada, key.ID(), Approval{})
	must(t, err)
	if a := join(2, w.token(NewToken{})); a.State != identity.Approved {
		t.Errorf("asking again: %+v", a)
	}
	if a := join(1, w.token(NewToken{Auto: true})); a.State != identity.Locked {
		t.Errorf("a copy: %+v", a)
	}
	if h := w.wantState(key.ID(), identity.Locked); h.CopiedAt == nil {
		t.Error("it is not said why")
	}
}

// A stolen token of a server does not lead to another server that the thief has.
func TestTokenOfAnotherServer(t *testing.T) {
	w, thief := newWorld(t), newWorld(t)
	honest, err := trust.ParseToken(w.token(NewToken{Auto: true}))
	must(t, err)
	honest.URL = thief.address
	_, err = w.join(private(t), honest.String(), once("web1"))
	wantError(t, err, "does not show the CA")
	if list, err := thief.registry.List(w.ctx, Filter{}); err != nil || len(list) != 0 {
		t.Errorf("the thief has got %d hosts: %v", len(list), err)
	}
	i, _ := w.host("web2")
	dir := private(t)
	must(t, i.Close())
	_, err = w.join(dir, "tenet-join:AAAA", once("web1"))
	wantError(t, err, "damaged")
}

// Whoever was rejected is told so, and does not come again.
func TestReject(t *testing.T) {
	w := newWorld(t)
	dir, token := private(t), w.token(NewToken{})
	i, err := w.join(dir, token, once("web1"))
	must(t, err)
	_, err = w.registry.Reject(w.ctx, By{Actor: "ada", Reason: "not ours"}, i.ID())
	must(t, err)
	must(t, i.Close())
	_, err = w.join(dir, token, once("web1"))
	wantError(t, err, "not ours")
	_, err = w.registry.Approve(w.ctx, ada, i.ID(), Approval{})
	wantCode(t, err, CodeState)
}

// What a person may not do is refused within the transaction, also by what the host becomes.
func TestAllow(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	only := By{Actor: "bob", Allow: func(h access.Target) error {
		if !strings.HasPrefix(h.Name, "web") {
			return errors.New("not yours")
		}
		return nil
	}}
	_, err := w.registry.Rename(w.ctx, only, i.ID(), "db1")
	wantError(t, err, "not yours")
	_, err = w.registry.Rename(w.ctx, ada, i.ID(), "db1")
	must(t, err)
	for _, act := range []func() (*Host, error){
		func() (*Host, error) { return w.registry.Rename(w.ctx, only, i.ID(), "web1") },
		func() (*Host, error) { return w.registry.Lock(w.ctx, only, i.ID()) },
		func() (*Host, error) { return w.registry.Revoke(w.ctx, only, i.ID()) },
		func() (*Host, error) { return w.registry.Label(w.ctx, only, i.ID(), nil) },
	} {
		_, err := act()
		wantError(t, err, "not yours")
	}
	if got := w.audited(i.ID()); !slices.Equal(got, []string{"host.approve server", "host.rename ada"}) {
		t.Errorf("audit: %q", got)
	}
	w.wantState(i.ID(), identity.Approved)
}
