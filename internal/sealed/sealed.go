// Package sealed writes records whose content can be checked. What a run writes down is acted upon by later ones: a wrong byte in it must not make them
// change another path, or another way. So each JSON object, a line or a file, ends with a digest of all that is before it:
//
//	{"path":"/etc/motd","sum":"0123456789abcdef"}
//
// An object without one is believed, save where a reader says otherwise: a single wrong byte either is in what the digest is of, or spoils
// the digest and nothing else.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"strings"

	"github.com/tenetcm/tenet/internal/plainjson"
)

const (
	sumBegin  = `,"sum":"`
	sumEnd    = `"}`
	sumDigits = 16 // hex digits of the SHA-256
)

// Length is that of the end of an object, as End gives it.
const Length = len(sumBegin) + sumDigits + len(sumEnd)

// ErrDigest is that of an object whose digest is not right.
var ErrDigest = errors.New("its digest is not that of its content: it was changed by something other than tenet, or the disk is failing")

// End gives the end of an object, of which all that is before it was written to a SHA-256.
func End(h hash.Hash) string {
	return sumBegin + hex.EncodeToString(h.Sum(nil))[:sumDigits] + sumEnd
}

// IsEnd reports whether a text looks like the end of an object that has a digest.
func IsEnd(end string) bool {
	return strings.HasPrefix(end, sumBegin) && strings.HasSuffix(end, sumEnd)
}

// CheckEnd gives an error if the end of an object has a wrong digest.
func CheckEnd(h hash.Hash, end []byte) error {
	if End(h) != string(end) {
		return ErrDigest
	}
	return nil
}

// Marshal gives an object as a line with its digest.
func Marshal(object any) ([]byte, error) {
	line, err := plainjson.Marshal(object)
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("}"))
	digest := sha256.New()
	digest.Write(line)
	return append(append(line, End(digest)...), '\n'), nil
}

// Check reports whether an object, be it followed by a line's end, has a digest,
// and gives an error if that is wrong.
func Check(line []byte) (bool, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	before := len(line) - Length
	if before < 0 || !IsEnd(string(line[before:])) {
		return false, nil
	}
	digest := sha256.New()
	digest.Write(line[:before])
	return true, CheckEnd(digest, line[before:])
}

// Unmarshal decodes an object whose digest, if it has one, is right.
func Unmarshal(line []byte, v any) error {
	if _, err := Check(line); err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}
