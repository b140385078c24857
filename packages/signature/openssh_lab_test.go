//go:build lab

package signature_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/packages/signature"
)

// ssh-keygen takes what tenet signs, and by the same file of allowed signers; and the other way around.
func TestOpenSSH(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			run := func(input []byte, args ...string) ([]byte, error) {
				cmd := exec.Command("ssh-keygen", args...)
				cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
				return cmd.CombinedOutput()
			}
			if out, err := run(nil, "-q", "-t", kind, "-N", "", "-f", "key"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			private, err := os.ReadFile(filepath.Join(dir, "key"))
			if err != nil {
				t.Fatal(err)
			}
			public, err := os.ReadFile(filepath.Join(dir, "key.pub"))
			if err != nil {
				t.Fatal(err)
			}
			allowed := `*@example,!bob@example namespaces="tenet-*",valid-after="20200101Z" ` + string(public)
			signer, err := signature.Key{Name: "key", Data: private}.Signer()
			if err != nil {
				t.Fatal(err)
			}
			text, err := signature.Sign(digest, signer)
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string][]byte{"signers": []byte(allowed), "signature": text} {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			verify := func(message []byte, who string) error {
				out, err := run(message, "-Y", "verify", "-n", signature.Namespace, "-I", who, "-f", "signers", "-s", "signature")
				t.Logf("%s", out)
				return err
			}
			if err := verify(signature.Message(digest), "alice@example"); err != nil {
				t.Error(err)
			}
			if verify(signature.Message(other), "alice@example") == nil || verify(signature.Message(digest), "bob@example") == nil {
				t.Error("it was taken")
			}
			theirs, err := run(signature.Message(digest), "-q", "-Y", "sign", "-n", signature.Namespace, "-f", "key")
			if err != nil {
				t.Fatalf("%v: %s", err, theirs)
			}
			if _, err := parse(t, allowed).Verify(digest, theirs, now()); err != nil {
				t.Error(err)
			}
		})
	}
}
