package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"regexp"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "") }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newKey(t testing.TB) PrivateKey {
	t.Helper()
	k, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func signed(t testing.TB, kind Kind, content any, keys ...PrivateKey) *Signed {
	t.Helper()
	s, err := Sign(kind, content, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantError demands an error whose text matches; empty: none.
func wantError(t testing.TB, err error, pattern string) {
	t.Helper()
	switch {
	case pattern == "" && err != nil:
		t.Errorf("error: %v", err)
	case pattern != "" && (err == nil || !regexp.MustCompile(pattern).MatchString(err.Error())):
		t.Errorf("error %v, want one like %q", err, pattern)
	}
}

// owner holds the keys of a server and of who runs it.
type owner struct {
	recovery, server PrivateKey
}

func newOwner(t testing.TB) *owner { return &owner{newKey(t), newKey(t)} }

// document is one that names the owner's keys.
func (o *owner) document(generation, number uint64) *Document {
	return &Document{Generation: generation, Number: number, Issued: noon, Recovery: o.recovery.Public(), Keys: []Delegated{
		{Key: o.server.Public(), Name: "server", Verbs: []Verb{VerbTrust, VerbAssign, "exec"}},
	}}
}

// chain has the first document.
func (o *owner) chain(t testing.TB) *Chain {
	c := &Chain{}
	if err := c.Add(signed(t, KindDocument, o.document(1, 1), o.recovery, o.server)); err != nil {
		t.Fatal(err)
	}
	return c
}

// hostKeys are those of a host that is made for a test.
func hostKeys(t testing.TB, identity PrivateKey, number uint64) *HostKeys {
	t.Helper()
	connection, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := connection.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	sealing, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return &HostKeys{Identity: identity.Public(), Connection: public, Sealing: sealing.Recipient().String(), Number: number, Issued: noon}
}

// certificate is one of a CA, or of a server.
func certificate(t testing.TB, isCA bool) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: noon, IsCA: isCA, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
