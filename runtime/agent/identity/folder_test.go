package identity

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Keys are made once, are for their owner alone, and sign and open what they are for.
func TestKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	i, err := Open(dir, Options{})
	must(t, err)
	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, fileName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	keys := i.Keys()
	must(t, keys.Check())
	must(t, i.Close())
	again, err := Load(dir, Options{})
	must(t, err)
	defer again.Close()
	if *again.Keys() != *keys || again.ID() != keys.Identity.ID() {
		t.Error("opened again, the host has other keys")
	}
	signature, public, err := again.SignNonce([]byte("nonce"))
	must(t, err)
	verifier, err := nkeys.FromPublicKey(keys.Connection)
	must(t, err)
	if public != keys.Connection || verifier.Verify([]byte("nonce"), signature) != nil {
		t.Error("the broker would refuse the signature")
	}
	signed, err := again.Sign(trust.KindReport, "facts")
	must(t, err)
	if !signed.IsSignedBy(trust.KindReport, keys.Identity) || signed.IsSignedBy(trust.KindProof, keys.Identity) {
		t.Error("it is signed as something else")
	}
	recipient, err := age.ParseX25519Recipient(keys.Sealing)
	must(t, err)
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, recipient)
	must(t, err)
	w.Write([]byte("secret"))
	must(t, w.Close())
	if _, err := age.Decrypt(&sealed, again.Unsealing()...); err != nil {
		t.Error(err)
	}
}

// A folder that others may look into, that another process has, or that is damaged is refused, and no error repeats what is in it.
func TestFolderRefused(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none"), Options{})
	wantCode(t, err, "not_joined")
	dir := private(t)
	i, err := Open(dir, Options{})
	must(t, err)
	_, err = Open(dir, Options{})
	wantCode(t, err, "in_use")
	wantError(t, Remove(dir), "another process")
	must(t, i.Close())
	must(t, os.Chmod(dir, 0o750))
	_, err = Open(dir, Options{})
	wantCode(t, err, "permissions")
	must(t, os.Chmod(dir, 0o700))

	whole := read(t, dir)
	other := private(t)
	j, err := Open(other, Options{})
	must(t, err)
	must(t, j.Close())
	secrets := regexp.MustCompile(`SU[A-Z2-7]{20,}|AGE-SECRET-KEY-1[A-Z0-9]+|MC4C[A-Za-z0-9+/=]+`)
	found := secrets.FindAllString(string(whole), -1)
	if len(found) != 3 {
		t.Fatalf("%d secrets are in the file", len(found))
	}
	theirs := secrets.FindAllString(string(read(t, other)), -1)
	damaged := map[string][]byte{"cut": whole[:len(whole)/2], "empty": {}, "null": []byte("null"), "list": []byte("[]"),
		"newer": bytes.Replace(whole, []byte(fileFormat), []byte("tenet.identity/9"), 1), "no certificate": regexp.MustCompile(`"certificate":\{.*?\}\]\}`).ReplaceAll(whole, []byte(`"certificate":null`))}
	for k := range found {
		damaged["another's key "+found[k][:2]] = bytes.Replace(whole, []byte(found[k]), []byte(theirs[k]), 1)
		damaged["half a key "+found[k][:2]] = bytes.Replace(whole, []byte(found[k]), []byte(found[k][:10]), 1)
	}
	for name, data := range damaged {
		must(t, os.WriteFile(filepath.Join(dir, fileName), data, 0o600))
		_, err := Open(dir, Options{})
		if err == nil {
			t.Errorf("%s: it is taken", name)
			continue
		}
		if slices.ContainsFunc(append(found, theirs...), func(s string) bool { return strings.Contains(err.Error(), s[:10]) }) {
			t.Errorf("%s: the error repeats a secret: %v", name, err)
		}
		if !bytes.Equal(read(t, dir), data) {
			t.Errorf("%s: the file was replaced", name)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, fileName), whole, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".tenet-00.tmp"), whole[:10], 0o600)) // a write that did not come to its end
	i, err = Open(dir, Options{})
	must(t, err)
	must(t, i.Close())
	must(t, Remove(dir))
	if _, err := os.Stat(filepath.Join(dir, fileName)); err == nil {
		t.Error("the keys are still there")
	}
	must(t, Remove(dir))
}

// A link in the place of the file does not lead out of the folder.
func TestFolderLink(t *testing.T) {
	dir, other := private(t), private(t)
	i, err := Open(other, Options{})
	must(t, err)
	must(t, i.Close())
	must(t, os.Symlink(filepath.Join(other, fileName), filepath.Join(dir, fileName)))
	_, err = Open(dir, Options{})
	wantError(t, err, "escapes")
}

// Trust documents that come by another way are kept in order, and no others.
func TestKeepDocuments(t *testing.T) {
	s := newServer(t)
	i, dir := s.member()
	must(t, s.authority.RotateKey(context.Background(), nil))
	must(t, s.authority.RotateKey(context.Background(), nil))
	documents := s.authority.Chain().Signed()
	wantError(t, i.KeepDocuments(documents[2]), "missing")
	must(t, i.KeepDocuments(documents[1], documents[1], documents[2]))
	must(t, i.KeepDocuments(documents...)) // a renewal may have brought several of them before
	must(t, i.KeepDocuments(documents[0]))
	wantError(t, i.KeepDocuments(newServer(t).authority.Chain().Signed()...), "older|differ")
	chain, err := i.Chain()
	must(t, err)
	if len(chain.Signed()) != 3 || !bytes.Contains(read(t, dir), []byte(base64.StdEncoding.EncodeToString(documents[2].Content))) {
		t.Error("they are not kept")
	}
	j, err := Open(private(t), Options{})
	must(t, err)
	defer j.Close()
	wantError(t, j.KeepDocuments(documents...), "has not joined")
}

// A folder that was closed is free at once, whoever else has got the file of its lock by being begun meanwhile.
func TestFolderIsFree(t *testing.T) {
	dir := private(t)
	i, err := Open(dir, Options{})
	must(t, err)
	inherited, err := unix.Dup(int(i.folder.lock.Fd())) // as a child has it between fork and exec
	must(t, err)
	defer unix.Close(inherited)
	must(t, i.Close())
	i, err = Open(dir, Options{})
	must(t, err)
	must(t, i.Close())
}
