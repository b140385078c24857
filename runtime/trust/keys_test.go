package trust

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPrivateKeyIsKept(t *testing.T) {
	key := newKey(t)
	data, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParsePrivateKey(data)
	if err != nil || again.Public() != key.Public() {
		t.Fatalf("%v", err)
	}
	for name, damaged := range map[string]string{
		"empty": "", "cut": string(data[:len(data)/2]), "two": string(data) + string(data),
		"public": strings.ReplaceAll(string(data), "PRIVATE", "PUBLIC"),
		"rsa":    "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
	} {
		_, err := ParsePrivateKey([]byte(damaged))
		wantError(t, err, "private key")
		if err != nil && len(damaged) > 60 && strings.Contains(err.Error(), damaged[40:60]) {
			t.Errorf("%s: the error repeats the key: %v", name, err)
		}
	}
}

func TestTextsOfKeys(t *testing.T) {
	key := newKey(t).Public()
	data, err := json.Marshal(struct {
		Key PublicKey `json:"key"`
		ID  ID        `json:"id"`
	}{key, key.ID()})
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Key PublicKey `json:"key"`
		ID  ID        `json:"id"`
	}
	if err := json.Unmarshal(data, &read); err != nil || read.Key != key || read.ID != key.ID() {
		t.Fatalf("%s: %v", data, err)
	}
	id := string(key.ID())
	for _, wrong := range []string{"", "x", strings.ToUpper(id), id + "a", id[:51], id[:51] + "9", id[:51] + "b", "../" + id[3:], id[:50] + ">*"} {
		if (&read.ID).UnmarshalText([]byte(wrong)) == nil && wrong != id {
			t.Errorf("%q is taken for an id", wrong)
		}
	}
	for _, wrong := range []string{"", "tenet-key:", key.String() + "A", key.String()[:52], strings.TrimPrefix(key.String(), publicPrefix)} {
		if (&read.Key).UnmarshalText([]byte(wrong)) == nil {
			t.Errorf("%q is taken for a public key", wrong)
		}
	}
}

// An ID has one text, and no two keys share one.
func TestIDHasOneText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := PublicKey(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key")).ID()
		if err := id.Check(); err != nil {
			t.Fatal(err)
		}
		other := []byte(id)
		i := rapid.IntRange(0, len(other)-1).Draw(t, "place")
		other[i] = rapid.Byte().Draw(t, "byte")
		sum, err := idEncoding().DecodeString(string(other))
		if is := err == nil && len(sum) == 32 && idEncoding().EncodeToString(sum) == string(other); is != (ID(other).Check() == nil) {
			t.Fatalf("%q is an ID: %v", other, is)
		}
		if string(other) == string(id) || ID(other).Check() != nil {
			return
		}
		was, _ := idEncoding().DecodeString(string(id))
		is, _ := idEncoding().DecodeString(string(other))
		if string(was) == string(is) {
			t.Fatalf("%s and %s are one", id, other)
		}
	})
}

func TestHostKeys(t *testing.T) {
	identity, stranger := newKey(t), newKey(t)
	first := hostKeys(t, identity, 1)
	for name, c := range map[string]struct {
		keys    *HostKeys
		by      PrivateKey
		held    *HostKeys
		pattern string
	}{
		"first":              {first, identity, nil, ""},
		"again":              {first, identity, first, ""},
		"changed":            {hostKeys(t, identity, 2), identity, first, ""},
		"by a stranger":      {first, stranger, nil, "none of the keys"},
		"of a stranger":      {hostKeys(t, stranger, 2), stranger, first, "of the host"},
		"older":              {first, identity, hostKeys(t, identity, 2), "older"},
		"two of one number":  {hostKeys(t, identity, 1), identity, first, "differ"},
		"without number":     {hostKeys(t, identity, 0), identity, nil, "number"},
		"without connection": {&HostKeys{Identity: identity.Public(), Number: 1, Sealing: first.Sealing}, identity, nil, "connection key"},
		"without sealing":    {&HostKeys{Identity: identity.Public(), Number: 1, Connection: first.Connection}, identity, nil, "sealing key"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OpenHostKeys(signed(t, KindHostKeys, c.keys, c.by), c.held)
			wantError(t, err, c.pattern)
			if err == nil && *got != *c.keys {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestSuccession(t *testing.T) {
	from, to, thief := newKey(t), newKey(t), newKey(t)
	s, err := SignSuccession(from, to, noon)
	if err != nil {
		t.Fatal(err)
	}
	if next, err := OpenSuccession(s, from.Public()); err != nil || next != to.Public() {
		t.Errorf("%v, %v", next, err)
	}
	_, err = OpenSuccession(s, thief.Public())
	wantError(t, err, "none of the keys")

	content := &Succession{From: from.Public(), To: to.Public(), Issued: noon}
	_, err = OpenSuccession(signed(t, KindSuccession, content, from), from.Public())
	wantError(t, err, "both")
	_, err = OpenSuccession(signed(t, KindSuccession, content, to), from.Public())
	wantError(t, err, "none of the keys")
	_, err = OpenSuccession(signed(t, KindSuccession, content, thief, to), from.Public())
	wantError(t, err, "none of the keys")
	self, err := SignSuccession(from, from, noon)
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenSuccession(self, from.Public())
	wantError(t, err, "both")
}

func TestToken(t *testing.T) {
	token, err := NewToken("https://tenet.example:7443", DigestOf([]byte("CA")), noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	text := token.String()
	read, err := ParseToken("\n " + text + "\n")
	if err != nil || read.ID() != token.ID() || read.URL != token.URL || !read.Expires.Equal(token.Expires) || read.Authority != token.Authority {
		t.Fatalf("%v, %v", read, err)
	}
	for i := range len(text) { // cut off, or with a letter missing
		other := "x"
		if text[i] == 'x' {
			other = "y"
		}
		for _, damaged := range []string{text[:i], text[:i] + text[i+1:], text[:i] + other + text[i+1:], text[i:]} {
			if damaged == text {
				continue
			}
			_, err := ParseToken(damaged)
			if err == nil {
				t.Fatalf("a damaged token is accepted: %q", damaged)
			}
			if len(damaged) > 30 && strings.Contains(err.Error(), damaged[len(damaged)-20:]) {
				t.Fatalf("the error repeats the token: %v", err)
			}
		}
	}
	for _, wrong := range []string{"", "http://tenet.example", "https://", "https://u:p@host", "https://host/?q", "https://host/#f", "host:1", "://"} {
		_, err := NewToken(wrong, DigestOf([]byte("CA")), noon)
		wantError(t, err, "https://HOST:PORT")
	}
	_, err = NewToken("https://host", Digest{}, noon)
	wantError(t, err, "CA")
}

// What strangers send is refused, and breaks nothing.
func FuzzOpen(f *testing.F) {
	key := newKey(f)
	for _, kind := range kinds {
		data, err := json.Marshal(signed(f, kind, map[string]any{"number": 1, "generation": 1, "verb": "exec"}, key))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"kind":"trust","content":"e30=","signatures":[{"key":"","signature":""}]}`))
	chain := newOwner(f).chain(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Signed{}
		if json.Unmarshal(data, s) != nil {
			return
		}
		before := len(chain.Signed())
		if chain.Add(s) == nil && len(chain.Signed()) != before {
			t.Error("a stranger's document is accepted")
		}
		if _, err := chain.OpenAssignment(s, Recipient{}, func(string) Position { return Position{} }); err == nil {
			t.Error("a stranger's assignment is accepted")
		}
		if _, _, err := chain.OpenRequest(s, "", &Nonces{}, 0); err == nil {
			t.Error("a stranger's request is accepted")
		}
		OpenHostKeys(s, nil) // which a stranger may sign for himself
		if _, err := OpenSuccession(s, PublicKey{}); err == nil {
			t.Error("a stranger's succession is accepted")
		}
	})
}

func FuzzParseToken(f *testing.F) {
	token, err := NewToken("https://host", DigestOf(nil), noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token.String())
	f.Add(tokenPrefix)
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			return
		}
		again, err := ParseToken(token.String())
		if err != nil || again.ID() != token.ID() || again.URL != token.URL {
			t.Errorf("%v, %v", again, err)
		}
	})
}
