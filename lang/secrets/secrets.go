// Package secrets keeps secret values in text files that can stand in a
// repository: names are readable, values are encrypted with age
// (age-encryption.org), and each value has a line of its own, which stays as it
// is, byte by byte, until its value is set anew.
//
// A file looks like this:
//
//	# tenet.secrets/1: one value a line, encrypted with age; "tenet secret" reads and writes it
//	@recipient = age1…
//	@readers = 5a1c0d3b9e8f7261 passphrase
//	@key = BASE64
//	@key = BASE64
//	NAME = BASE64
//
// The file has an X25519 key of its own. Its public half is @recipient: each
// value is an age file to it, so that who sets a value needs no private key. Its
// private half is an age file in @key, to the keys of all who may read; there is
// a second one for a passphrase, which age does not mix with keys. So a
// passphrase costs its second once for all values, and adding a value changes
// one line. @readers names those for whom @key was made, by fingerprints.
//
// The text that is encrypted for a value is its name, a NUL, and the value: so a
// line that stands under another name does not pass for that one's value.
//
// The package reads and writes texts and nothing else: it opens no file but
// through the fs.FS of a Store, asks nobody and prints nothing.
package secrets

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/diag"
)

// Format is the version of the files, at the beginning of their first line.
const Format = "tenet.secrets/1"

const (
	// MaxValue is the length in bytes that a value may have.
	MaxValue = 1 << 20
	// MaxFile is the length in bytes that a file may have.
	MaxFile = 64 << 20
	maxName = 200
)

// magic begins every age file.
const magic = "age-encryption.org/v1\n"

// File is a file of secrets: its names, and its values encrypted.
type File struct {
	name      string // for messages
	recipient *age.X25519Recipient
	readers   []string
	keys      []keyLine
	head      []string // the lines of the header as they are
	lines     []valueLine
	tail      []string // what stands behind the last value
}

// keyLine is the file's private key, encrypted.
type keyLine struct {
	data []byte
	at   diag.Range
}

// valueLine is the line of one value.
type valueLine struct {
	name     string
	comments []string // what stands before it: comments, and lines that nobody can read
	text     string   // the line itself
	data     []byte
	at       diag.Range
	problem  *diag.Diagnostic
}

// ValidName reports whether a text can name a secret within a file: letters,
// digits, "_" and "-", not beginning with a digit or "-".
func ValidName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// Locate gives the file, from the root of a site, and the name within it that a
// secret has: "db" is db in secrets.age, "prod/db" is db in secrets/prod.age.
func Locate(secret string) (file, name string, err error) {
	dir, name, deep := strings.Cut(secret, "/")
	if !deep {
		dir, name = "", secret
	}
	switch {
	case !ValidName(name) || deep && !ValidName(dir):
		return "", "", diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("%s is no name of a secret", quote(secret)),
			Hint: `write NAME for one in secrets.age, FILE/NAME for one in secrets/FILE.age; names are of letters, digits, "_" and "-"`}
	case deep:
		return "secrets/" + dir + ".age", name, nil
	}
	return "secrets.age", name, nil
}

// QualifiedName is the inverse of Locate.
func QualifiedName(file, name string) string {
	if file == "secrets.age" {
		return name
	}
	return strings.TrimSuffix(path.Base(file), ".age") + "/" + name
}

// quote writes a text of unknown origin for a message, not more than a little.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Names lists the names of all values, sorted, also of those that cannot be
// read.
func (f *File) Names() []string {
	var names []string
	for _, l := range f.lines {
		names = append(names, l.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Has reports whether there is a value of that name.
func (f *File) Has(name string) bool { return f.line(name) != nil }

// Place is where the value of that name stands; the zero Range if nowhere.
func (f *File) Place(name string) diag.Range {
	if l := f.line(name); l != nil {
		return l.at
	}
	return diag.Range{}
}

// EncryptedLine is the line of a value, which changes whenever the value is set; ""
// if there is none.
func (f *File) EncryptedLine(name string) string {
	if l := f.line(name); l != nil {
		return l.text
	}
	return ""
}

func (f *File) line(name string) *valueLine {
	if i := slices.IndexFunc(f.lines, func(l valueLine) bool { return l.name == name }); i >= 0 {
		return &f.lines[i]
	}
	return nil
}

// Set encrypts a value, and puts it in the place of the former one. No private
// key is needed.
func (f *File) Set(name, value string) error {
	if !ValidName(name) {
		return diag.Diagnostic{Severity: diag.Error, Summary: quote(name) + " is no name of a secret",
			Hint: `names are of letters, digits, "_" and "-"`}
	}
	if err := checkValue(name, value); err != nil {
		return err
	}
	if f.recipient == nil {
		return diag.Diagnostic{Severity: diag.Error, Summary: f.name + " has no @recipient to encrypt to", Range: diag.Range{File: f.name},
			Hint: "take the file's header from the history of the repository"}
	}
	data, err := encrypt(name+"\x00"+value, f.recipient)
	if err != nil {
		return fmt.Errorf("encrypting %s: %w", name, err)
	}
	made := valueLine{name: name, text: name + " = " + base64.StdEncoding.EncodeToString(data), data: data}
	f.replace(name, &made)
	return nil
}

// Remove drops a value.
func (f *File) Remove(name string) { f.replace(name, nil) }

// replace puts a line in the place of all of its name.
func (f *File) replace(name string, by *valueLine) {
	var kept []valueLine
	var before []string
	for _, l := range f.lines {
		if l.name != name {
			kept = append(kept, l)
			continue
		}
		before = append(before, l.comments...)
	}
	if by != nil {
		by.comments = before
		kept = append(kept, *by)
	} else {
		// What was said about it goes with it, what nobody can read does not.
		f.tail = append(slices.DeleteFunc(before, isComment), f.tail...)
	}
	slices.SortStableFunc(kept, func(a, b valueLine) int { return strings.Compare(a.name, b.name) })
	f.lines = kept
}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

// Bytes gives the text of the file.
func (f *File) Bytes() []byte {
	var out bytes.Buffer
	write := func(lines ...string) {
		for _, l := range lines {
			out.WriteString(l + "\n")
		}
	}
	write(f.head...)
	for _, l := range f.lines {
		write(l.comments...)
		write(l.text)
	}
	write(f.tail...)
	return out.Bytes()
}

func encrypt(text string, to ...age.Recipient) ([]byte, error) {
	return encryptBytes([]byte(text), to...)
}

func encryptBytes(data []byte, to ...age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
