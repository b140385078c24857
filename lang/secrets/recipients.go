package secrets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"

	"github.com/tenetcm/tenet/lang/diag"
)

// Recipients are those who may read a file.
type Recipients struct {
	// Passphrase is asked for a new passphrase when a file's key is made, if
	// the word passphrase stands among the recipients.
	Passphrase func() (string, error)
	// WorkFactor is the base-2 logarithm of the cost of a passphrase; 0: 18,
	// about a second.
	WorkFactor int

	name       string
	keys       []age.Recipient
	prints     []string // fingerprints, sorted
	passphrase bool
}

// passphraseWord stands among recipients, and their fingerprints, for a
// passphrase.
const passphraseWord = "passphrase"

// maxWorkFactor bounds what a file can make its reader compute: 1 GiB, some
// seconds.
const maxWorkFactor = 20

// ParseRecipients reads a file of recipients: one a line, age1…, ssh-ed25519 …,
// ssh-rsa … or the word passphrase; empty lines and # comments count for
// nothing. All that is wrong is in the list.
func ParseRecipients(name string, data []byte) (*Recipients, diag.List) {
	r := &Recipients{name: name}
	var list diag.List
	offset := 0
	for i, line := range strings.Split(string(data), "\n") {
		text := strings.TrimSpace(line)
		at := diag.Range{File: name,
			Start: diag.Pos{Line: i + 1, Column: 1, Byte: offset}, End: diag.Pos{Line: i + 1, Column: 1, Byte: offset}}
		offset += len(line) + 1
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := r.add(text); err != nil {
			err.Severity, err.Range = diag.Error, at
			list.Add(*err)
		}
	}
	slices.Sort(r.prints)
	r.prints = slices.Compact(r.prints)
	if len(r.prints) == 0 && !list.HasErrors() {
		list.Add(diag.Diagnostic{Summary: name + " names nobody", Range: diag.Range{File: name},
			Hint: "write the public keys of all who may read the secrets, one a line: age1…, ssh-ed25519 … or ssh-rsa …"})
	}
	return r, list
}

func (r *Recipients) add(text string) *diag.Diagnostic {
	if text == passphraseWord {
		r.passphrase = true
		r.prints = append(r.prints, passphraseWord)
		return nil
	}
	var recipient age.Recipient
	var err error
	key := text
	switch {
	case strings.HasPrefix(text, "AGE-") || strings.Contains(text, "PRIVATE KEY"):
		return &diag.Diagnostic{Summary: "a private key stands among the recipients",
			Hint: "remove it, and make a new one if others have seen this file; recipients are public keys: age-keygen -y FILE shows it"}
	case strings.HasPrefix(text, "age1pq1"):
		return &diag.Diagnostic{Summary: "post-quantum recipients are not supported", Hint: "make a key with age-keygen without -pq"}
	case strings.HasPrefix(text, "age1"):
		recipient, err = age.ParseX25519Recipient(text)
	case strings.HasPrefix(text, "ssh-") || strings.Contains(text, " ssh-"):
		recipient, err = agessh.ParseRecipient(text)
		if fields := strings.Fields(text[strings.Index(text, "ssh-"):]); err == nil && len(fields) > 1 {
			key = fields[0] + " " + fields[1] // without the comment
		}
	default:
		err = fmt.Errorf("unknown")
	}
	if err != nil { // whose text may show what nobody should see
		return &diag.Diagnostic{Summary: "the line is no recipient",
			Hint: "recipients are age1… (age-keygen makes them), ssh-ed25519 … or ssh-rsa … of 2048 bits and more (as in ~/.ssh/id_ed25519.pub), or the word passphrase"}
	}
	sum := sha256.Sum256([]byte(key))
	if print := hex.EncodeToString(sum[:8]); !slices.Contains(r.prints, print) {
		r.keys, r.prints = append(r.keys, recipient), append(r.prints, print)
	}
	return nil
}

// Len says how many recipients there are.
func (r *Recipients) Len() int { return len(r.prints) }

// groups gives those that can be recipients of one age file.
func (r *Recipients) groups() ([][]age.Recipient, error) {
	var groups [][]age.Recipient
	if len(r.keys) > 0 {
		groups = append(groups, r.keys)
	}
	if r.passphrase {
		if r.Passphrase == nil {
			return nil, fmt.Errorf("%s asks for a passphrase, and nobody can be asked for it", r.name)
		}
		text, err := r.Passphrase()
		if err != nil {
			return nil, err
		}
		recipient, err := age.NewScryptRecipient(text)
		if err != nil {
			return nil, err
		}
		if r.WorkFactor != 0 {
			recipient.SetWorkFactor(r.WorkFactor)
		}
		groups = append(groups, []age.Recipient{recipient})
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("there are no recipients")
	}
	return groups, nil
}

// Differ compares the readers that the file's key was made for with the
// recipients: how many of these cannot read it yet, and how many can read it who
// are no longer recipients.
func (f *File) Differ(r *Recipients) (added, removed int) {
	for _, print := range r.prints {
		if !slices.Contains(f.readers, print) {
			added++
		}
	}
	for _, print := range f.readers {
		if !slices.Contains(r.prints, print) {
			removed++
		}
	}
	return added, removed
}
