package enroll

import (
	"bytes"
	"testing"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
)

// rawKeys are those of a host that says what it wants.
func rawKeys(t testing.TB, identity trust.PrivateKey, number uint64) (*trust.Signed, *trust.HostKeys) {
	t.Helper()
	connection, err := nkeys.CreateUser()
	must(t, err)
	public, err := connection.PublicKey()
	must(t, err)
	sealing, err := age.GenerateX25519Identity()
	must(t, err)
	keys := &trust.HostKeys{Identity: identity.Public(), Connection: public, Sealing: sealing.Recipient().String(), Number: number}
	signed, err := trust.Sign(trust.KindHostKeys, keys, identity)
	must(t, err)
	return signed, keys
}

func newKey(t testing.TB) trust.PrivateKey {
	t.Helper()
	k, err := trust.GenerateKey()
	must(t, err)
	return k
}

// Keys and successions that the host's identity has not signed, that are older, or that lead to somebody else, change nothing.
func TestForeignKeys(t *testing.T) {
	w := newWorld(t)
	key, other, third := newKey(t), newKey(t), newKey(t)
	certificate, keys := rawKeys(t, key, 2)
	secret, err := trust.ParseToken(w.token(NewToken{Auto: true}))
	must(t, err)
	value := func(n byte) []byte { return bytes.Repeat([]byte{n}, identity.ValueSize) }
	_, err = w.registry.Join(w.ctx, &identity.JoinRequest{Secret: secret.Secret, Keys: certificate, Name: "web1", Value: value(1)}, keys, "192.0.2.1")
	must(t, err)
	victim, _ := w.host("web2")
	sign := func(from, to trust.PrivateKey) *trust.Signed {
		s, err := trust.SignSuccession(from, to, noon)
		must(t, err)
		return s
	}
	older, _ := rawKeys(t, key, 1)
	differ, _ := rawKeys(t, key, 2)
	theirs, _ := rawKeys(t, other, 3)
	thirds, _ := rawKeys(t, third, 1)
	before := w.wantState(key.ID(), identity.Approved)
	for name, q := range map[string]identity.RenewRequest{
		"older keys":                        {Keys: older},
		"keys that differ":                  {Keys: differ},
		"another's keys":                    {Keys: theirs},
		"a succession without keys":         {Succession: sign(key, other)},
		"a succession from another":         {Succession: sign(third, other), Keys: theirs},
		"a succession with a third's keys":  {Succession: sign(key, other), Keys: thirds},
		"a succession without a signature":  {Succession: &trust.Signed{Kind: trust.KindSuccession, Content: sign(key, other).Content, Signatures: sign(key, other).Signatures[:1]}, Keys: theirs},
		"something else for the succession": {Succession: certificate, Keys: theirs},
	} {
		q.Value, q.Next = value(1), value(2)
		_, err := w.registry.Renew(w.ctx, key.ID(), &q)
		if wantCode(t, err, CodeProof); err == nil {
			t.Error(name)
		}
	}
	if h := w.wantState(key.ID(), identity.Approved); h.version != before.version {
		t.Errorf("the host has changed: %+v", h)
	}
	w.wantState(victim.ID(), identity.Approved)
	// An identity that was used before is not taken over.
	a, err := w.registry.Renew(w.ctx, key.ID(), &identity.RenewRequest{Value: value(1), Next: value(2), Succession: sign(key, other), Keys: theirs})
	must(t, err)
	if a.Name != "web1" || !a.Renewed {
		t.Errorf("%+v", a)
	}
	back, _ := rawKeys(t, key, 9)
	_, err = w.registry.Renew(w.ctx, other.ID(), &identity.RenewRequest{Value: value(2), Next: value(3), Succession: sign(other, key), Keys: back})
	wantCode(t, err, CodeState)
	// The former identity, which may be stolen, gets nothing: neither with another succession nor with other values.
	for _, q := range []identity.RenewRequest{{Value: value(2), Next: value(3), Keys: certificate}, {Value: value(1), Next: value(2), Succession: sign(key, third), Keys: thirds},
		{Value: value(1), Next: value(9), Succession: sign(key, other), Keys: theirs}} {
		if a, err := w.registry.Renew(w.ctx, key.ID(), &q); err != nil || a.State != identity.Revoked || a.Renewed {
			t.Errorf("%+v, %v", a, err)
		}
	}
	w.wantState(other.ID(), identity.Active)
}
