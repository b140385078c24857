package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"

	"github.com/tenetcm/tenet/lang/diag"
)

// Identity is a private key, or several from one file, that may open files.
type Identity struct {
	Name     string // where it is from, for messages
	identity age.Identity
}

// UnusableIdentity stands for a key that cannot be used, where others are tried: that is
// said if none of them opens a file.
func UnusableIdentity(name string, why error) Identity { return Identity{name, unusableIdentity{why}} }

type unusableIdentity struct{ why error }

// Unwrap implements age.Identity.
func (b unusableIdentity) Unwrap([]*age.Stanza) ([]byte, error) { return nil, b.why }

// maxIdentity is the length in bytes that a file of private keys may have.
const maxIdentity = 1 << 20

// IdentityFile is the text of a file of private keys.
type IdentityFile struct {
	Name string // for messages
	Data []byte
	// Public is the public half of an SSH key, as in NAME.pub. It is needed only
	// for keys in the old PEM format that a passphrase protects.
	Public []byte
	// Passphrase is asked for the passphrase of the file when a secret needs it.
	// Nil: a file that has one is an error then.
	Passphrase func() (string, error)
}

// ParseIdentity reads a file of private keys: those of age, one a line, also
// encrypted with a passphrase by age itself; or an SSH key, ed25519 or RSA.
func ParseIdentity(f IdentityFile) (Identity, error) {
	id, err := f.parse()
	if err == nil {
		return Identity{f.Name, id}, nil
	}
	var d diag.Diagnostic
	if !errors.As(err, &d) {
		d.Summary, d.Detail = f.Name+" is no private key that can be used", err.Error()
	}
	d.Severity, d.Range = diag.Error, diag.Range{File: f.Name}
	if d.Hint == "" {
		d.Hint = "give a file of age-keygen, or an SSH key of type ed25519 or RSA"
	}
	return Identity{}, d
}

func (f *IdentityFile) parse() (age.Identity, error) {
	if len(f.Data) > maxIdentity {
		return nil, errors.New("the file is too long")
	}
	text := bytes.TrimSpace(f.Data)
	switch {
	case bytes.HasPrefix(f.Data, []byte(magic)):
		return &encryptedIdentity{data: f.Data, ask: f.ask}, nil
	case bytes.HasPrefix(text, []byte(armor.Header)):
		data, err := io.ReadAll(armor.NewReader(bytes.NewReader(f.Data)))
		if err != nil {
			return nil, errors.New("its armor is damaged")
		}
		return &encryptedIdentity{data: data, ask: f.ask}, nil
	case bytes.HasPrefix(text, []byte("-----BEGIN")):
		return f.ssh()
	case bytes.HasPrefix(text, []byte("age1")) || bytes.HasPrefix(text, []byte("ssh-")):
		return nil, diag.Diagnostic{Summary: f.Name + " is a public key", Hint: "give the file of the private one"}
	}
	return parseKeys(f.Data)
}

func (f *IdentityFile) ask() (string, error) {
	if f.Passphrase == nil {
		return "", errors.New("it is protected by a passphrase, and nobody can be asked for it")
	}
	return f.Passphrase()
}

// parseKeys reads age's own private keys. The library's errors hold none of the
// text.
func parseKeys(data []byte) (age.Identity, error) {
	list, err := age.ParseIdentities(bytes.NewReader(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))))
	if err != nil {
		return nil, err
	}
	return identities(list), nil
}

func (f *IdentityFile) ssh() (age.Identity, error) {
	id, err := agessh.ParseIdentity(f.Data)
	missing, protected := errors.AsType[*ssh.PassphraseMissingError](err)
	if !protected {
		return id, err
	}
	public := missing.PublicKey
	if public == nil {
		if public, _, _, _, err = ssh.ParseAuthorizedKey(f.Public); err != nil {
			return nil, diag.Diagnostic{Summary: f.Name + " has no public half that could be read",
				Detail: "It is in an old format, and protected by a passphrase.",
				Hint:   fmt.Sprintf("put the public key beside it, in %s.pub, or convert it with ssh-keygen -p -f %s", f.Name, f.Name)}
		}
	}
	return agessh.NewEncryptedSSHIdentity(public, f.Data, func() ([]byte, error) {
		text, err := f.ask()
		return []byte(text), err
	})
}

// identities are several private keys that are tried in turn.
type identities []age.Identity

// Unwrap implements age.Identity.
func (list identities) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, id := range list {
		key, err := id.Unwrap(stanzas)
		if !errors.Is(err, age.ErrIncorrectIdentity) {
			return key, err
		}
	}
	return nil, age.ErrIncorrectIdentity
}

// encryptedIdentity is a file of private keys that age has encrypted with a
// passphrase, which is asked for once.
type encryptedIdentity struct {
	data []byte
	ask  func() (string, error)
	list age.Identity
}

// Unwrap implements age.Identity.
func (e *encryptedIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		if s.Type == "scrypt" {
			return nil, age.ErrIncorrectIdentity // no key opens that
		}
	}
	if e.list == nil {
		text, err := decrypt(e.data, &passphraseIdentity{ask: e.ask}, maxIdentity)
		if unfit := new(age.NoIdentityMatchError); errors.As(err, &unfit) {
			return nil, errors.New("it is encrypted, and not with a passphrase")
		}
		if err != nil {
			return nil, err
		}
		if e.list, err = parseKeys([]byte(text)); err != nil {
			return nil, err
		}
	}
	return e.list.Unwrap(stanzas)
}

// PassphraseIdentity opens files that a passphrase may read. It asks when such a
// file is opened, once.
func PassphraseIdentity(ask func() (string, error)) Identity {
	return Identity{"the passphrase", &passphraseIdentity{ask: ask}}
}

type passphraseIdentity struct {
	ask  func() (string, error)
	text string
}

// Unwrap implements age.Identity.
func (p *passphraseIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 || stanzas[0].Type != "scrypt" {
		return nil, age.ErrIncorrectIdentity
	}
	text := p.text
	if text == "" {
		var err error
		if text, err = p.ask(); err != nil {
			return nil, err
		}
	}
	id, err := age.NewScryptIdentity(strings.TrimRight(text, "\r\n"))
	if err != nil {
		return nil, err
	}
	id.SetMaxWorkFactor(maxWorkFactor)
	key, err := id.Unwrap(stanzas)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, errors.New("the passphrase is wrong")
	}
	if err == nil {
		p.text = text
	}
	return key, err
}
