package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Digest is the SHA-256 of a content.
type Digest [sha256.Size]byte

// DigestOf gives the digest of bytes.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

// String gives it in lower-case hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero tells whether there is none.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText writes it in lower-case hex.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads it. Upper case is refused: names of contents are compared as text, too.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) || !bytes.Equal(bytes.ToLower(text), text) {
		return errors.New("a digest is 64 lower-case hex digits")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Content names bytes that lie elsewhere.
type Content struct {
	SHA256 Digest `json:"sha256"`
	Size   int64  `json:"size"`
}
