package bundle_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

func sealingKey(t *testing.T) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// between is where sealed bundles and contents lie: what is there may be anybody's to read.
type between struct {
	contents map[trust.Digest][]byte
	fetched  int
}

func (b *between) fetch(c trust.Content) (io.ReadCloser, error) {
	b.fetched++
	data, ok := b.contents[c.SHA256]
	if !ok {
		return nil, errors.New("there is no such content")
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func each(open func(trust.Content) (io.ReadCloser, error)) bundle.Fetch {
	return func([]trust.Content) func(trust.Content) (io.ReadCloser, error) { return open }
}

func sealed(t *testing.T, b *bundle.Bundle, to *age.X25519Identity) ([]byte, *between) {
	t.Helper()
	data, contents, err := b.Seal(registry(), to.Recipient().String())
	if err != nil {
		t.Fatal(err)
	}
	at := &between{contents: map[trust.Digest][]byte{}}
	for _, c := range contents {
		in, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || int64(len(text)) != c.Size || trust.DigestOf(text) != c.SHA256 || at.contents[c.SHA256] != nil {
			t.Errorf("%s is listed with %d bytes as %s, or twice: it has %d: %v", c.Name, c.Size, c.SHA256, len(text), err)
		}
		at.contents[c.SHA256] = text
	}
	return data, at
}

func sealedSite() fstest.MapFS {
	return fstest.MapFS{
		"motd": {Data: []byte("hello")}, "same": {Data: []byte("hello")},
		"tree/a": {Data: []byte("A")}, "tree/b/c": {Data: []byte("hello")}, "module.star": {Data: []byte("x = 1")},
	}
}

// What was sealed for a machine is what it gets, with all contents; none is fetched that it has.
func TestSeal(t *testing.T) {
	want := example(t, sealedSite(), []string{"motd", "same"}, []string{"tree"}, []string{"module.star"})
	key := sealingKey(t)
	data, at := sealed(t, want, key)
	if bytes.Contains(data, []byte("hunter2")) || bytes.Contains(data, []byte("web1")) {
		t.Error("it is not encrypted")
	}
	store := &bundle.Store{Dir: t.TempDir() + "/state"}
	got, err := store.Unseal(data, each(at.fetch), key)
	if err != nil {
		t.Fatal(err)
	}
	if got.Run.Host != "web1" || got.Run.Secrets[0] != "hunter2" || got.Execution != want.Execution || got.Parallel != 3 || len(got.Rows) != 1 || got.Places["state.x"] != want.Places["state.x"] {
		t.Errorf("it holds %+v", got)
	}
	for _, name := range []string{"motd", "same", "tree/a", "tree/b/c", "module.star"} {
		in, err := states.OpenFile(got.Files, name)
		if err != nil {
			t.Fatal(name, err)
		}
		if text, err := io.ReadAll(in); err != nil || string(text) != string(sealedSite()[name].Data) {
			t.Errorf("%s holds %q: %v", name, text, err)
		}
		in.Close()
	}
	before := at.fetched
	if before != len(at.contents) {
		t.Errorf("%d contents were fetched, and there are %d", before, len(at.contents))
	}
	if _, err := store.Unseal(data, each(at.fetch), key); err != nil || at.fetched != before {
		t.Errorf("what is there is fetched again, %d times: %v", at.fetched-before, err)
	}
}

// Whoever is between may change anything: nothing of it is used.
func TestUnsealRefuses(t *testing.T) {
	key := sealingKey(t)
	data, at := sealed(t, example(t, sealedSite(), []string{"motd"}, []string{"tree"}, nil), key)
	fetch := func(change func([]byte) []byte) func(trust.Content) (io.ReadCloser, error) {
		return func(c trust.Content) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(change(bytes.Clone(at.contents[c.SHA256])))), nil
		}
	}
	cut := data[:len(data)-1]
	other := bytes.Clone(data)
	other[len(other)-20] ^= 1
	for name, test := range map[string]struct {
		data  []byte
		key   age.Identity
		fetch func(trust.Content) (io.ReadCloser, error)
	}{
		"another's key":    {data, sealingKey(t), at.fetch},
		"cut short":        {cut, key, at.fetch},
		"changed":          {other, key, at.fetch},
		"empty":            {nil, key, at.fetch},
		"changed content":  {data, key, fetch(func(b []byte) []byte { b[0] ^= 1; return b })},
		"shorter content":  {data, key, fetch(func(b []byte) []byte { return b[1:] })},
		"content is empty": {data, key, fetch(func([]byte) []byte { return nil })},
	} {
		b, err := (&bundle.Store{Dir: t.TempDir() + "/state"}).Unseal(test.data, each(test.fetch), test.key)
		if _, damaged := errors.AsType[*planfile.DamagedError](err); !damaged || b != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := (&bundle.Store{Dir: t.TempDir() + "/state"}).Unseal(data, each(func(trust.Content) (io.ReadCloser, error) { return nil, errors.New("no way") }), key)
	if err == nil || err.Error() != "no way" {
		t.Errorf("a content that cannot be fetched: %v", err)
	}
	if _, _, err := example(t, sealedSite(), nil, nil, nil).Seal(registry(), "age1nobody"); err == nil || !strings.Contains(err.Error(), "age1nobody") {
		t.Errorf("a bundle is sealed for nobody: %v", err)
	}
}
