package bundle_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// frames gives what a controller sends to a machine that has something, and lacks
// nothing.
func frames(t testing.TB, b *bundle.Bundle, have []byte) []byte {
	t.Helper()
	var answer, out bytes.Buffer
	if err := wire.New(nil, &answer, nil).Send(wire.KindNeed, []byte{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Send(wire.New(&answer, &out, nil), have, registry()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// take receives what came.
func take(store *bundle.Store, data []byte) (*bundle.Bundle, error) {
	return store.Receive(wire.New(bytes.NewReader(data), io.Discard, nil))
}

// sound makes sure that a store holds nothing under a wrong name.
func sound(t testing.TB, store *bundle.Store) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(store.Dir, "content"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" {
			return err
		}
		data, err := os.ReadFile(name)
		if sum := sha256.Sum256(data); d.Name() != hex.EncodeToString(sum[:]) {
			t.Fatalf("%s holds something else", name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestDamagedOnTheWay(t *testing.T) {
	t.Parallel()
	small := site()
	delete(small, "big")
	b := example(t, small, []string{"motd"}, []string{"www"}, nil)
	data := frames(t, b, nil)
	store, _ := newStore(t)
	for n := 0; n < len(data); n += 19 {
		if _, err := take(store, data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for all", n, len(data))
		}
		sound(t, store)
	}
	for n := 0; n < len(data); n += 17 {
		flipped := bytes.Clone(data)
		flipped[n] ^= 1 << (n % 8)
		store, _ := newStore(t)
		if got, err := take(store, flipped); err == nil {
			same(t, b, got) // some bits mean nothing
		}
		sound(t, store)
	}
	if got, err := take(store, data); err != nil {
		t.Fatal(err)
	} else {
		same(t, b, got)
	}
}

// contents gives the paths of what a store holds.
func contents(t testing.TB, store *bundle.Store) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(store.Dir, "content", "??", "*"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

// TestDamagedInTheStore: what is damaged on the disk is found when it is read, and
// brought again.
func TestDamagedInTheStore(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"flipped": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil || len(data) == 0 {
				return errors.Join(err, os.WriteFile(path, []byte("x"), 0o600))
			}
			data[len(data)/2] ^= 4
			return os.WriteFile(path, data, 0o600)
		},
		"cut":  func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"gone": os.Remove,
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".x"), os.Symlink(filepath.Base(path)+".x", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, _ := newStore(t)
			b := whole(t)
			if _, _, err := send(t, b, store, nil); err != nil {
				t.Fatal(err)
			}
			all := contents(t, store)
			for _, path := range all {
				if info, err := os.Stat(path); err != nil || name == "cut" && info.Size() == 0 {
					continue
				}
				if err := damage(path); err != nil {
					t.Fatal(err)
				}
			}
			opened, err := store.Open(b.Execution)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"motd", "big", "www/index.html", "modules/own.star"} {
				data, err := fs.ReadFile(opened.Files, file)
				if err == nil {
					t.Errorf("%s: %d bytes that are damaged", file, len(data))
				}
			}
			for range 2 {
				got, _, err := send(t, b, store, store.Have(b.Site()))
				if err != nil {
					t.Fatal(err)
				}
				if readAll(got) == nil {
					same(t, b, got)
					return
				}
			}
			t.Error("it stays damaged")
		})
	}
}

// readAll reads all files of the example, as an apply does.
func readAll(b *bundle.Bundle) error {
	var errs []error
	for _, name := range []string{"motd", "big", "www/index.html", "www/empty", "www/bin/run", "modules/own.star"} {
		_, err := fs.ReadFile(b.Files, name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TestChanged: a file that is another one than the site was loaded with is not sent.
func TestChanged(t *testing.T) {
	for _, text := range []string{"welcome?", "less", "welcome\n and more"} {
		changing := site()
		b := example(t, changing, []string{"motd"}, nil, nil)
		changing["motd"] = &fstest.MapFile{Data: []byte(text)}
		store, _ := newStore(t)
		a, z := net.Pipe()
		received := make(chan error, 1)
		go func() { _, err := store.Receive(wire.New(z, z, nil)); received <- err }()
		err := b.Send(wire.New(a, a, nil), nil, registry())
		if err == nil || !strings.Contains(err.Error(), "motd has changed since") {
			t.Errorf("%q: %v", text, err)
		}
		a.Close()
		if err := <-received; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the machine says %v", err)
		}
		z.Close()
	}
}

// TestRefused: what a machine says of a bundle that it does not take reaches the
// controller, even if that is still sending.
func TestRefused(t *testing.T) {
	a, z := net.Pipe()
	defer a.Close()
	there := wire.New(z, z, nil)
	go func() {
		there.Receive()
		var end wire.End
		end.Failure = &states.Failure{Code: machine.CodeDamaged, Message: "no room"}
		there.Send(wire.KindEnd, end)
		z.Close()
	}()
	err := whole(t).Send(wire.New(a, a, nil), nil, registry())
	if failed, ok := errors.AsType[*wire.FailedError](err); !ok || failed.Failure.Message != "no room" {
		t.Errorf("it says %v", err)
	}
}

// TestAskedForever: a machine that asks again and again is not served for ever.
func TestAskedForever(t *testing.T) {
	a, z := net.Pipe()
	defer a.Close()
	there := wire.New(z, z, nil)
	go func() {
		for {
			f, err := there.Receive()
			if err != nil {
				return
			}
			if f.Kind == wire.KindSent {
				there.Send(wire.KindNeed, make([]byte, 32))
			}
		}
	}()
	var wrong *wire.ProtocolError
	if err := whole(t).Send(wire.New(a, a, nil), nil, registry()); !errors.As(err, &wrong) {
		t.Errorf("it says %v", err)
	}
}

// kinds gives those of frames that are of some kinds.
func kinds(t *testing.T, data []byte, kinds string) []byte {
	t.Helper()
	var out bytes.Buffer
	in, to := wire.New(bytes.NewReader(data), nil, nil), wire.New(nil, &out, nil)
	for {
		f, err := in.Receive()
		if err == io.EOF {
			return out.Bytes()
		}
		if err == nil && strings.ContainsRune(kinds, rune(f.Kind)) {
			err = to.Write(f.Kind, f.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnlisted: what a bundle does not list is not kept.
func TestUnlisted(t *testing.T) {
	one := frames(t, example(t, site(), []string{"motd"}, nil, nil), nil)
	other := frames(t, example(t, site(), []string{"big"}, nil, nil), nil)
	store, _ := newStore(t)
	_, err := take(store, append(kinds(t, one, "B"), kinds(t, other, "CX")...))
	if err == nil || !strings.Contains(err.Error(), "does not list") {
		t.Errorf("it says %v", err)
	}
	if list, _ := filepath.Glob(filepath.Join(store.Dir, "content", "??", "*")); len(list) > 0 {
		t.Errorf("it keeps %q", list)
	}
}

// TestAskedForMore: a machine gets no files but those of its bundle, whatever it asks for.
func TestAskedForMore(t *testing.T) {
	a, z := net.Pipe()
	defer a.Close()
	sum := sha256.Sum256(site()["big"].Data)
	var got [2]int
	there := wire.New(z, z, nil)
	go func() {
		for round := 0; ; {
			f, err := there.Receive()
			if err != nil {
				return
			}
			got[round] += len(f.Data)
			if f.Kind != wire.KindSent {
				continue
			}
			need := sum[:]
			if round == 1 {
				need = []byte{}
			}
			round = 1
			if there.Send(wire.KindNeed, need) != nil {
				return
			}
		}
	}()
	if err := example(t, site(), []string{"motd"}, nil, nil).Send(wire.New(a, a, nil), nil, registry()); err != nil {
		t.Fatal(err)
	}
	if got[0] == 0 || got[1] != 0 {
		t.Errorf("it gets %d bytes", got)
	}
}

// TestLoosened: folders that somebody has opened to others are closed again.
func TestLoosened(t *testing.T) {
	store, _ := newStore(t)
	b := whole(t)
	if _, _, err := send(t, b, store, nil); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"content", "bundles"} {
		if err := os.Chmod(filepath.Join(store.Dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := send(t, b, store, nil); err != nil {
		t.Fatal(err)
	}
	private(t, store.Dir)
}

func TestBrokenConnection(t *testing.T) {
	store, _ := newStore(t)
	gone := errors.New("gone")
	if _, err := store.Receive(wire.New(iotest.ErrReader(gone), io.Discard, nil)); !errors.Is(err, gone) {
		t.Errorf("it says %v", err)
	}
	var wrong *planfile.DamagedError
	var other bytes.Buffer
	wire.New(nil, &other, nil).Send(wire.KindRequest, 1)
	if _, err := take(store, other.Bytes()); !errors.As(err, &wrong) {
		t.Errorf("it says %v", err)
	}
}

// TestNoSpace: what cannot be written leaves nothing behind.
func TestNoSpace(t *testing.T) {
	store, _ := newStore(t)
	if err := os.MkdirAll(store.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"content", "bundles"} {
		path := filepath.Join(store.Dir, at)
		os.RemoveAll(path)
		if err := os.Symlink(t.TempDir(), path); err != nil {
			t.Fatal(err)
		}
		if _, err := take(store, frames(t, whole(t), nil)); err == nil {
			t.Errorf("%s leads elsewhere, and is used", at)
		}
		os.Remove(path)
	}
}
