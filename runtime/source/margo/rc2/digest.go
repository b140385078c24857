package rc2

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest names content by its bytes: "sha256:" and 64 hex digits, all lower case.
type Digest string

const digestPrefix = "sha256:"

// DigestOf gives the digest of exactly these bytes.
func DigestOf(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// Hex gives the digits alone.
func (d Digest) Hex() string { return string(d[min(len(digestPrefix), len(d)):]) }

// Verify tells where bytes are not those that a digest names.
func (d Digest) Verify(what string, data []byte) error {
	if is := DigestOf(data); is != d {
		return fmt.Errorf("%s has the digest %s; %s was announced", what, is, d)
	}
	return nil
}
