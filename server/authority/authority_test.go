package authority

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// An empty folder becomes an authority, which is the same when it is opened again.
func TestOpen(t *testing.T) {
	p := newPlace(t)
	a := p.open()
	d := a.Chain().Newest()
	if d.Generation != 1 || d.Number != 1 || len(d.Authorities) != 1 || len(p.recovery) != 1 || trust.DigestOf(d.Authorities[0]) != a.AuthorityDigest() {
		t.Errorf("the first document: %+v, recovery keys shown: %d", d, len(p.recovery))
	}
	for _, name := range []string{authorityFile, signingFile, secretFile} {
		if info, err := os.Stat(p.file(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(p.file("")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	secret, err := a.Secret("tickets")
	must(t, err)
	b := p.open()
	again, err := b.Secret("tickets")
	must(t, err)
	other, err := b.Secret("else")
	must(t, err)
	if b.AuthorityDigest() != a.AuthorityDigest() || len(b.Chain().Signed()) != 1 || len(p.recovery) != 1 || !bytes.Equal(secret, again) || bytes.Equal(secret, other) {
		t.Error("opened again, it is another one")
	}
	recovery, err := parseRecovery(p.recovery[0])
	must(t, err)
	if recovery.Public() != d.Recovery {
		t.Error("the key that was shown is not the recovery key of the document")
	}
	seed, err := recovery.PEM()
	must(t, err)
	block, _ := pem.Decode(seed)
	for _, name := range []string{authorityFile, signingFile, secretFile} {
		if bytes.Contains(p.read(name), bytes.TrimSpace(seed)) || bytes.Contains(p.read(name), block.Bytes) {
			t.Errorf("%s has the recovery key", name)
		}
	}
}

// However far the first start came, the next one makes the rest, and the recovery key that counts is the one shown last.
func TestOpenInterrupted(t *testing.T) {
	files := []string{authorityFile, signingFile, secretFile}
	for n := range len(files) + 1 {
		p := newPlace(t)
		p.options.Recovery = func(string) error { return errors.New("no paper") }
		p.fails("no paper")
		kept := map[string][]byte{}
		for i, name := range files {
			if i < n {
				kept[name] = p.read(name)
			} else {
				must(t, os.Remove(p.file(name)))
			}
		}
		must(t, os.WriteFile(p.file(".tenet-0123.tmp"), []byte("half"), 0o600))
		p.options.Recovery = func(key string) error { p.recovery = append(p.recovery, key); return nil }
		a := p.open()
		for name, data := range kept {
			if !bytes.Equal(data, p.read(name)) {
				t.Errorf("%d files: %s was made again", n, name)
			}
		}
		recovery, err := parseRecovery(p.recovery[0])
		must(t, err)
		if a.Chain().Newest().Recovery != recovery.Public() || len(a.Chain().Signed()) != 1 {
			t.Errorf("%d files: the recovery key that was shown does not count", n)
		}
	}
}

// Keys that were lost, or are for others to read, are not replaced by others.
func TestOpenDamaged(t *testing.T) {
	for _, name := range []string{authorityFile, signingFile, secretFile} {
		p := newPlace(t)
		p.open()
		data := p.read(name)
		must(t, os.Chmod(p.file(name), 0o640))
		p.fails("its owner alone")
		must(t, os.Remove(p.file(name)))
		p.fails("is not there")
		must(t, os.Symlink(filepath.Join(p.dir, "elsewhere"), p.file(name)))
		p.fails("its owner alone")
		must(t, os.Remove(p.file(name)))
		p.write(name, data[:len(data)/2])
		p.fails(name)
		p.write(name, data)
		p.open()
	}
	p, q := newPlace(t), newPlace(t)
	p.open()
	q.open()
	own := p.read(signingFile)
	p.write(signingFile, q.read(signingFile))
	p.fails("does not name the key of this server")
	p.write(signingFile, own)
	p.write(authorityFile, q.read(authorityFile))
	p.fails("does not name the CA")
}

// A standby has a copy of the keys, makes none itself, and follows the chain.
func TestStandby(t *testing.T) {
	ctx, folder, p := context.Background(), t.TempDir(), newPlace(t)
	standby := openStore(t, folder, false)
	_, err := Open(ctx, p.dir, standby, p.options)
	wantError(t, err, "stands by")
	if entries, _ := os.ReadDir(p.file("")); len(entries) > 0 {
		t.Errorf("a standby has made %v", entries)
	}
	p.store = openStore(t, folder, true)
	a := p.open()
	b, err := Open(ctx, p.dir, standby, p.options)
	must(t, err)
	if _, err := meet(t, b, a.Chain().Newest(), "tenet.example.org", noon); err != nil {
		t.Error(err)
	}
	must(t, a.Trust(ctx, AddKey(newKey(t).Public(), "ada", "exec"), nil))
	must(t, b.Refresh(ctx))
	if b.Chain().Newest().Number != 2 {
		t.Error("the standby does not follow")
	}
	wantError(t, b.RotateAuthority(ctx, nil), "stands by")
	if b.AuthorityDigest() != a.AuthorityDigest() {
		t.Error("the standby has another CA")
	}
}

func newKey(t testing.TB) trust.PrivateKey {
	t.Helper()
	k, err := trust.GenerateKey()
	must(t, err)
	return k
}

// The certificate is for the server's names, lasts 90 days, and another takes its place long before.
func TestTLS(t *testing.T) {
	p := newPlace(t)
	a := p.open()
	d := a.Chain().Newest()
	for _, name := range []string{"tenet.example.org", "192.0.2.7", "localhost", "127.0.0.1"} {
		if _, err := meet(t, a, d, name, noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := meet(t, a, d, "other.example.org", noon)
	wantError(t, err, "other.example.org")
	// A host in 1970 takes what is valid, and one in a far future does not.
	if _, err = meet(t, a, d, "tenet.example.org", time.Unix(0, 0)); err != nil {
		t.Error(err)
	}
	_, err = meet(t, a, d, "tenet.example.org", noon.AddDate(1, 0, 0))
	wantError(t, err, "expired")

	first, err := meet(t, a, d, "tenet.example.org", p.now)
	must(t, err)
	leaf := first.PeerCertificates[0]
	if days := leaf.NotAfter.Sub(noon).Hours() / 24; days != 90 {
		t.Errorf("it lasts %v days", days)
	}
	p.now = noon.AddDate(0, 0, 59)
	same, err := meet(t, a, d, "tenet.example.org", p.now)
	must(t, err)
	p.now = noon.AddDate(0, 0, 61)
	next, err := meet(t, a, d, "tenet.example.org", p.now)
	must(t, err)
	if !same.PeerCertificates[0].Equal(leaf) || next.PeerCertificates[0].Equal(leaf) || next.PeerCertificates[0].NotAfter.Sub(p.now) < 80*24*time.Hour {
		t.Error("it is not renewed with 30 days left")
	}
}

// A token names the CA, which is shown; another server's is refused.
func TestTokenTLS(t *testing.T) {
	p, q := newPlace(t), newPlace(t)
	a, b := p.open(), q.open()
	token, err := trust.NewToken("https://tenet.example.org", a.AuthorityDigest(), noon)
	must(t, err)
	_, err = shake(t, a.TLS(), token.TLS("tenet.example.org", func() time.Time { return time.Unix(0, 0) }, "http/1.1"))
	wantError(t, err, "")
	_, err = shake(t, b.TLS(), token.TLS("tenet.example.org", p.options.Clock, "http/1.1"))
	wantError(t, err, "does not show the CA")
	// Showing the CA is not enough: it must have issued the certificate.
	forged := b.TLS()
	forged.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := b.certificate(hello)
		if err != nil {
			return nil, err
		}
		c.Certificate = append(slices.Clone(c.Certificate), a.keys.Load().authority.certificate.Raw)
		return c, nil
	}
	_, err = shake(t, forged, token.TLS("tenet.example.org", p.options.Clock, "http/1.1"))
	wantError(t, err, "certificate signed by unknown authority")
}

// The CA speaks for its own names alone: who has it cannot be anybody else to a browser that trusts it.
func TestNameConstraints(t *testing.T) {
	p := newPlace(t)
	a := p.open()
	ca := a.keys.Load().authority
	der, _, err := ca.newLeaf([]string{"bank.example.com"}, nil, noon)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: noon, DNSName: "bank.example.com"})
	wantError(t, err, "not permitted")
	for _, bad := range []string{"", "a b", "x/y", "-a", "tenet.example.org:8443", "*.example.org"} {
		if _, _, err := splitNames([]string{bad}); err == nil {
			t.Errorf("%q is taken for a name", bad)
		}
	}
}

// People's browsers get a person's own certificate, also a new one; agents never do.
func TestOwnCertificate(t *testing.T) {
	p, q := newPlace(t), newPlace(t)
	corporate := q.open().keys.Load().authority
	dir := t.TempDir()
	p.options.CertificateFile, p.options.KeyFile = filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	p.fails("c.pem")
	put := func(now time.Time) {
		der, key, err := corporate.newLeaf([]string{"tenet.example.org"}, nil, now)
		must(t, err)
		private, err := x509.MarshalPKCS8PrivateKey(key)
		must(t, err)
		must(t, os.WriteFile(p.options.KeyFile, pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: private}), 0o600))
		must(t, os.WriteFile(p.options.CertificateFile, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}), 0o600))
		must(t, os.Chtimes(p.options.CertificateFile, now, now))
		must(t, os.Chtimes(p.options.KeyFile, now, now))
	}
	put(noon)
	a := p.open()
	browser := func() *x509.Certificate {
		t.Helper()
		roots := x509.NewCertPool()
		roots.AddCert(corporate.certificate)
		s, err := shake(t, a.TLS(), &tls.Config{RootCAs: roots, ServerName: "tenet.example.org", NextProtos: []string{"h2", "http/1.1"}, Time: p.options.Clock, Rand: rand.Reader})
		must(t, err)
		return s.PeerCertificates[0]
	}
	first := browser()
	if _, err := meet(t, a, a.Chain().Newest(), "tenet.example.org", noon); err != nil {
		t.Errorf("an agent: %v", err)
	}
	config, err := a.Chain().Newest().TLS("tenet.example.org", p.options.Clock)
	must(t, err)
	if _, err := shake(t, a.TLS(), config); err != nil {
		t.Errorf("an agent that speaks NATS: %v", err)
	}
	config.NextProtos = nil // one of another library
	_, err = shake(t, a.TLS(), config)
	wantError(t, err, "not the server that is meant")
	if _, err := shake(t, a.AgentTLS(), config); err != nil {
		t.Errorf("a listener for agents: %v", err)
	}
	if list := a.Expiring(); len(list) != 0 {
		t.Errorf("it expires: %v", list)
	}
	p.now = noon.AddDate(0, 0, 61)
	if list := a.Expiring(); len(list) != 1 || !list[0].At.Equal(first.NotAfter) {
		t.Errorf("29 days before the end nobody is told: %v", list)
	}
	must(t, os.WriteFile(p.options.KeyFile, []byte("half"), 0o600)) // one file of two is there
	p.now = p.now.Add(time.Minute)
	if !browser().Equal(first) {
		t.Error("half a certificate was taken up")
	}
	put(p.now)
	p.now = p.now.Add(time.Minute)
	if browser().Equal(first) || len(a.Expiring()) != 0 {
		t.Error("the new certificate was not taken up")
	}
}

// The server signs what the trust document lets it sign, and nothing else.
func TestSign(t *testing.T) {
	ctx, p := context.Background(), newPlace(t)
	a, host := p.open(), newKey(t).ID()
	assignment := &trust.Assignment{Format: trust.AssignmentFormat, Host: host, Site: "web", Position: trust.Position{Epoch: 1, N: 1}, Identity: trust.DigestOf(nil),
		Bundle: trust.Content{SHA256: trust.DigestOf(nil), Size: 1}, Recipient: "age1x", Until: noon.Add(time.Hour)}
	signed, err := a.SignAssignment(assignment)
	must(t, err)
	if _, err := a.Chain().ShownAssignment(signed, host); err != nil {
		t.Error(err)
	}
	_, err = a.SignRequest(&trust.Request{Host: host, Verb: "exec"})
	must(t, err)
	for _, verb := range []trust.Verb{trust.VerbRelease, "destroy"} {
		_, err = a.SignRequest(&trust.Request{Host: host, Verb: verb})
		wantError(t, err, "does not let the server sign for "+string(verb))
	}
	own := a.Chain().Newest().Keys[0].Key
	must(t, a.Trust(ctx, AddKey(own, ServerKey, trust.VerbTrust), nil))
	_, err = a.SignAssignment(assignment)
	wantError(t, err, "does not let the server sign for assign")
}

// What belongs to a document is written with it or not at all.
func TestTrustIsOneTransaction(t *testing.T) {
	ctx, p := context.Background(), newPlace(t)
	a := p.open()
	wantError(t, a.Trust(ctx, AddKey(newKey(t).Public(), "ada", "exec"), func(store.Tx) error { return errors.New("no audit") }), "no audit")
	if p.open().Chain().Newest().Number != 1 || a.Chain().Newest().Number != 1 {
		t.Error("a document without its audit")
	}
	wantError(t, a.Trust(ctx, RemoveKey(newKey(t).Public()), nil), "does not name")
	wantError(t, a.Trust(ctx, RemoveKey(a.Chain().Newest().Keys[0].Key), nil), "may sign the next one")
}

// The name of the server's own key is for no other key, whoever signs the document, and its own key has no other name.
func TestServerName(t *testing.T) {
	ctx, p := context.Background(), newPlace(t)
	a := p.open()
	ada := newKey(t)
	for _, name := range []string{ServerKey, " Server"} {
		wantError(t, a.Trust(ctx, AddKey(newKey(t).Public(), name, "exec"), nil), "which is that of the server's own key")
	}
	must(t, a.Trust(ctx, AddKey(ada.Public(), "ada", trust.VerbTrust), nil))
	wantError(t, a.Trust(ctx, AddKey(ada.Public(), ServerKey, trust.VerbTrust), nil), "which is that of the server's own key")
	own := a.Chain().Newest().Keys[0].Key
	wantError(t, a.Trust(ctx, AddKey(own, "ada", trust.VerbTrust), nil), "is the server's own")
	next, err := follow(a.Chain().Newest())
	must(t, err)
	next.Number++
	next.Keys[1].Name = ServerKey
	signed, err := trust.Sign(trust.KindDocument, next, ada)
	must(t, err)
	wantError(t, a.Accept(ctx, signed, nil), "which is that of the server's own key")
	if got := p.open().Chain().Newest().Number; got != 2 {
		t.Errorf("document %d is in the store", got)
	}
	must(t, a.RotateKey(ctx, nil))
	must(t, a.Trust(ctx, AddKey(a.Chain().Newest().Keys[0].Key, ServerKey, trust.VerbTrust), nil))
}
