package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Token lets a host ask to be taken in. What it may be called, and whether a person approves it, the server knows by its ID.
type Token struct {
	URL       string    `json:"url"`       // of the server: https://HOST:PORT
	Authority Digest    `json:"authority"` // of the CA's certificate, DER: it must be in the server's chain
	Secret    []byte    `json:"secret"`    // 16 bytes
	Expires   time.Time `json:"expires"`   // the server decides; the host can say why it is of no use
}

const (
	tokenPrefix = "tenet-join:"
	secretSize  = 16
	checkSize   = 4 // bytes of a digest, so that a text that was cut is not taken for another
	maxToken    = 4096
)

// NewToken makes a token with a fresh secret.
func NewToken(address string, authority Digest, expires time.Time) (*Token, error) {
	t := &Token{URL: address, Authority: authority, Secret: make([]byte, secretSize), Expires: expires.UTC().Truncate(time.Second)}
	rand.Read(t.Secret)
	return t, t.check()
}

// ID names the token without giving it away.
func (t *Token) ID() Digest { return DigestOf(append([]byte("tenet/1 token\x00"), t.Secret...)) }

// check says why a token is of no use.
func (t *Token) check() error {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("the address of a server is https://HOST:PORT, and not %.200q", t.URL)
	case len(t.Secret) != secretSize || t.Authority.IsZero():
		return errors.New("the token has no secret, or does not name the server's CA")
	}
	return nil
}

// String gives the token as one word. It is a secret.
func (t *Token) String() string {
	data, err := json.Marshal(t)
	if err != nil { // a year beyond 9999
		panic(err)
	}
	sum := sha256.Sum256(data)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(sum[:checkSize], data...))
}

// ParseToken reads what String gives, with space around it. Errors never repeat it.
func ParseToken(text string) (*Token, error) {
	if len(text) > maxToken {
		return nil, errors.New("this is no token: it is too long")
	}
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	if !ok {
		return nil, fmt.Errorf("this is no token, which begins with %q", tokenPrefix)
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(data) < checkSize {
		return nil, errors.New("the token is damaged: it is one word, to be copied as a whole")
	}
	sum := sha256.Sum256(data[checkSize:])
	if string(sum[:checkSize]) != string(data[:checkSize]) {
		return nil, errors.New("the token is damaged: it is one word, to be copied as a whole")
	}
	t := &Token{}
	if err := json.Unmarshal(data[checkSize:], t); err != nil {
		return nil, errors.New("the token cannot be read: it is of another version of tenet")
	}
	return t, t.check()
}
