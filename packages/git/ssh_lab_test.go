//go:build lab

package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/packages/git/gittest"
)

// fakeSSH is an ssh that notes its arguments, one a line, and runs on this machine what it should have another one do.
const fakeSSH = `#!/bin/sh
printf '%s\n' "$@" >"$TMPDIR/arguments"
for last; do :; done
exec sh -c "$last"
`

// By SSH it is asked with the key and the known hosts that are named, and nobody is asked anything.
func TestSSH(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": "1"}})
	bin, tmp := t.TempDir(), t.TempDir()
	key, known := filepath.Join(bin, "it's a key"), filepath.Join(bin, "known hosts")
	for name, text := range map[string]string{filepath.Join(bin, "ssh"): fakeSSH, key: "", known: ""} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := client(t)
	c.Credentials = Credentials{SSHKey: key, KnownHosts: known}
	c.Getenv = func(name string) string {
		switch name {
		case "PATH":
			return bin + ":" + os.Getenv("PATH")
		case "TMPDIR":
			return tmp
		}
		return ""
	}
	r := open(t, c, "ssh://robot@git.example:2222"+repository.Dir)
	v := fetch(t, r, "main")
	to := filepath.Join(t.TempDir(), "x")
	if _, err := r.Extract(t.Context(), v.Commit, "", to); err != nil || tree(t, to)["a"] != "1" {
		t.Errorf("%v", err)
	}
	data, err := os.ReadFile(filepath.Join(tmp, "arguments"))
	if err != nil {
		t.Fatal(err)
	}
	arguments := strings.Split(string(data), "\n")
	for _, want := range []string{"BatchMode=yes", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes", key, `UserKnownHostsFile="` + known + `"`, "2222", "robot@git.example"} {
		if !slices.Contains(arguments, want) {
			t.Errorf("%q is not among %q", want, arguments)
		}
	}
	c.Credentials.SSHKey = filepath.Join(bin, "none")
	_, err = r.Resolve(t.Context(), "")
	wants(t, err, CodeCredentials, "the SSH key cannot be used")
}
