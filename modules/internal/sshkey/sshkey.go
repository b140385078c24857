// Package sshkey reads public keys as OpenSSH writes them: a type, the key in
// base64, and a comment. See sshd(8), and RFC 4253, 5656 and 8709 for what is in
// the key.
package sshkey

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
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

// check holds the key to the form of its type.
func check(k Key) error {
	data, err := base64.StdEncoding.Strict().DecodeString(k.Blob)
	switch {
	case err != nil:
		return fmt.Errorf("the %s key is not whole: it is no base64", k.Type)
	case len(data) == 0:
		return fmt.Errorf("the %s key is not whole", k.Type)
	}
	var fields [][]byte
	for len(data) > 0 {
		if len(data) < 4 || uint64(binary.BigEndian.Uint32(data)) > uint64(len(data)-4) {
			return fmt.Errorf("the %s key is not whole", k.Type)
		}
		n := binary.BigEndian.Uint32(data)
		fields = append(fields, data[4:4+n])
		data = data[4+n:]
	}
	if string(fields[0]) != k.Type {
		return fmt.Errorf("a key of type %s has another type within", k.Type)
	}
	if !fits(k.Type, fields[1:]) {
		return fmt.Errorf("the %s key is not whole", k.Type)
	}
	return nil
}

// fits knows what each type holds.
func fits(kind string, fields [][]byte) bool {
	sizes := make([]int, len(fields))
	for i, f := range fields {
		sizes[i] = len(f)
	}
	points := map[string]int{"nistp256": 65, "nistp384": 97, "nistp521": 133}
	switch {
	case kind == "ssh-ed25519":
		return slices.Equal(sizes, []int{32})
	case kind == "sk-ssh-ed25519@openssh.com":
		return len(sizes) == 2 && sizes[0] == 32
	case kind == "ssh-rsa":
		return len(sizes) == 2 && sizes[0] > 0 && sizes[1] >= 128
	case kind == "sk-ecdsa-sha2-nistp256@openssh.com":
		return len(sizes) == 3 && string(fields[0]) == "nistp256" && sizes[1] == points["nistp256"]
	}
	return len(sizes) == 2 && "ecdsa-sha2-"+string(fields[0]) == kind && sizes[1] == points[string(fields[0])]
}
