package trust

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Kind says what a signature is for.
type Kind string

// The kinds of what is signed, and who signs it.
const (
	KindHostKeys   Kind = "host-keys"  // a host: its other keys
	KindSuccession Kind = "succession" // a host: the identity that follows, signed by both
	KindProof      Kind = "proof"      // a host: that it is the one who asks
	KindReport     Kind = "report"     // a host: its facts, for who evaluates elsewhere than on the server
	KindOutputs    Kind = "outputs"    // a host: what it gives to other hosts of a site, likewise
	KindDocument   Kind = "trust"      // whom to trust
	KindAssignment Kind = "assignment" // who evaluates: what a host is to be
	KindRequest    Kind = "request"    // who asks: what a host is to do now
	KindRelease    Kind = "release"    // who releases: a program
	KindChannel    Kind = "channel"    // a host: the key of a connection to it
)

// maxContent bounds the bytes of a content: what is larger is named in it by its digest.
const maxContent = 4 << 20

// maxSignatures bounds how many signatures one content has.
const maxSignatures = 16

// Signed is a content with its signatures.
type Signed struct {
	Kind       Kind        `json:"kind"`
	Content    []byte      `json:"content"` // JSON
	Signatures []Signature `json:"signatures"`
}

// Signature is that of one key.
type Signature struct {
	Key       ID     `json:"key"`
	Signature []byte `json:"signature"` // Ed25519
}

// message is what is signed.
func message(kind Kind, content []byte) []byte {
	return slices.Concat([]byte("tenet/1 "), []byte(kind), []byte{0}, content)
}

// Sign writes a content as JSON, and signs it by each of the keys.
func Sign(kind Kind, content any, keys ...PrivateKey) (*Signed, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if len(data) > maxContent {
		return nil, fmt.Errorf("a signed %s has at most %d bytes, and this one has %d", kind, maxContent, len(data))
	}
	s := &Signed{Kind: kind, Content: data}
	for _, k := range keys {
		s.Signatures = append(s.Signatures, Signature{Key: k.ID(), Signature: k.sign(kind, data)})
	}
	return s, nil
}

// SignatureError says why what is signed is not accepted.
type SignatureError struct {
	Kind  Kind
	Why   string
	Cause Cause // empty: none that a person could do something about
}

// Cause says in a word why something that is signed is not accepted, though nobody need have forged it.
type Cause string

// The causes.
const (
	CauseSigner  Cause = "signer"  // no key that may, as far as is known, has signed it
	CauseClock   Cause = "clock"   // it is too late, by the clock of who accepts it
	CauseSealing Cause = "sealing" // it is encrypted to another key
)

// Error says why.
func (e *SignatureError) Error() string {
	return fmt.Sprintf("the %s is not accepted: %s", e.Kind, e.Why)
}

func refuse(kind Kind, format string, args ...any) error {
	return &SignatureError{Kind: kind, Why: fmt.Sprintf(format, args...)}
}

// refuseFor is refuse with a cause.
func refuseFor(cause Cause, kind Kind, format string, args ...any) error {
	return &SignatureError{Kind: kind, Why: fmt.Sprintf(format, args...), Cause: cause}
}

// IsSignedBy tells whether a key has signed it, as something of this kind.
func (s *Signed) IsSignedBy(kind Kind, key PublicKey) bool {
	if len(s.Signatures) > maxSignatures {
		return false
	}
	id := key.ID()
	return slices.ContainsFunc(s.Signatures, func(sig Signature) bool {
		return sig.Key == id && len(sig.Signature) == ed25519.SignatureSize && ed25519.Verify(key[:], message(kind, s.Content), sig.Signature)
	})
}

// Open gives the content of what one of the keys has signed as something of this kind. The content may have fields that
// are not known here, which a later version of the same format has added.
func Open[T any](s *Signed, kind Kind, keys ...PublicKey) (*T, error) {
	if !slices.ContainsFunc(keys, func(k PublicKey) bool { return s.IsSignedBy(kind, k) }) {
		if s.Kind != kind {
			return nil, refuse(kind, "it is signed as %.40q", string(s.Kind))
		}
		return nil, refuse(kind, "none of the keys that may sign it has signed it")
	}
	return peek[T](s, kind)
}

// peek gives the content, whoever has signed it: for what tells itself by which key it is to be verified.
func peek[T any](s *Signed, kind Kind) (*T, error) {
	if s.Kind != kind {
		return nil, refuse(kind, "it is signed as %.40q", string(s.Kind))
	}
	if len(s.Content) > maxContent {
		return nil, refuse(kind, "it has more than %d bytes", maxContent)
	}
	content := new(T)
	d := json.NewDecoder(bytes.NewReader(s.Content))
	if err := d.Decode(content); err != nil {
		return nil, refuse(kind, "its content cannot be read: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(kind, "there is more than one value in it")
	}
	return content, nil
}
