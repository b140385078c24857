// Package sshkey reads public keys as OpenSSH writes them: a type, the key in
// base64, and a comment. See sshd(8). What is in the key, x/crypto/ssh reads; the line is
// taken apart here, since its ParseAuthorizedKey neither compares the type that stands
// before the key with that within, nor keeps the options as they are written.
package sshkey

import (
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Key is one public key.
type Key struct {
	Options string // of authorized_keys; empty: none
	Type    string
	Blob    string // base64
	Comment string
}

// String writes the key as one line.
func (k Key) String() string {
	words := []string{k.Options, k.Type, k.Blob, k.Comment}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Same reports whether both are one key, whatever is said about it.
func (k Key) Same(o Key) bool { return k.Type == o.Type && k.Blob == o.Blob }

// Types are the kinds of keys that OpenSSH takes today.
func Types() []string {
	return []string{
		"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
		"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
	}
}

// Parse reads a line: options, if there are any, type, key and comment. What it
// does not take for a key is an error.
func Parse(line string) (Key, error) {
	var k Key
	rest := strings.TrimSpace(line)
	if first, _, _ := cutSpace(rest); !slices.Contains(Types(), first) {
		end := optionsEnd(rest)
		k.Options, rest = rest[:end], strings.TrimLeft(rest[end:], " \t")
	}
	k.Type, rest, _ = cutSpace(rest)
	k.Blob, rest, _ = cutSpace(rest)
	k.Comment = strings.TrimSpace(rest)
	if k.Type == "" && k.Options != "" && !strings.ContainsAny(k.Options, "\",=") {
		return k, fmt.Errorf("%.60q is no public key", line)
	}
	if !slices.Contains(Types(), k.Type) {
		return k, fmt.Errorf("%.60q is no type of a public key (there are %s)", k.Type, strings.Join(Types(), ", "))
	}
	return k, check(k)
}

// cutSpace cuts at the first blanks.
func cutSpace(s string) (before, after string, found bool) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimLeft(s[i:], " \t"), true
}

// optionsEnd is where the options end: at the first blank that is not in quotes.
func optionsEnd(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
		case s[i] == '"':
			quoted = !quoted
		case (s[i] == ' ' || s[i] == '\t') && !quoted:
			return i
		}
	}
	return len(s)
}

// minRSA is how many bytes the modulus of an RSA key has at least, as OpenSSH wants it.
const minRSA = 128

// check holds the key to the form of its type.
func check(k Key) error {
	data, err := base64.StdEncoding.Strict().DecodeString(k.Blob)
	if err != nil {
		return fmt.Errorf("the %s key is not whole: it is no base64", k.Type)
	}
	key, err := ssh.ParsePublicKey(data)
	if err != nil {
		return fmt.Errorf("the %s key is not whole: %s", k.Type, strings.TrimPrefix(err.Error(), "ssh: "))
	}
	if key.Type() != k.Type {
		return fmt.Errorf("a key of type %s has another type within", k.Type)
	}
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && r.Size() < minRSA {
			return fmt.Errorf("the %s key has %d bits, which OpenSSH does not take any more", k.Type, r.N.BitLen())
		}
	}
	return nil
}
