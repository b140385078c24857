package cli_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
	"github.com/tenetcm/tenet/packages/signature"
)

// An agent signs by the key whose public half is named; nothing else of it leaves the agent.
func TestPushByAgent(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	public := ssh.MarshalAuthorizedKey(signer.PublicKey())
	dir := t.TempDir()
	for name, data := range map[string][]byte{"key.pub": public, "web/main.hcl": []byte("file \"/etc/motd\" {\n  content = \"hello\\n\"\n}\n")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	registry := registrytest.New(t, registrytest.Options{})
	ref, err := oci.ParseReference("oci://" + registry.Host + "/acme/web:1.0")
	if err != nil {
		t.Fatal(err)
	}
	push := func() (int, string) {
		var out bytes.Buffer
		env := cli.Environment{In: &bytes.Buffer{}, Out: &out, Err: &out, Environ: []string{"SSH_AUTH_SOCK=" + serveAgent(t, private), "HOME=" + dir}}
		return cli.Main([]string{"push", filepath.Join(dir, "web"), ref.String(), "--sign", filepath.Join(dir, "key.pub")}, env), out.String()
	}
	if status, said := push(); status != 0 {
		t.Fatalf("status %d: %s", status, said)
	}
	client := &oci.Client{}
	pushed, err := client.Resolve(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.Signatures(t.Context(), pushed, nil)
	if err != nil {
		t.Fatal(err)
	}
	signers, err := signature.ParseSigners("signers", append([]byte("alice "), public...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := signers.VerifyAny(pushed.Digest, found.Texts, time.Now()); err != nil || who.Principals != "alice" {
		t.Errorf("%+v, %v", who, err)
	}
}

// serveAgent serves an agent that has one key, and gives its socket.
func serveAgent(t *testing.T, private ed25519.PrivateKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // the test ends
			}
			agent.ServeAgent(ring, connection) // until the other end closes it
		}
	}()
	return listener.Addr().String()
}
