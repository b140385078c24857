package trust

import (
	"errors"
	"fmt"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"
)

// HostKeys are the keys of a host, which its identity certifies. All were made there, and their private halves never leave it.
type HostKeys struct {
	Identity   PublicKey `json:"identity"`
	Connection string    `json:"connection"` // a public user nkey: it signs the broker's nonces and nothing else
	Sealing    string    `json:"sealing"`    // a recipient of age, X25519: secrets are encrypted to it
	Number     uint64    `json:"number"`     // grows with each change
	Issued     time.Time `json:"issued"`     // by the host's clock, for people
}

// Check says why keys cannot be those of a host.
func (k *HostKeys) Check() error {
	if k.Identity.IsZero() || k.Number == 0 {
		return errors.New("the keys of a host have an identity and a number")
	}
	if !nkeys.IsValidPublicUserKey(k.Connection) {
		return fmt.Errorf("%.80q is no connection key of a host", k.Connection)
	}
	if _, err := age.ParseX25519Recipient(k.Sealing); err != nil {
		return fmt.Errorf("%.80q is no sealing key of a host", k.Sealing)
	}
	return nil
}

// OpenHostKeys gives the keys that an identity certifies, whichever it is: whether that identity is known decides who asks.
// Held are those that are known until now; nil: none. Older ones, and those of another identity, are refused.
func OpenHostKeys(s *Signed, held *HostKeys) (*HostKeys, error) {
	stated, err := peek[HostKeys](s, KindHostKeys)
	if err != nil {
		return nil, err
	}
	keys, err := Open[HostKeys](s, KindHostKeys, stated.Identity)
	if err != nil {
		return nil, err
	}
	if err := keys.Check(); err != nil {
		return nil, refuse(KindHostKeys, "%v", err)
	}
	switch {
	case held == nil:
	case held.Identity != keys.Identity:
		return nil, refuse(KindHostKeys, "it is of the host %s, not of %s", keys.Identity.ID().Short(), held.Identity.ID().Short())
	case keys.Number < held.Number:
		return nil, refuse(KindHostKeys, "number %d is older than %d, which is known", keys.Number, held.Number)
	case keys.Number == held.Number && (keys.Connection != held.Connection || keys.Sealing != held.Sealing):
		return nil, refuse(KindHostKeys, "there are two of number %d that differ", keys.Number)
	}
	return keys, nil
}

// Succession says that another identity follows a host's. Both have signed it.
type Succession struct {
	From   PublicKey `json:"from"`
	To     PublicKey `json:"to"`
	Issued time.Time `json:"issued"`
}

// SignSuccession has an identity name the one that follows.
func SignSuccession(from, to PrivateKey, now time.Time) (*Signed, error) {
	return Sign(KindSuccession, &Succession{From: from.Public(), To: to.Public(), Issued: now.UTC()}, from, to)
}

// OpenSuccession gives the identity that follows one.
func OpenSuccession(s *Signed, from PublicKey) (PublicKey, error) {
	next, err := Open[Succession](s, KindSuccession, from)
	if err != nil {
		return PublicKey{}, err
	}
	if next.From != from || next.To == from || !s.IsSignedBy(KindSuccession, next.To) {
		return PublicKey{}, refuse(KindSuccession, "it is not signed by both identities")
	}
	return next.To, nil
}
