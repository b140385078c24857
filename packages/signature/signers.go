package signature

import (
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/tenetcm/tenet/lang/diag"
)

// Signers are those who may sign packages, as a file says in the format of OpenSSH: see "ALLOWED SIGNERS" in ssh-keygen(1). It may be the same file by
// which Git verifies commits. Certificates are not supported.
type Signers struct {
	name  string
	lines []line
}

// line is one line of the file.
type line struct {
	number                  int
	principals              string
	namespaces              string // a list of patterns; empty: any
	validAfter, validBefore time.Time
	key                     ssh.PublicKey
}

// MaxSigners is how many bytes a file of allowed signers has at most.
const MaxSigners = 1 << 20

// ParseSigners reads a file of allowed signers, whose name is for messages. Times without a Z are those of a zone; nil: of this machine, as for OpenSSH.
func ParseSigners(name string, data []byte, zone *time.Location) (*Signers, error) {
	if zone == nil {
		zone = time.Local
	}
	if len(data) > MaxSigners {
		return nil, refuse("", "%s has more than %d bytes", name, MaxSigners)
	}
	signers := &Signers{name: name}
	var list diag.List
	for i, text := range strings.Split(string(data), "\n") {
		text = strings.Trim(text, " \t\r")
		if text == "" || text[0] == '#' {
			continue
		}
		l, err := parseLine(text, zone)
		if err != nil {
			list.Add(diag.Diagnose(err, diag.Range{File: name, Start: diag.Pos{Line: i + 1, Column: 1}}))
			continue
		}
		l.number = i + 1
		signers.lines = append(signers.lines, l)
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	return signers, nil
}

func parseLine(text string, zone *time.Location) (line, error) {
	var l line
	principals, rest, err := cutWord(text)
	if err != nil {
		return l, err
	}
	if l.principals = strings.Trim(principals, `"`); l.principals == "" {
		return l, errors.New("it names nobody")
	}
	word, after, err := cutWord(rest)
	if err != nil {
		return l, err
	}
	if !isKeyType(word) && after != "" {
		if err := l.parseOptions(word, zone); err != nil {
			return l, err
		}
		rest = after
	}
	l.key, err = parseKey(rest)
	return l, err
}

// cutWord cuts at the first blank outside of double quotes.
func cutWord(text string) (word, rest string, err error) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted && i+1 < len(text) && text[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t') && !quoted:
			return text[:i], strings.TrimLeft(text[i:], " \t"), nil
		}
	}
	if quoted {
		return "", "", errors.New("a double quote is not closed")
	}
	return text, "", nil
}

func (l *line) parseOptions(text string, zone *time.Location) error {
	for text != "" {
		name := text
		if end := strings.IndexAny(text, "=,"); end >= 0 {
			name = text[:end]
		}
		text = text[len(name):]
		value, rest, err := cutValue(text)
		if err != nil {
			return fmt.Errorf("%.60s: %w", name, err)
		}
		if err := l.setOption(strings.ToLower(name), value, zone); err != nil {
			return err
		}
		if rest != "" && rest[0] != ',' {
			return fmt.Errorf("a comma is missing behind %.60s", name)
		}
		if text = strings.TrimPrefix(rest, ","); rest == "," {
			return errors.New("the options end with a comma")
		}
	}
	return nil
}

// cutValue cuts the value of an option in its quotes.
func cutValue(text string) (value, rest string, err error) {
	text, ok := strings.CutPrefix(text, "=")
	if !ok {
		return "", text, nil
	}
	if !strings.HasPrefix(text, `"`) {
		return "", "", errors.New("its value has to be in double quotes")
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case text[i] == '"':
			return strings.ReplaceAll(text[1:i], `\"`, `"`), text[i+1:], nil
		}
	}
	return "", "", errors.New("a double quote is not closed")
}

func (l *line) setOption(name, value string, zone *time.Location) (err error) {
	once := func(former bool) error {
		if former {
			return fmt.Errorf("%s stands there twice", name)
		}
		return nil
	}
	switch name {
	case "namespaces":
		if value == "" {
			return errors.New("namespaces are missing: namespaces=\"" + Namespace + "\"")
		}
		err, l.namespaces = once(l.namespaces != ""), value
		return err
	case "valid-after":
		if err := once(!l.validAfter.IsZero()); err != nil {
			return err
		}
		l.validAfter, err = parseTime(value, zone)
		return err
	case "valid-before":
		if err := once(!l.validBefore.IsZero()); err != nil {
			return err
		}
		l.validBefore, err = parseTime(value, zone)
		return err
	case "cert-authority":
		return &diag.HintError{Message: "cert-authority is not supported: packages are signed by keys, not by certificates", Hint: "name each key that may sign packages by itself, in a file of its own"}
	}
	return &diag.HintError{Message: fmt.Sprintf("there is no option %.60q", name), Hint: "there are namespaces, valid-after and valid-before"}
}

func parseTime(text string, zone *time.Location) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	if utc {
		zone = time.UTC
	}
	if layout := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(digits)]; layout != "" {
		if t, err := time.ParseInLocation(layout, digits, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is no time: YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with Z for UTC", text)
}

// refusal says why a line's key may not sign a package at a time; empty: it may.
func (l *line) refusal(at time.Time) string { return l.refusalIn(Namespace, at) }

// refusalIn tells why a key may not sign in a namespace at a time; empty: it may.
func (l *line) refusalIn(namespace string, at time.Time) string {
	switch {
	case namespace != "" && l.namespaces != "" && !matchList(namespace, l.namespaces):
		return "the key is for " + l.namespaces + ", not for " + namespace
	case !at.IsZero() && !l.validAfter.IsZero() && at.Before(l.validAfter):
		return "the key is not valid yet, before " + l.validAfter.Format(time.RFC3339)
	case !at.IsZero() && !l.validBefore.IsZero() && at.After(l.validBefore):
		return "the key is not valid any more, after " + l.validBefore.Format(time.RFC3339)
	}
	return ""
}

func keyTypes() []string {
	return []string{
		"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
		"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
	}
}

func isKeyType(word string) bool {
	return slices.Contains(keyTypes(), word) || strings.HasSuffix(word, "-cert-v01@openssh.com") || word == "ssh-dss"
}

// parseKey reads a type and a key in base64; a comment may follow.
func parseKey(text string) (ssh.PublicKey, error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return nil, errors.New("the public key is missing: a type, and the key in base64")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(words[1])
	if err != nil {
		return nil, fmt.Errorf("the key is no base64: %w", err)
	}
	key, err := ssh.ParsePublicKey(data)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	if key.Type() != words[0] {
		return nil, fmt.Errorf("the key is of the type %s, not %.60s", key.Type(), words[0])
	}
	return key, checkKey(key)
}

// minRSA is how many bits an RSA key has at least.
const minRSA = 2048

// checkKey refuses keys that are weak or no keys.
func checkKey(key ssh.PublicKey) error {
	if strings.Contains(key.Type(), "-cert-v") {
		return errors.New("certificates are not supported: packages are signed by keys")
	}
	if !slices.Contains(keyTypes(), key.Type()) {
		return fmt.Errorf("a key of the type %s is not taken: there are %s", key.Type(), strings.Join(keyTypes(), ", "))
	}
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < minRSA {
			return fmt.Errorf("the RSA key has %d bits, and %d are needed", r.N.BitLen(), minRSA)
		}
	}
	return nil
}

// matchList reports whether a list of patterns matches a text, as OpenSSH has it: at least one does, and none with ! before it.
func matchList(text, list string) bool {
	matched := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, negated := strings.CutPrefix(strings.TrimSpace(pattern), "!")
		if match(text, pattern) {
			if negated {
				return false
			}
			matched = true
		}
	}
	return matched
}

// match reports whether a pattern with * and ? matches a text.
func match(text, pattern string) bool {
	// After a *, the rest is tried further on in the text; only the last * has to be gone back to.
	t, p, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			t, p = t+1, p+1
		case star >= 0:
			mark++
			t, p = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
