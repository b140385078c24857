package registrytest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// The account of the registry that Debian starts.
const (
	DebianUser     = "me"
	DebianPassword = "secret"
)

// Debian starts the registry of Debian's package docker-registry, which ends with the test, and gives its host and port. It is one of OCI 1.0, and wants
// credentials.
func Debian(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Fatal("there is no registry: apt-get install docker-registry")
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(DebianPassword), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	dir, host := t.TempDir(), freeAddress(t)
	for name, text := range map[string]string{
		"htpasswd": DebianUser + ":" + string(hash) + "\n",
		"config.yml": fmt.Sprintf("version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q, secret: test}\nauth: {htpasswd: {realm: test, path: %s}}\n",
			filepath.Join(dir, "data"), host, filepath.Join(dir, "htpasswd")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	cmd := exec.Command(program, "serve", filepath.Join(dir, "config.yml"))
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // killed, which is an error
		if t.Failed() {
			t.Logf("the registry says:\n%s", log.String())
		}
	})
	for range 300 {
		if connection, err := net.Dial("tcp", host); err == nil {
			connection.Close()
			return host
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the registry does not listen")
	return ""
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
