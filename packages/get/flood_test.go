package get_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/tenetcm/tenet/packages/get"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
	"github.com/tenetcm/tenet/packages/signature"
)

// However many others attach what is no good signature to a package, or one of a key of theirs, one that tenet push has attached is found.
func TestFloodOfSignatures(t *testing.T) {
	for _, noReferrers := range []bool{false, true} {
		p := newPlace(t, map[string]string{"site.hcl": "site {\n name = \"s\"\n signers = \"signers\"\n}\ncomponent \"web\" {\n source = \"oci://REGISTRY/acme/web:1\"\n}\n"})
		p.registry.Change(func(o *registrytest.Options) { o.NoReferrers = noReferrers })
		pushed := p.push("acme/web:1", map[string]string{"main.hcl": "file \"/page\" {\n content = \"one\"\n}\n"})
		newKey := func() (ssh.Signer, string) {
			_, private, err := ed25519.GenerateKey(rand.Reader)
			p.must(err)
			signer, err := ssh.NewSignerFromKey(private)
			p.must(err)
			return signer, ssh.FingerprintSHA256(signer.PublicKey())
		}
		good, key := newKey()
		bad, other := newKey()
		p.signers = &get.Signers{Name: "signers", Data: []byte("release@acme.example " + string(ssh.MarshalAuthorizedKey(good.PublicKey())))}
		client := &oci.Client{}
		flood := func(n int, fingerprint string) {
			for i := range n {
				text, err := signature.Sign(fmt.Sprintf("sha256:%064d", i), bad)
				p.must(err)
				p.must(client.Sign(t.Context(), pushed, text, fingerprint))
			}
		}
		n := 500
		if noReferrers { // each of them has the index written anew
			n = 100
		}
		flood(n/2, other)
		flood(n/2-30, "")
		flood(30, key) // which is not theirs
		if _, _, err := p.get(false, false); err == nil || !strings.Contains(err.Error(), "more than 64 signatures") {
			t.Fatalf("of none that is good is told: %v", err)
		}
		text, err := signature.Sign(pushed.Digest, good)
		p.must(err)
		p.must(client.Sign(t.Context(), pushed, text, key))
		l, _, err := p.get(false, false)
		p.must(err)
		if got := l.Packages[0].Signer; got != "release@acme.example "+key {
			t.Errorf("it is signed by %q", got)
		}
	}
}
