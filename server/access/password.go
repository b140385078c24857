package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/limit"
	"golang.org/x/crypto/argon2"
)

// Cost says what it costs to try a password: the parameters of argon2id, RFC 9106.
type Cost struct {
	Time    uint32
	Memory  uint32 // KiB
	Threads uint8
}

// usualCost is the second recommendation of RFC 9106, for where memory is scarce.
func usualCost() Cost { return Cost{Time: 3, Memory: 64 << 10, Threads: 4} }

const (
	saltSize     = 16
	passwordSize = 32
	minPassword  = 12
	maxPassword  = 1024
)

// passwords hashes passwords, few at a time: each takes much memory.
type passwords struct {
	cost   Cost
	turns  *limit.Turns
	dummy  string
	derive func(c Cost, password string, salt []byte) []byte // replaced by tests, which count
}

func newPasswords(cost Cost) *passwords {
	p := &passwords{cost: cost, turns: limit.NewTurns(2), derive: Cost.key}
	// What nobody can give: names without a password are compared with it, so that they
	// take as long as others do.
	p.dummy = encodeHash(cost, make([]byte, saltSize), make([]byte, passwordSize))
	return p
}

// hash gives the text that is kept of a password.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	if n := utf8.RuneCountInString(password); n < minPassword || len(password) > maxPassword {
		return "", &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("the password is too short or too long: it takes %d characters, and at most %d bytes", minPassword, maxPassword),
			Hint: "take a few words that do not belong together"}
	}
	done, err := p.turns.Take(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	salt := make([]byte, saltSize)
	rand.Read(salt)
	return encodeHash(p.cost, salt, p.derive(p.cost, password, salt)), nil
}

// compare tells whether a password is the one of which a text was kept, and whether it is to be
// hashed anew, since it costs something else today. Without a text, which no password fits, it takes as long.
func (p *passwords) compare(ctx context.Context, password, kept string) (fits, outdated bool, err error) {
	none := kept == ""
	if none {
		kept = p.dummy
	}
	cost, salt, key, err := decodeHash(kept)
	if err != nil || len(password) > maxPassword {
		return false, false, err
	}
	done, err := p.turns.Take(ctx)
	if err != nil {
		return false, false, err
	}
	defer done()
	equal := subtle.ConstantTimeCompare(p.derive(cost, password, salt), key) == 1
	return equal && !none, cost != p.cost, nil
}

func (c Cost) key(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, c.Time, c.Memory, c.Threads, passwordSize)
}

// encodeHash writes the usual form, as other programs do.
func encodeHash(c Cost, salt, key []byte) string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.Memory, c.Time, c.Threads, b.EncodeToString(salt), b.EncodeToString(key))
}

func decodeHash(text string) (c Cost, salt, key []byte, err error) {
	bad := fmt.Errorf("what is kept of a password is damaged")
	var version int
	var rest string
	if _, err := fmt.Sscanf(text, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &c.Memory, &c.Time, &c.Threads, &rest); err != nil || version != argon2.Version {
		return c, nil, nil, bad
	}
	if c.Time == 0 || c.Threads == 0 || c.Memory > 4<<20 || c.Time > 100 {
		return c, nil, nil, bad
	}
	const saltText = 22 // in base64
	if len(rest) < saltText+1 || rest[saltText] != '$' {
		return c, nil, nil, bad
	}
	b := base64.RawStdEncoding
	salt, err = b.DecodeString(rest[:saltText])
	if err != nil {
		return c, nil, nil, bad
	}
	key, err = b.DecodeString(rest[saltText+1:])
	if err != nil || len(key) != passwordSize {
		return c, nil, nil, bad
	}
	return c, salt, key, nil
}

// newPassword makes one that nobody has to remember for long.
func newPassword() string {
	random := make([]byte, 18)
	rand.Read(random)
	return base64.RawURLEncoding.EncodeToString(random)
}
