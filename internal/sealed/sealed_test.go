package sealed_test

import (
	"errors"
	"testing"

	"github.com/tenetcm/tenet/internal/sealed"
)

// Each wrong byte is noticed, or spoils the digest and nothing else.
func TestWrongBytes(t *testing.T) {
	type record struct {
		Path string `json:"path"`
	}
	line, err := sealed.Marshal(record{"/etc/motd"})
	if err != nil || string(line) != `{"path":"/etc/motd","sum":"`+string(line[len(line)-19:len(line)-3])+"\"}\n" {
		t.Fatalf("%s %v", line, err)
	}
	var read record
	if err := sealed.Unmarshal(line, &read); err != nil || read.Path != "/etc/motd" {
		t.Fatal(read, err)
	}
	for i := range line[:len(line)-1] {
		changed := append([]byte{}, line...)
		changed[i] ^= 1
		read = record{}
		if err := sealed.Unmarshal(changed, &read); err == nil && read.Path != "/etc/motd" {
			t.Errorf("byte %d: %s is taken", i, changed)
		}
	}
	if _, err := sealed.Check([]byte(`{"path":"/etc/x","sum":"0123456789abcdef"}`)); !errors.Is(err, sealed.ErrDigest) {
		t.Error(err)
	}
	if is, err := sealed.Check([]byte(`{"path":"/etc/x"}`)); is || err != nil {
		t.Error(is, err)
	}
}
