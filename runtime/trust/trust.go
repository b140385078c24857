// Package trust holds the keys of hosts, servers and people, and what they sign.
//
// All that is signed is a Signed: its kind, the exact bytes of its content, and signatures over
// "tenet/1 KIND\0" followed by these bytes. A signature for one kind is therefore none for another,
// and nobody has to agree on a canonical form of JSON. The values here are plain data; whoever uses
// them stores and sends them.
package trust

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ID names the owner of a key: the SHA-256 of its public key, in lower-case base32 without padding. It fits
// into names of files and into subjects of brokers.
type ID string

func idEncoding() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// idLength is the length of an ID: 32 bytes in base32.
const idLength = 52

// Check says why a text can be no ID. It is asked for each message of a host, so nothing is decoded for it.
func (id ID) Check() error {
	ok := len(id) == idLength
	for i := 0; ok && i < len(id); i++ {
		ok = id[i] >= 'a' && id[i] <= 'z' || id[i] >= '2' && id[i] <= '7'
	}
	// An encoding has spare bits in its last letter, here four: two texts for one digest must not be two names.
	if !ok || id[idLength-1] != 'a' && id[idLength-1] != 'q' {
		return fmt.Errorf("%.80q cannot be the id of a key: it has %d letters a to z and digits 2 to 7", string(id), idLength)
	}
	return nil
}

// UnmarshalText reads an ID, and refuses what can be none.
func (id *ID) UnmarshalText(text []byte) error {
	read := ID(text)
	if err := read.Check(); err != nil {
		return err
	}
	*id = read
	return nil
}

// Short is the beginning of an ID, for people.
func (id ID) Short() string { return string(id[:min(len(id), 12)]) }

// PublicKey is the key by which signatures are verified: Ed25519, RFC 8032.
type PublicKey [ed25519.PublicKeySize]byte

// publicPrefix begins the text of a public key, so that no other base64 is taken for one.
const publicPrefix = "tenet-key:"

// ID names the key's owner.
func (k PublicKey) ID() ID {
	sum := sha256.Sum256(append([]byte("tenet/1 key\x00"), k[:]...))
	return ID(idEncoding().EncodeToString(sum[:]))
}

// String gives the key as text.
func (k PublicKey) String() string { return publicPrefix + base64.RawURLEncoding.EncodeToString(k[:]) }

// IsZero tells whether there is no key.
func (k PublicKey) IsZero() bool { return k == PublicKey{} }

// MarshalText writes the key as text.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (k *PublicKey) UnmarshalText(text []byte) error {
	encoded, ok := strings.CutPrefix(string(text), publicPrefix)
	data, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(data) != len(k) {
		return fmt.Errorf("%.80q is no public key: it is %s and 43 letters and digits", text, publicPrefix)
	}
	copy(k[:], data)
	return nil
}

// PrivateKey signs. Its zero value is no key.
type PrivateKey struct{ key ed25519.PrivateKey }

// GenerateKey makes a key from the system's randomness.
func GenerateKey() (PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	return PrivateKey{key}, err
}

// Public gives the key by which its signatures are verified.
func (k PrivateKey) Public() PublicKey { return PublicKey(k.key.Public().(ed25519.PublicKey)) }

// ID names the key's owner.
func (k PrivateKey) ID() ID { return k.Public().ID() }

// sign signs a message of a kind.
func (k PrivateKey) sign(kind Kind, content []byte) []byte {
	return ed25519.Sign(k.key, message(kind, content))
}

const privateBlock = "PRIVATE KEY" // PKCS #8, RFC 5958

// PEM gives the key as a PEM block with PKCS #8, as openssl reads it. It is a secret.
func (k PrivateKey) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
}

// ParsePrivateKey reads what PEM gives, or "openssl genpkey -algorithm ed25519". Errors never repeat the data.
func ParsePrivateKey(data []byte) (PrivateKey, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != privateBlock || len(strings.TrimSpace(string(rest))) > 0 {
		return PrivateKey{}, errors.New("this is no file of one private key: it has one PEM block " + privateBlock)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return PrivateKey{}, errors.New("the private key cannot be read: it is no PKCS #8")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return PrivateKey{}, errors.New("the private key is not one of Ed25519")
	}
	return PrivateKey{key}, nil
}
