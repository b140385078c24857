// Package signature signs packages by SSH keys, and tells whose signatures they have.
//
// What is signed is the digest of a package's archive, as a line of its own, in the format of OpenSSH (PROTOCOL.sshsig) and in the namespace
// "tenet-package": ssh-keygen -Y sign makes such signatures, too, and ssh-keygen -Y verify verifies them. A signature says that somebody stands for these
// files. It says neither under which name nor as which version they are to be used, which is what a lock file is for.
package signature

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/tenetcm/tenet/lang/diag"
)

// Namespace keeps signatures of packages apart from those of anything else that the same key signs.
const Namespace = "tenet-package"

const maxSignature = 64 << 10

// Message is what is signed of a package with a digest: the digest and a line feed.
func Message(digest string) []byte { return []byte(digest + "\n") }

// Sign signs a digest, and gives the signature as text ("-----BEGIN SSH SIGNATURE-----").
func Sign(digest string, signer ssh.Signer) ([]byte, error) {
	signature, err := sshsig.Sign(bytes.NewReader(Message(digest)), signer, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, fmt.Errorf("the package cannot be signed: %w", err)
	}
	return sshsig.Armor(signature), nil
}

// Signer is who has signed something.
type Signer struct {
	Principals  string // as the file of allowed signers names them
	Fingerprint string // "SHA256:…"
	Line        int    // in the file
}

// Find finds the line of a key by its fingerprint, which has to be allowed to sign in a namespace at a time; an empty namespace, and a zero time: in any, and at any.
func (s *Signers) Find(fingerprint, namespace string, at time.Time) (Signer, error) {
	var reasons []string
	for _, line := range s.lines {
		if ssh.FingerprintSHA256(line.key) != fingerprint {
			continue
		}
		if reason := line.refusalIn(namespace, at); reason != "" {
			reasons = append(reasons, fmt.Sprintf("%s:%d: %s", s.name, line.number, reason))
			continue
		}
		return Signer{Principals: line.principals, Fingerprint: fingerprint, Line: line.number}, nil
	}
	if len(reasons) > 0 {
		return Signer{}, refuse("", "%s may not sign: %s", fingerprint, strings.Join(reasons, "; "))
	}
	return Signer{}, refuse("where that is somebody to trust, add a line with the key", "%s does not name %s", s.name, fingerprint)
}

// Fingerprints are those of all keys, whatever each may sign, and when.
func (s *Signers) Fingerprints() map[string]bool {
	all := map[string]bool{}
	for _, l := range s.lines {
		all[ssh.FingerprintSHA256(l.key)] = true
	}
	return all
}

// Verify tells who has signed a digest, of those who were allowed to at a time.
func (s *Signers) Verify(digest string, text []byte, at time.Time) (Signer, error) {
	signature, err := parse(text)
	if err != nil {
		return Signer{}, err
	}
	fingerprint := ssh.FingerprintSHA256(signature.PublicKey)
	var reasons []string
	for _, line := range s.lines {
		if !bytes.Equal(line.key.Marshal(), signature.PublicKey.Marshal()) {
			continue
		}
		if reason := line.refusal(at); reason != "" {
			reasons = append(reasons, fmt.Sprintf("%s:%d: %s", s.name, line.number, reason))
			continue
		}
		if err := sshsig.Verify(bytes.NewReader(Message(digest)), signature, line.key, signature.HashAlgorithm, Namespace); err != nil {
			return Signer{}, refuse("", "the signature of %s (%s) does not fit %s: %v", line.principals, fingerprint, digest, err)
		}
		return Signer{Principals: line.principals, Fingerprint: fingerprint, Line: line.number}, nil
	}
	if len(reasons) > 0 {
		return Signer{}, refuse("", "it is signed by %s, which may not do so: %s", fingerprint, strings.Join(reasons, "; "))
	}
	return Signer{}, refuse("where that is somebody to trust, add a line with the key", "it is signed by %s, which %s does not name", fingerprint, s.name)
}

// VerifyAny tells who has signed a digest, by the first of several signatures that is one of an allowed signer.
func (s *Signers) VerifyAny(digest string, texts [][]byte, at time.Time) (Signer, error) {
	if len(texts) == 0 {
		return Signer{}, refuse("have one of those whom "+s.name+" names sign it: tenet push --sign KEY", "it is not signed")
	}
	var all []error
	for _, text := range texts {
		signer, err := s.Verify(digest, text, at)
		if err == nil {
			return signer, nil
		}
		all = append(all, err)
	}
	return Signer{}, errors.Join(all...)
}

// parse reads a signature in its armor.
func parse(text []byte) (*sshsig.Signature, error) {
	if len(text) > maxSignature {
		return nil, refuse("", "a signature has %d bytes at most, not %d", maxSignature, len(text))
	}
	signature, err := sshsig.Unarmor(text)
	if err != nil {
		return nil, refuse("", "a signature cannot be read: %v", err)
	}
	if signature.Namespace != Namespace {
		return nil, refuse("ssh-keygen -Y sign -n "+Namespace+" signs packages", "a signature is one of %q, not of %s", diag.Shorten(signature.Namespace), Namespace)
	}
	if err := checkKey(signature.PublicKey); err != nil {
		return nil, refuse("", "a signature is by a key that is not taken: %v", err)
	}
	return signature, nil
}

// refuse makes an error about a signature.
func refuse(hint, format string, args ...any) error {
	return &diag.HintError{Code: "signature", Message: diag.Shorten(fmt.Sprintf(format, args...)), Hint: hint}
}
