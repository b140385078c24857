package secrets

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"filippo.io/age"
	"golang.org/x/text/unicode/norm"

	"github.com/tenetcm/tenet/lang/diag"
)

// New makes an empty file that these may read; name is for messages.
func New(name string, to *Recipients) (*File, error) {
	f := &File{name: name}
	_, err := f.newKey(to)
	return f, err
}

// newKey gives the file a fresh key, and the header for it.
func (f *File) newKey(to *Recipients) (*age.X25519Identity, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	lines := []string{
		"# " + Format + `: one value a line, encrypted with age; "tenet secret" reads and writes it`,
		"@recipient = " + identity.Recipient().String(),
		"@readers = " + strings.Join(to.prints, " "),
	}
	groups, err := to.groups()
	if err != nil {
		return nil, err
	}
	var keys []keyLine
	for _, group := range groups {
		data, err := encrypt(identity.String(), group...)
		if err != nil {
			return nil, err
		}
		lines = append(lines, "@key = "+base64.StdEncoding.EncodeToString(data))
		keys = append(keys, keyLine{data: data})
	}
	f.recipient, f.readers, f.keys, f.head = identity.Recipient(), slices.Clone(to.prints), keys, lines
	return identity, nil
}

// Key opens the values of a file.
type Key struct {
	file     *File
	identity *age.X25519Identity
}

// Open gets the file's key with one of the identities, which are tried in turn.
func (f *File) Open(identities []Identity) (*Key, error) {
	var tried []string
	for _, id := range identities {
		for _, line := range f.keys {
			text, err := decrypt(line.data, id.identity, 1<<10)
			if unfit := new(age.NoIdentityMatchError); errors.As(err, &unfit) {
				continue
			}
			if err != nil {
				tried = append(tried, fmt.Sprintf("%s: %v", id.Name, err))
				continue
			}
			return f.keyOf(text, line.at)
		}
		if _, phrase := id.identity.(*passphraseIdentity); phrase {
			continue // there is none, unless it was asked for
		}
		if len(tried) == 0 || !strings.HasPrefix(tried[len(tried)-1], id.Name+": ") {
			tried = append(tried, id.Name+" is not among those who may read it")
		}
	}
	detail := "There is no key to try."
	if len(tried) > 0 {
		detail = strings.Join(tried, "; ") + "."
	}
	return nil, diag.Diagnostic{Severity: diag.Error, Summary: "no key here opens " + f.name, Detail: detail, Range: diag.Range{File: f.name},
		Hint: "give the file of a private key with --identity FILE or TENET_IDENTITY, or let one who can read it " +
			"add your public key to the recipients and run tenet secret rekey"}
}

// keyOf takes the decrypted key of the file.
func (f *File) keyOf(text string, at diag.Range) (*Key, error) {
	identity, err := age.ParseX25519Identity(strings.TrimSpace(text))
	if err != nil || f.recipient == nil || identity.Recipient().String() != f.recipient.String() {
		return nil, diag.Diagnostic{Severity: diag.Error, Summary: "@key is not the key of @recipient", Range: at,
			Detail: "What is set now would be encrypted for another key than the one that the readers have.",
			Hint:   "find out in the history of the repository who changed the header, and take the right one from there"}
	}
	return &Key{f, identity}, nil
}

// Value gives the value of a name; a *NotFound if there is none.
func (k *Key) Value(name string) (string, error) {
	l := k.file.line(name)
	if l == nil {
		return "", k.file.notFound(name)
	}
	if l.problem != nil {
		return "", *l.problem
	}
	text, err := decrypt(l.data, k.identity, maxName+1+MaxValue)
	hint := "take the line from the history of the repository, or set the value again with tenet secret set"
	if err != nil {
		return "", diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("the value of %s cannot be decrypted", name),
			Detail: "The line is damaged, or was encrypted for another key of the file, as before a rekey in another branch.",
			Hint:   hint, Range: l.at}
	}
	bound, value, ok := strings.Cut(text, "\x00")
	if !ok || bound != name {
		return "", diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("the line of %s holds the value of another name", name),
			Detail: "Somebody has renamed or exchanged lines by hand.", Hint: hint, Range: l.at}
	}
	return value, checkValue(name, value)
}

// Values gives all values by name.
func (k *Key) Values() (map[string]string, error) {
	values := map[string]string{}
	var list diag.List
	for _, name := range k.file.Names() {
		value, err := k.Value(name)
		list.Add(diag.From(err)...)
		values[name] = value
	}
	return values, list.Err()
}

// Rekey makes the file anew, with a fresh key for these readers: who is no
// longer among them reads nothing that is set from now on, though what they
// could read before must count as known to them. All lines change.
func (k *Key) Rekey(to *Recipients) (*File, error) {
	values, err := k.Values()
	if err != nil {
		return nil, err
	}
	made := &File{name: k.file.name, tail: k.file.tail}
	for _, l := range k.file.lines {
		made.lines = append(made.lines, valueLine{name: l.name, comments: l.comments})
	}
	if _, err := made.newKey(to); err != nil {
		return nil, err
	}
	for _, name := range k.file.Names() {
		if err := made.Set(name, values[name]); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func decrypt(data []byte, id age.Identity, limit int64) (string, error) {
	r, err := age.Decrypt(bytes.NewReader(data), id)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it is longer than %d bytes", limit)
	}
	return text.String(), err
}

// checkValue says what keeps a text from being a value.
func checkValue(name, value string) error {
	d := diag.Diagnostic{Severity: diag.Error, Hint: "encode it in base64"}
	switch {
	case len(value) > MaxValue:
		d.Summary = fmt.Sprintf("the value of %s is larger than %d MiB", name, MaxValue>>20)
		d.Hint = "keep large files elsewhere, and a key to them here"
	case !utf8.ValidString(value):
		d.Summary = fmt.Sprintf("the value of %s is no UTF-8 text", name)
	case !norm.NFC.IsNormalString(value):
		d.Summary = fmt.Sprintf("the value of %s is not in Unicode's normal form C, which values of the language are", name)
		d.Hint = "type its accented letters as single characters, or encode it in base64"
	default:
		return nil
	}
	return d
}

// NotFound says that a file has no value of a name.
type NotFound struct {
	Secret string   // as asked for
	File   string   // where it would be
	Others []string // names of others in the file, as one asks for them
}

// Error names the secret and the file.
func (e *NotFound) Error() string {
	return fmt.Sprintf("there is no secret %q in %s", e.Secret, e.File)
}

// Names lists the other secrets of the file.
func (e *NotFound) Names() []string { return e.Others }

func (f *File) notFound(name string) *NotFound {
	e := &NotFound{Secret: QualifiedName(f.name, name), File: f.name}
	for _, other := range f.Names() {
		e.Others = append(e.Others, QualifiedName(f.name, other))
	}
	return e
}
