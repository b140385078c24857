package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Secrets of sessions and of programs begin so, that scanners find those that were published.
const (
	sessionPrefix = "tenet_s_"
	programPrefix = "tenet_p_"
	secretSize    = 32
)

// newSecret makes a secret, the digest that is kept of it, and the id by which people name it.
// The secret is random, so that one digest without salt is enough.
func newSecret(prefix string) (secret string, digest []byte, id string) {
	random := make([]byte, secretSize+8)
	rand.Read(random)
	secret = prefix + base64.RawURLEncoding.EncodeToString(random[:secretSize])
	return secret, digestOf(secret), hex.EncodeToString(random[secretSize:])
}

func digestOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// isSecret tells whether a text has the form of a secret: nothing else is looked up.
func isSecret(text, prefix string) bool {
	body, ok := strings.CutPrefix(text, prefix)
	raw, err := base64.RawURLEncoding.DecodeString(body)
	return ok && err == nil && len(raw) == secretSize
}
