package trust

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"
)

// Request asks a host to do something now.
type Request struct {
	Host ID `json:"host"`
	// ID names the request, so that one whose answer was lost is told from another of the same content. 32 hex digits.
	ID    string `json:"id"`
	Nonce []byte `json:"nonce"` // that the host gave for it
	Verb  Verb   `json:"verb"`  // what is asked for
	Body  Digest `json:"body"`  // of all that is sent with it
	// Operator is the person or program that asks, as the server knows it: for the host's records. Where the operator's own key has
	// signed, the name of that key counts.
	Operator string `json:"operator"`
}

// NewRequestID gives a name that no other request has.
func NewRequestID() string {
	var id [16]byte
	rand.Read(id[:]) // it never fails: crypto/rand
	return hex.EncodeToString(id[:])
}

// OpenRequest gives a request that a host may carry out: for it, with a nonce of its own that is fresh, signed by a key that has the verb. It
// uses the nonce up. The caller keeps its ID durable before it begins. The second result is the name of the key.
func (c *Chain) OpenRequest(s *Signed, host ID, nonces *Nonces, now time.Duration) (*Request, string, error) {
	stated, err := peek[Request](s, KindRequest)
	if err != nil {
		return nil, "", err
	}
	r, signer, err := open[Request](c, s, KindRequest, stated.Verb)
	if err != nil {
		return nil, "", err
	}
	id, err := hex.DecodeString(r.ID)
	switch {
	case err != nil || len(id) != 16 || hex.EncodeToString(id) != r.ID:
		return nil, "", refuse(KindRequest, "it has no name of 32 hex digits")
	case r.Host != host:
		return nil, "", refuse(KindRequest, "it is for the host %s, and this is %s", r.Host.Short(), host.Short())
	}
	if err := nonces.use(r.Nonce, now); err != nil {
		return nil, "", refuse(KindRequest, "%v", err)
	}
	return r, signer.Name, nil
}

// Validity is how long a request may take from the nonce to its acceptance, by the host's monotonic clock: neither side's
// time of day counts.
const Validity = 60 * time.Second

// maxNonces bounds how many nonces are out at once.
const maxNonces = 256

const nonceSize = 16

// Nonces are what a host gives out on one connection, each for one request. With the connection they are gone. The zero value has
// none. Times are readings of a monotonic clock.
type Nonces struct {
	out map[[nonceSize]byte]time.Duration // when they were given
}

// Give gives a nonce. Where too many are out, none is given: who asks for them without using them gets no more.
func (n *Nonces) Give(now time.Duration) ([]byte, error) {
	for nonce, at := range n.out {
		if now-at > Validity {
			delete(n.out, nonce)
		}
	}
	if len(n.out) >= maxNonces {
		return nil, errors.New("too many requests have been announced, and not made")
	}
	if n.out == nil {
		n.out = map[[nonceSize]byte]time.Duration{}
	}
	var nonce [nonceSize]byte
	rand.Read(nonce[:])
	n.out[nonce] = now
	return nonce[:], nil
}

// use takes a nonce back.
func (n *Nonces) use(nonce []byte, now time.Duration) error {
	if len(nonce) != nonceSize {
		return errors.New("its nonce is none of this connection")
	}
	key := [nonceSize]byte(nonce)
	at, ok := n.out[key]
	delete(n.out, key)
	switch {
	case !ok:
		return errors.New("its nonce is none of this connection, or was used before")
	case now-at > Validity:
		return errors.New("it came later than 60 s after it was announced")
	}
	return nil
}
