package ssh_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/ssh"
)

// The client is asked what its configuration makes of a host.
func TestVia(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ssh")
	script := "#!/bin/sh\nfor last; do :; done\ncase \"$1 $*\" in\n" +
		"'-G '*' -- web') printf 'hostname %s\\nproxyjump me@gate:2222\\nport 22\\n' \"$last\";;\n" +
		"'-G '*' -- near') echo proxyjump none;;\n" +
		"*) exit 255;;\nesac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := &ssh.Client{Program: program}
	for address, want := range map[string]string{"web": "me@gate:2222", "near": "", "wrong": ""} {
		if via := c.JumpHosts(context.Background(), ssh.Host{Address: address}); via != want {
			t.Errorf("%s: %q, want %q", address, via, want)
		}
	}
}

func TestJumps(t *testing.T) {
	for text, want := range map[string]bool{
		"Host *\n  proxyJump gate\n": true,
		"Include work/*\n":           true,
	} {
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".ssh/config"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ssh.HasJumpHosts(home); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
