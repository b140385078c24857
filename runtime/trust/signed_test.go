package trust

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var kinds = []Kind{KindHostKeys, KindSuccession, KindProof, KindReport, KindOutputs, KindDocument, KindAssignment, KindRequest, KindRelease, KindChannel}

func TestSignatureIsForOneKind(t *testing.T) {
	key := newKey(t)
	for _, made := range kinds {
		s := signed(t, made, map[string]int{"n": 1}, key)
		for _, wanted := range kinds {
			relabelled := &Signed{Kind: wanted, Content: s.Content, Signatures: s.Signatures}
			content, err := Open[map[string]int](relabelled, wanted, key.Public())
			switch {
			case made == wanted && (err != nil || (*content)["n"] != 1):
				t.Errorf("%s: %v", made, err)
			case made != wanted && err == nil:
				t.Errorf("a signature for %s is accepted as one for %s", made, wanted)
			}
			if _, err := Open[map[string]int](s, wanted, key.Public()); made != wanted && err == nil {
				t.Errorf("a %s is accepted where a %s is wanted", made, wanted)
			}
		}
	}
}

// Whatever is changed in what was signed, nobody accepts it.
func TestChangeIsNoticed(t *testing.T) {
	key, other := newKey(t), newKey(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		s, err := Sign(KindReport, text, key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Open[string](s, KindReport, other.Public(), key.Public()); err != nil || *got != strings.ToValidUTF8(text, "\ufffd") {
			t.Fatalf("%v, %v", got, err)
		}
		if _, err := Open[string](s, KindReport, other.Public()); err == nil {
			t.Fatal("accepted from another key")
		}
		flip := func(data []byte) {
			i := rapid.IntRange(0, 8*len(data)-1).Draw(t, "bit")
			data[i/8] ^= 1 << (i % 8)
		}
		where := rapid.SampledFrom([]func(){
			func() { s.Content = bytes.Clone(s.Content); flip(s.Content) },
			func() { s.Content = append(bytes.Clone(s.Content), ' ') },
			func() { flip(s.Signatures[0].Signature) },
			func() { s.Signatures[0].Signature = s.Signatures[0].Signature[:63] },
			func() { s.Signatures[0].Signature = append(s.Signatures[0].Signature, 0) },
			func() { s.Signatures[0].Key = other.ID() },
			func() { s.Signatures = nil },
		}).Draw(t, "change")
		where()
		if _, err := Open[string](s, KindReport, key.Public()); err == nil {
			t.Fatal("accepted though it was changed")
		}
	})
}

func TestSignedIsBounded(t *testing.T) {
	key := newKey(t)
	if _, err := Sign(KindReport, strings.Repeat("x", maxContent), key); err == nil {
		t.Error("signed more than is accepted")
	}
	large := append([]byte(`"`+strings.Repeat("x", maxContent)), '"')
	s := &Signed{Kind: KindReport, Content: large, Signatures: []Signature{{Key: key.ID(), Signature: key.sign(KindReport, large)}}}
	_, err := Open[string](s, KindReport, key.Public())
	wantError(t, err, "more than")

	s = signed(t, KindReport, 1, key)
	for range maxSignatures {
		s.Signatures = append(s.Signatures, Signature{Key: key.ID(), Signature: make([]byte, 64)})
	}
	_, err = Open[int](s, KindReport, key.Public())
	wantError(t, err, "none of the keys")
}

func TestContentIsOneValue(t *testing.T) {
	key := newKey(t)
	for content, pattern := range map[string]string{`1`: "", `1 2`: "more than one", `{`: "cannot be read", ``: "cannot be read", `"x"`: "cannot be read"} {
		s := &Signed{Kind: KindReport, Content: []byte(content), Signatures: []Signature{{Key: key.ID(), Signature: key.sign(KindReport, []byte(content))}}}
		_, err := Open[int](s, KindReport, key.Public())
		wantError(t, err, pattern)
	}
}
