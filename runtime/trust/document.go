package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verb is what a key may sign.
type Verb string

// The verbs of documents, assignments and releases. Those of requests are the operations that they ask for.
const (
	VerbTrust   Verb = "trust"   // the next document
	VerbAssign  Verb = "assign"  // what hosts are to be
	VerbRelease Verb = "release" // programs
)

// Document says whom the hosts of a server trust. Each has a number, and is signed under the one before it.
type Document struct {
	// Generation is raised by the recovery key alone. A document of a higher one replaces whatever was signed before, so that
	// a stolen key cannot keep the owner out by using up the numbers.
	Generation uint64    `json:"generation"` // from 1
	Number     uint64    `json:"number"`     // from 1 in each generation
	Issued     time.Time `json:"issued"`     // for people
	// Recovery is the key that replaces any. It is printed once, and kept offline.
	Recovery    PublicKey   `json:"recovery"`
	Authorities [][]byte    `json:"authorities"` // certificates of CAs, DER: of the server's address
	Keys        []Delegated `json:"keys"`
}

// Delegated is a key, and what it may sign.
type Delegated struct {
	Key   PublicKey `json:"key"`
	Name  string    `json:"name"` // for people: "server", or an operator's
	Verbs []Verb    `json:"verbs"`
}

// Limits of a document.
const (
	maxKeys        = 1000
	maxAuthorities = 16
	maxKeyName     = 200
)

// Check says why a document can be none.
func (d *Document) Check() error {
	if d.Generation == 0 || d.Number == 0 {
		return errors.New("its generation and its number begin at 1")
	}
	if d.Recovery.IsZero() {
		return errors.New("it names no recovery key")
	}
	if len(d.Keys) > maxKeys || len(d.Authorities) > maxAuthorities {
		return fmt.Errorf("it has more than %d keys or %d CAs", maxKeys, maxAuthorities)
	}
	seen := map[PublicKey]bool{d.Recovery: true}
	for _, k := range d.Keys {
		switch {
		case k.Key.IsZero() || k.Name == "" || len(k.Name) > maxKeyName || strings.ContainsFunc(k.Name, isControl):
			return fmt.Errorf("a key of it has no name, or one that cannot be printed: %.80q", k.Name)
		case len(k.Verbs) == 0:
			return fmt.Errorf("the key %q may sign nothing", k.Name)
		case k.Key == d.Recovery:
			return fmt.Errorf("the key %q is the recovery key, which signs nothing else", k.Name)
		case seen[k.Key]:
			return fmt.Errorf("the key %q stands there twice", k.Name)
		}
		seen[k.Key] = true
	}
	if len(d.KeysFor(VerbTrust)) == 0 {
		return errors.New("no key of it may sign the next one")
	}
	for _, der := range d.Authorities {
		if cert, err := x509.ParseCertificate(der); err != nil || !cert.IsCA {
			return errors.New("a certificate of it is none of a CA")
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }

// KeysFor lists the keys that may sign something.
func (d *Document) KeysFor(verb Verb) []PublicKey {
	var keys []PublicKey
	for _, k := range d.Keys {
		if slices.Contains(k.Verbs, verb) {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// Signer gives the key among those of a verb that has signed something; nil: none.
func (d *Document) Signer(s *Signed, verb Verb) *Delegated {
	for i, k := range d.Keys {
		if slices.Contains(k.Verbs, verb) && s.IsSignedBy(s.Kind, k.Key) {
			return &d.Keys[i]
		}
	}
	return nil
}
