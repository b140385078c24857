package signature_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/tenetcm/tenet/packages/signature"
)

const (
	digest = "sha256:0000000000000000000000000000000000000000000000000000000000000007"
	other  = "sha256:0000000000000000000000000000000000000000000000000000000000000008"
)

var errNobody = errors.New("nobody is there")

func now() time.Time { return time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC) }

func newKey(t testing.TB) (ed25519.PrivateKey, ssh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return private, signer, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

func parse(t testing.TB, text string) *signature.Signers {
	t.Helper()
	signers, err := signature.ParseSigners("signers", []byte(text), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return signers
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func assertError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// Whoever signs is known again, and only by what was signed.
func TestSignAndVerify(t *testing.T) {
	_, signer, public := newKey(t)
	_, _, stranger := newKey(t)
	text, err := signature.Sign(digest, signer)
	if err != nil {
		t.Fatal(err)
	}
	signers := parse(t, "# who may\n\nbob@example "+stranger+"\n alice@example,*@web.example "+public+" a comment\r\n")
	got, err := signers.Verify(digest, text, now())
	want := signature.Signer{Principals: "alice@example,*@web.example", Fingerprint: ssh.FingerprintSHA256(signer.PublicKey()), Line: 4}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	_, err = signers.Verify(other, text, now())
	assertError(t, err, "does not fit "+other)
	_, err = parse(t, "bob@example "+stranger).Verify(digest, text, now())
	assertError(t, err, "it is signed by "+want.Fingerprint+", which signers does not name")
	_, err = parse(t, "").Verify(digest, text, now())
	assertError(t, err, "which signers does not name")
}

// What ssh-keygen -Y sign has written is taken, of each kind of key.
func TestSignaturesOfOpenSSH(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		signers := parse(t, kind+`@example namespaces="git,tenet-*" `+string(read(t, kind+".pub")))
		if signer, err := signers.Verify(digest, read(t, kind+".sig"), now()); err != nil || signer.Principals != kind+"@example" {
			t.Errorf("%s: %+v, %v", kind, signer, err)
		}
		_, err := signers.Verify(other, read(t, kind+".sig"), now())
		assertError(t, err, "does not fit")
	}
	signers := parse(t, "alice "+string(read(t, "ed25519.pub")))
	_, err := signers.Verify(digest, read(t, "other-namespace.sig"), now())
	assertError(t, err, `a signature is one of "file", not of tenet-package`)
	_, err = signers.Verify(digest, read(t, "certificate.sig"), now())
	assertError(t, err, "certificates are not supported")
}

// A line says for what and when its key counts.
func TestOptions(t *testing.T) {
	_, signer, public := newKey(t)
	text, err := signature.Sign(digest, signer)
	if err != nil {
		t.Fatal(err)
	}
	for options, want := range map[string]string{
		"":                              "",
		`namespaces="tenet-package"`:    "",
		`NAMESPACES="file,tenet-*"`:     "",
		`namespaces="file"`:             "the key is for file, not for tenet-package",
		`namespaces="*,!tenet-package"`: "the key is for *,!tenet-package",
		`namespaces="tenet-packag?"`:    "",
		`namespaces="tenet"`:            "the key is for tenet",
		`valid-after="20260615"`:        "",
		`valid-after="202606151200Z"`:   "",
		`valid-after="20260615120001Z"`: "the key is not valid yet, before 2026-06-15T12:00:01Z",
		`valid-before="202606151200"`:   "",
		`valid-before="20260615"`:       "the key is not valid any more, after 2026-06-15T00:00:00Z",
		`valid-after="20260101",valid-before="20261231",namespaces="tenet-package"`: "",
	} {
		_, err := parse(t, "alice "+options+" "+public).Verify(digest, text, now())
		if want == "" && err != nil {
			t.Errorf("%s: %v", options, err)
		} else if want != "" {
			assertError(t, err, "signers:1: "+want)
		}
	}
	// A key may have several lines: one that counts is enough.
	signers := parse(t, `alice valid-before="20200101" `+public+"\nalice "+public)
	if signer, err := signers.Verify(digest, text, now()); err != nil || signer.Line != 2 {
		t.Errorf("%+v, %v", signer, err)
	}
}

// Times without a Z are those of a zone.
func TestZone(t *testing.T) {
	_, signer, public := newKey(t)
	text, err := signature.Sign(digest, signer)
	if err != nil {
		t.Fatal(err)
	}
	for zone, valid := range map[*time.Location]bool{time.FixedZone("east", 3600): true, time.FixedZone("west", -3600): false} {
		signers, err := signature.ParseSigners("signers", []byte(`alice valid-after="202606151230" `+public), zone)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := signers.Verify(digest, text, now()); (err == nil) != valid {
			t.Errorf("%s: %v", zone, err)
		}
	}
}

// All mistakes of a file are told, with their lines; none of its lines counts then.
func TestMistakes(t *testing.T) {
	_, _, public := newKey(t)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	weakKey, err := ssh.NewPublicKey(&weak.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"alice":                          "the public key is missing",
		"alice ssh-ed25519":              "the public key is missing",
		"alice ssh-ed25519 !":            "the key is no base64",
		"alice ssh-ed25519 AAAA":         "the key cannot be read",
		"alice ssh-rsa " + public[12:]:   "the key is of the type ssh-ed25519, not ssh-rsa",
		"alice cert-authority " + public: "cert-authority is not supported",
		"alice cert-authority,namespaces=\"file\" " + public: "cert-authority is not supported",
		"alice no-touch-required " + public:                  `there is no option "no-touch-required"`,
		"alice namespaces=file " + public:                    "its value has to be in double quotes",
		"alice namespaces=\"\" " + public:                    "namespaces are missing",
		"alice namespaces=\"a\",namespaces=\"b\" " + public:  "namespaces stands there twice",
		"alice namespaces=\"a\"namespaces=\"b\" " + public:   "a comma is missing",
		"alice namespaces=\"a\", " + public:                  "the options end with a comma",
		"alice namespaces=\"a " + public:                     "a double quote is not closed",
		"alice valid-after=\"2026\" " + public:               `"2026" is no time`,
		"alice valid-before=\"20261399\" " + public:          `"20261399" is no time`,
		`"" ` + public: "it names nobody",
		"alice " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(weakKey))): "the RSA key has 1024 bits",
	} {
		_, err := signature.ParseSigners("signers", []byte("bob "+public+"\n"+line+"\nbob\n"), nil)
		assertError(t, err, "signers:2")
		assertError(t, err, want)
		assertError(t, err, "signers:3")
	}
	_, err = signature.ParseSigners("signers", make([]byte, signature.MaxSigners+1), nil)
	assertError(t, err, "more than 1048576 bytes")
}

func TestVerifyAny(t *testing.T) {
	_, alice, public := newKey(t)
	_, mallory, _ := newKey(t)
	good, err := signature.Sign(digest, alice)
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := signature.Sign(digest, mallory)
	if err != nil {
		t.Fatal(err)
	}
	signers := parse(t, "alice "+public)
	if signer, err := signers.VerifyAny(digest, [][]byte{[]byte("nonsense"), unknown, good}, now()); err != nil || signer.Principals != "alice" {
		t.Errorf("%+v, %v", signer, err)
	}
	_, err = signers.VerifyAny(digest, [][]byte{[]byte("nonsense"), unknown}, now())
	assertError(t, err, "a signature cannot be read")
	assertError(t, err, "which signers does not name")
	_, err = signers.VerifyAny(digest, nil, now())
	assertError(t, err, "it is not signed")
}

// A key may lie in a file, with a passphrase or without, or with an agent.
func TestKeys(t *testing.T) {
	private, _, public := newKey(t)
	sign := func(k signature.Key) error {
		got, err := k.Signer()
		if err != nil {
			return err
		}
		text, err := signature.Sign(digest, got)
		if err != nil {
			return err
		}
		_, err = parse(t, "alice "+string(ssh.MarshalAuthorizedKey(got.PublicKey()))).Verify(digest, text, now())
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "alice")
	if err != nil {
		t.Fatal(err)
	}
	data := pem.EncodeToMemory(block)
	if err := sign(signature.Key{Name: "key", Data: data}); err != nil {
		t.Error(err)
	}
	block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "alice", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	data = pem.EncodeToMemory(block)
	if err := sign(signature.Key{Name: "key", Data: data, Passphrase: func() (string, error) { return "secret", nil }}); err != nil {
		t.Error(err)
	}
	assertError(t, sign(signature.Key{Name: "key", Data: data, Passphrase: func() (string, error) { return "wrong", nil }}), "key: ")
	assertError(t, sign(signature.Key{Name: "key", Data: data, Passphrase: func() (string, error) { return "", errNobody }}), "nobody is there")
	assertError(t, sign(signature.Key{Name: "key", Data: data}), "nobody can be asked for it")
	assertError(t, sign(signature.Key{Name: "key", Data: []byte("text")}), "key: ")

	ring := agent.NewKeyring()
	with := signature.Key{Name: "key.pub", Data: []byte(public + " alice"), Agent: func() (agent.Agent, error) { return ring, nil }}
	assertError(t, sign(with), "the agent does not have the private one")
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	if err := sign(with); err != nil {
		t.Error(err)
	}
	assertError(t, sign(signature.Key{Name: "key.pub", Data: []byte(public)}), "there is no agent")
	assertError(t, sign(signature.Key{Name: "key.pub", Data: []byte(public), Agent: func() (agent.Agent, error) { return nil, errNobody }}), "the agent cannot be asked: nobody is there")
}

// No signature counts that was not made of the digest by a key of the file, whatever it looks like.
func FuzzVerify(f *testing.F) {
	for _, name := range []string{"ed25519.sig", "ecdsa.sig", "rsa.sig", "other-namespace.sig", "certificate.sig"} {
		f.Add(read(f, name))
	}
	signers := parse(f, "a "+string(read(f, "ed25519.pub"))+"b "+string(read(f, "ecdsa.pub"))+"c "+string(read(f, "rsa.pub")))
	f.Fuzz(func(t *testing.T, text []byte) {
		if signer, err := signers.Verify(other, text, now()); err == nil {
			t.Errorf("%+v has not signed that", signer)
		}
	})
}

// A line that counts has a key, and says nothing that was not understood.
func FuzzParseSigners(f *testing.F) {
	key := string(read(f, "ed25519.pub"))
	f.Add("alice " + key)
	f.Add(`"a b" namespaces="a\"b",valid-after="20260101Z" ` + key)
	f.Add("* cert-authority " + key)
	text := read(f, "ed25519.sig")
	f.Fuzz(func(t *testing.T, data string) {
		signers, err := signature.ParseSigners("signers", []byte(data), time.UTC)
		if err != nil {
			return
		}
		signer, err := signers.Verify(digest, text, now())
		if err == nil && (!strings.Contains(data, strings.Fields(key)[1]) || signer.Principals == "") {
			t.Errorf("%q: %+v", data, signer)
		}
	})
}
