package trust

import (
	"testing"
	"time"
)

func TestOpenRequest(t *testing.T) {
	o, stranger, host := newOwner(t), newKey(t), newKey(t).ID()
	chain := o.chain(t)
	const start = 100 * time.Second
	for name, c := range map[string]struct {
		change  func(*Request)
		by      PrivateKey
		after   time.Duration
		pattern string
	}{
		"in time":          {func(*Request) {}, o.server, Validity, ""},
		"late":             {func(*Request) {}, o.server, Validity + 1, "later than 60 s"},
		"for another host": {func(r *Request) { r.Host = stranger.ID() }, o.server, 0, "for the host"},
		"another nonce":    {func(r *Request) { r.Nonce = make([]byte, nonceSize) }, o.server, 0, "nonce"},
		"no nonce":         {func(r *Request) { r.Nonce = nil }, o.server, 0, "nonce"},
		"a long nonce":     {func(r *Request) { r.Nonce = append(r.Nonce, 0) }, o.server, 0, "nonce"},
		"not its verb":     {func(r *Request) { r.Verb = "apply" }, o.server, 0, "no key that may apply"},
		"a stranger":       {func(*Request) {}, stranger, 0, "no key that may exec"},
		"no id":            {func(r *Request) { r.ID = "" }, o.server, 0, "no name"},
		"a path as id":     {func(r *Request) { r.ID = "../../../../../../../etc/passwd1" }, o.server, 0, "no name"},
		"upper case":       {func(r *Request) { r.ID = "ABCDEF00112233445566778899AABBCC" }, o.server, 0, "no name"},
	} {
		t.Run(name, func(t *testing.T) {
			nonces := &Nonces{}
			nonce, err := nonces.Give(start)
			if err != nil {
				t.Fatal(err)
			}
			r := &Request{Host: host, ID: NewRequestID(), Nonce: nonce, Verb: "exec", Body: DigestOf([]byte("argv")), Operator: "ada"}
			c.change(r)
			s := signed(t, KindRequest, r, c.by)
			got, signer, err := chain.OpenRequest(s, host, nonces, start+c.after)
			wantError(t, err, c.pattern)
			if err != nil {
				return
			}
			if got.Body != r.Body || signer != "server" {
				t.Errorf("%v by %q", got, signer)
			}
			_, _, err = chain.OpenRequest(s, host, nonces, start+c.after)
			wantError(t, err, "used before")
			_, _, err = chain.OpenRequest(s, host, &Nonces{}, start)
			wantError(t, err, "none of this connection")
		})
	}
}

// What a stranger sends does not use up the nonce of who may ask.
func TestStrangerUsesNoNonce(t *testing.T) {
	o, stranger, host, nonces := newOwner(t), newKey(t), newKey(t).ID(), &Nonces{}
	nonce, err := nonces.Give(0)
	if err != nil {
		t.Fatal(err)
	}
	r := &Request{Host: host, ID: NewRequestID(), Nonce: nonce, Verb: "exec"}
	chain := o.chain(t)
	if _, _, err := chain.OpenRequest(signed(t, KindRequest, r, stranger), host, nonces, 0); err == nil {
		t.Fatal("accepted")
	}
	_, _, err = chain.OpenRequest(signed(t, KindRequest, r, o.server), host, nonces, 0)
	wantError(t, err, "")
}

func TestNoncesAreBounded(t *testing.T) {
	nonces := &Nonces{}
	for range maxNonces {
		if _, err := nonces.Give(0); err != nil {
			t.Fatal(err)
		}
	}
	_, err := nonces.Give(Validity)
	wantError(t, err, "too many")
	_, err = nonces.Give(Validity + 1) // the others are of no use any more
	wantError(t, err, "")
}
