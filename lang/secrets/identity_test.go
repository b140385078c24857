package secrets_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"

	"github.com/tenetcm/tenet/lang/secrets"
)

// sshKey gives the line of the public key, and the file of the private one.
func sshKey(t *testing.T, key crypto.Signer, passphrase string) (public string, private []byte) {
	t.Helper()
	k, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "ada@example.test")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "ada@example.test", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) + " ada@example.test", pem.EncodeToMemory(block)
}

func asked(text string, times *int) func() (string, error) {
	return func() (string, error) {
		*times++
		return text, nil
	}
}

// protect writes an identity file that a passphrase opens.
func protect(t *testing.T, identity *age.X25519Identity, passphrase string, armored bool) []byte {
	t.Helper()
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	to.SetWorkFactor(10)
	var out bytes.Buffer
	var dst io.Writer = &out
	done := func() error { return nil }
	if armored {
		a := armor.NewWriter(&out)
		dst, done = a, a.Close
	}
	w, err := age.Encrypt(dst, to)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write([]byte("# a comment\n" + identity.String() + "\n"))
	if err = errors.Join(err, w.Close(), done()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestIdentities(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	native, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edPrivate := sshKey(t, ed, "")
	_, edProtected := sshKey(t, ed, "sesame")
	rsaPublic, rsaPrivate := sshKey(t, r, "")
	agePublic := native.Recipient().String()
	tests := map[string]struct {
		public  string
		private []byte
		asks    bool
	}{
		"age":           {agePublic, []byte(native.String()), false},
		"age protected": {agePublic, protect(t, native, "sesame", false), true},
		"age armored":   {agePublic, protect(t, native, "sesame", true), true},
		"ed25519":       {edPublic, edPrivate, false},
		"ed25519 asks":  {edPublic, edProtected, true},
		"rsa":           {rsaPublic, rsaPrivate, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFile(t, recipients(t, tt.public), map[string]string{"db": "hunter2", "mail": "x"})
			other := newFile(t, recipients(t, newReader(t, "other").public), map[string]string{"db": "x"})
			times := 0
			id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: name, Data: tt.private, Passphrase: asked("sesame", &times)})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := value(t, f, "db", id); got != "hunter2" {
					t.Errorf("read %q", got)
				}
			}
			if _, err := other.Open([]secrets.Identity{id}); err == nil {
				t.Error("it opens another's file")
			}
			if want := map[bool]int{true: 1}[tt.asks]; times != want {
				t.Errorf("asked %d times", times)
			}
			if !tt.asks {
				return
			}
			for why, ask := range map[string]func() (string, error){
				"wrong":                  asked("open", &times),
				"nobody can be asked":    nil,
				"there is no terminal":   func() (string, error) { return "", errors.New("there is no terminal") },
				"passphrase can't be em": asked("", &times),
			} {
				id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: name, Data: tt.private, Passphrase: ask})
				if err == nil {
					_, err = f.Open([]secrets.Identity{id})
				}
				if err == nil || !strings.Contains(err.Error(), name+": ") && !strings.Contains(err.Error(), why) {
					t.Errorf("%s: %v", why, err)
				}
			}
		})
	}
}

func TestPassphrase(t *testing.T) {
	ada := newReader(t, "ada")
	to := recipients(t, ada.public, "passphrase")
	to.WorkFactor = 10
	if _, err := secrets.New("secrets.age", to); err == nil {
		t.Error("nobody was asked for a passphrase")
	}
	times := 0
	to.Passphrase = asked("sesame", &times)
	f := newFile(t, to, map[string]string{"db": "hunter2", "mail": "x"})
	if times != 1 {
		t.Errorf("asked %d times", times)
	}
	if strings.Count(string(f.Bytes()), "\n@key = ") != 2 {
		t.Error("want a key for keys and one for the passphrase")
	}
	f = parse(t, string(f.Bytes()))
	times = 0
	phrase := secrets.PassphraseIdentity(asked("sesame", &times))
	if got := value(t, f, "db", ada.id, phrase); got != "hunter2" || times != 0 {
		t.Errorf("read %q, asked %d times though there is a key", got, times)
	}
	for range 2 {
		if got := value(t, f, "db", newReader(t, "eve").id, phrase); got != "hunter2" || times != 1 {
			t.Errorf("read %q, asked %d times", got, times)
		}
	}
	_, err := f.Open([]secrets.Identity{secrets.PassphraseIdentity(asked("open", &times))})
	if err == nil || !strings.Contains(err.Error(), "the passphrase is wrong") {
		t.Error(err)
	}
}

// Who says nothing about the work gets what makes guessing dear.
func TestPassphraseIsStrong(t *testing.T) {
	to := recipients(t, "passphrase")
	times := 0
	to.Passphrase = asked("sesame", &times)
	_, key, _ := strings.Cut(string(newFile(t, to, nil).Bytes()), "@key = ")
	header, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
	if err != nil || !regexp.MustCompile(`\n-> scrypt \S+ 18\n`).Match(header) {
		t.Errorf("%q, %v", header, err)
	}
}

// A file cannot make its reader compute for hours.
func TestWorkIsBounded(t *testing.T) {
	to := recipients(t, "passphrase")
	times := 0
	to.WorkFactor, to.Passphrase = 10, asked("sesame", &times)
	f := newFile(t, to, nil)
	text := string(f.Bytes())
	i := strings.Index(text, "@key = ") + len("@key = ")
	f, list := secrets.Parse("secrets.age", []byte(text[:i]+rescrypt(t, text[i:], 30)+"\n"))
	if len(list) > 0 {
		t.Fatal(list)
	}
	_, err := f.Open([]secrets.Identity{secrets.PassphraseIdentity(asked("sesame", &times))})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}

func TestRecipientErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "names nobody",
		"# nobody\n":                "names nobody",
		"ada":                       "1:1: the line is no recipient",
		"passphrase\nage1ada":       "2:1: the line is no recipient",
		"ssh-dss AAAA":              "the line is no recipient",
		"ecdsa-sha2-nistp256 AAAA":  "the line is no recipient",
		"age1pq1xyz":                "post-quantum",
		"AGE-SECRET-KEY-1HUNTER2":   "a private key stands among the recipients",
		"-----BEGIN PRIVATE KEY---": "a private key stands",
	} {
		_, list := secrets.ParseRecipients("secrets.recipients", []byte(text))
		if got := list.Error(); !strings.Contains(got, want) || strings.Contains(got, "HUNTER2") {
			t.Errorf("%q: %s", text, got)
		}
	}
	ada := newReader(t, "ada")
	r, list := secrets.ParseRecipients("r", []byte(ada.public+"\r\n"+ada.public+"\n"))
	if len(list) > 0 || r.Len() != 1 {
		t.Errorf("%d recipients, %v", r.Len(), list)
	}
}

func TestIdentityErrors(t *testing.T) {
	ada := newReader(t, "ada")
	for text, want := range map[string]string{
		"":                             "no private key that can be used",
		"AGE-SECRET-KEY-1HUNTER2":      "no private key that can be used",
		"hunter2":                      "no private key that can be used",
		ada.public:                     "is a public key",
		"ssh-ed25519 AAAA ada":         "is a public key",
		"-----BEGIN X-----\nhunter2\n": "no private key that can be used",
		"-----BEGIN AGE ENCRYPTED FILE-----\nhunter2": "its armor is damaged",
		strings.Repeat("x", 1<<20+1):                  "too long",
	} {
		_, err := secrets.ParseIdentity(secrets.IdentityFile{Name: "key", Data: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(strings.ToLower(err.Error()), "hunter2") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}
