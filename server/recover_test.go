package server

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// The recovery key of a server that does not run replaces all others, once: hosts that have its documents accept what follows, and not what was signed by
// the keys of before. Whatever is wrong, nothing has changed.
func TestRecover(t *testing.T) {
	var shown []string
	c := config(t.TempDir())
	c.Names = []string{"tenet.example.org", "192.0.2.1"}
	c.Recovery = func(key string) error { shown = append(shown, key); return nil }
	s := start(t, c)
	host, err := trust.ParseChain(s.Authority.Chain().Signed())
	must(t, err)
	former, before := s.Authority, s.Authority.AuthorityDigest()

	recovering := c
	recovering.Names = nil
	_, err = Recover(t.Context(), recovering, shown[0])
	if err == nil || diag.HintOf(err) == "" {
		t.Errorf("while it runs: %v", err)
	}
	must(t, s.Close())
	at, other := len("tenet-recovery:"), "b" // the last letter has bits that do not count
	if shown[0][at:at+1] == other {
		other = "c"
	}
	for _, wrong := range []string{"", "nonsense", shown[0][:at] + other + shown[0][at+1:], "tenet-recovery:" + strings.Repeat("a", 58)} {
		_, err := Recover(t.Context(), recovering, wrong)
		if err == nil || diag.HintOf(err) == "" || len(wrong) > 40 && strings.Contains(err.Error(), wrong[20:40]) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	s = start(t, c)
	if s.Authority.AuthorityDigest() != before || len(shown) != 1 {
		t.Fatal("something has changed")
	}
	must(t, s.Close())

	digest, err := Recover(t.Context(), recovering, strings.ToUpper(shown[0]))
	must(t, err)
	if len(shown) != 2 || shown[1] == shown[0] || digest == before {
		t.Fatalf("%d keys were shown, the CA is %s", len(shown), digest)
	}
	if _, err := Recover(t.Context(), recovering, shown[0]); err == nil {
		t.Error("the former recovery key is of use still")
	}
	s = start(t, c)
	if s.Authority.AuthorityDigest() != digest {
		t.Error("the server has another CA than was said")
	}
	for _, d := range s.Authority.Chain().Signed()[1:] {
		must(t, host.Add(d))
	}
	newest := host.Newest()
	if newest.Generation != 2 || len(newest.Keys) != 1 || len(newest.Authorities) != 1 {
		t.Errorf("%+v", newest)
	}
	stolen, err := former.SignRequest(&trust.Request{Verb: "exec"})
	must(t, err)
	if newest.Signer(stolen, "exec") != nil {
		t.Error("the former key still counts")
	}
	var actions []string
	must(t, s.Store.Read(t.Context(), func(r store.Reader) error {
		actions = nil
		return r.Query(`SELECT action FROM access_audit ORDER BY n`, nil, func(row store.Row) error {
			var action string
			err := row.Scan(&action)
			actions = append(actions, action)
			return err
		})
	}))
	if !slices.Contains(actions, "trust.recover") {
		t.Errorf("the audit has %v", actions)
	}
	// The new CA speaks for the names of the former one.
	for _, name := range []string{"tenet.example.org", "192.0.2.1"} {
		asked := &tls.ClientHelloInfo{ServerName: name}
		if name == "192.0.2.1" { // addresses are not told
			asked.ServerName = ""
		}
		shown, err := s.Authority.AgentTLS().GetCertificate(asked)
		must(t, err)
		ca, err := x509.ParseCertificate(newest.Authorities[0])
		must(t, err)
		pool := x509.NewCertPool()
		pool.AddCert(ca)
		if _, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
