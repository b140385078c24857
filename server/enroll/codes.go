package enroll

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/tenetcm/tenet/server/authority"
)

// codes are nonces and tickets: what the server recognises later as its own, without having kept it. A standby with the same keys recognises them, too.
type codes struct{ nonces, tickets []byte }

func newCodes(a *authority.Authority) (c codes, err error) {
	if c.nonces, err = a.Secret("nonces of agents"); err != nil {
		return c, err
	}
	c.tickets, err = a.Secret("tickets for contents")
	return c, err
}

const codeSize = 16

// makeCode makes a code that counts until a time, for something.
func makeCode(key []byte, until time.Time, about string) string {
	at := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(at, codeSum(key, at, about)...))
}

func codeSum(key, at []byte, about string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(at)
	h.Write([]byte(about))
	return h.Sum(nil)[:codeSize]
}

// holds tells whether a code is the server's own, for this, and still counts.
func holds(key []byte, code string, now time.Time, about string) bool {
	data, err := base64.RawURLEncoding.Strict().DecodeString(code)
	if err != nil || len(data) != 8+codeSize {
		return false
	}
	at := data[:8]
	return hmac.Equal(data[8:], codeSum(key, at, about)) && now.Unix() < int64(binary.BigEndian.Uint64(at))
}
