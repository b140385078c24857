package knownhost

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/sshkey"
)

// entry is one line of known hosts; see sshd(8), SSH_KNOWN_HOSTS FILE FORMAT.
type entry struct {
	list  string // the names as they stand there
	names []string
	key   sshkey.Key // without its comment
}

// parse reads a line. Comments, and lines with a marker such as @revoked, are none.
func parse(line string) (entry, bool) {
	if line == "" || strings.ContainsAny(line[:1], "#@ \t") {
		return entry{}, false
	}
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return entry{}, false
	}
	key, err := sshkey.Parse(line[i:])
	if err != nil || key.Options != "" {
		return entry{}, false
	}
	key.Comment = ""
	return entry{line[:i], strings.Split(line[:i], ","), key}, true
}

const hashMark = "|1|"

func (e entry) isHashed() bool { return strings.HasPrefix(e.list, hashMark) }

// knows reports whether the line is about a host: it stands there as it is, or its
// HMAC-SHA1 does, with the salt as the key. The package knownhosts, which makes such
// names, compares them with a connection's address alone.
func (e entry) knows(name string) bool {
	if !e.isHashed() {
		return slices.Contains(e.names, name)
	}
	salt, sum, ok := strings.Cut(strings.TrimPrefix(e.list, hashMark), "|")
	if !ok {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(salt)
	if err != nil {
		return false
	}
	want, err := base64.StdEncoding.DecodeString(sum)
	if err != nil {
		return false
	}
	mac := hmac.New(sha1.New, key)
	mac.Write([]byte(name))
	return hmac.Equal(mac.Sum(nil), want)
}
