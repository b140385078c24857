package control

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/trust"
)

func messages() []Message {
	return []Message{&Hello{Session: "s", Versions: []int{1}}, &Answer{Session: "s", Stored: 3}, &Refusal{Why: "no"}, &Batch{First: 1, Last: 1, Items: [][]byte{{1}}},
		&Stored{Through: 7}, &Wake{}, &Pulse{Last: 2}, &Shown{Session: "s"}, &Claim{Site: "shop"}, &Turn{Tickets: map[trust.Digest]string{trust.DigestOf(nil): "t"}}}
}

// Every message comes out as it went in.
func TestEncode(t *testing.T) {
	for _, m := range messages() {
		data, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%T became %+v: %v", m, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", "null", `{"wake":{}} {}`, `{"wake":{},"pulse":{}}`, `{"unheard":{}}`, `{"wake":null}`, `{"hello":7}`, strings.Repeat(`{"hello":`, 20000)} {
		if m, err := Decode([]byte(text)); err == nil {
			t.Errorf("%.40q is taken for %+v", text, m)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range messages() {
		data, err := Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Decode(again)
		if err != nil {
			t.Fatalf("%q becomes %q, which cannot be read: %v", data, again, err)
		}
		// Empty lists and none are written alike.
		if third, err := Encode(twice); err != nil || !bytes.Equal(third, again) {
			t.Errorf("%q becomes %q, then %q: %v", data, again, third, err)
		}
	})
}
