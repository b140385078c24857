//go:build lab

package follow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/packages/git/gittest"
	"github.com/tenetcm/tenet/server/follow"
)

// A host whose certificate is of an authority of one's own is asked by HOST.pem; without it, it is told what to do.
func TestCertificatesOfHost(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"site.hcl": "site {}\n"}})
	server := repository.Serve(true)
	pem, err := os.ReadFile(server.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, isThere := range []bool{false, true} {
		f := newFollowed(t, func(s *follow.Source) { s.Address = "git::" + server.Address() + "?ref=main" })
		f.Credentials = t.TempDir()
		if isThere {
			if err := os.WriteFile(filepath.Join(f.Credentials, "127.0.0.1.pem"), pem, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		now := f.after(0)
		if isThere != (len(f.created) == 1) || isThere != now.State.Away.IsZero() || !isThere && !strings.Contains(now.State.AwayText, "is not trusted") {
			t.Errorf("with the certificate: %t, and %d are deployed: %q", isThere, len(f.created), now.State.AwayText)
		}
	}
}

// A helper of the server's directory for credentials is asked for its host, and for no other one.
func TestHelperOfHost(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"site.hcl": "site {}\n"}})
	server := repository.Serve(false)
	server.Before(gittest.RequireToken("robot", "t0ken"))
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\ntest \"$1\" = get && printf 'username=robot\\npassword=t0ken\\n'\nexit 0\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("git.example.helper")
	for _, isThere := range []bool{false, true} {
		f := newFollowed(t, func(s *follow.Source) { s.Address = "git::" + server.Address() + "?ref=main" })
		f.Credentials = dir
		if isThere {
			write("127.0.0.1.helper")
		}
		now := f.after(0)
		if isThere != (len(f.created) == 1) || isThere != now.State.Away.IsZero() {
			t.Errorf("with a helper for the host: %t, and %d are deployed: %q", isThere, len(f.created), now.State.AwayText)
		}
		if !isThere && !strings.Contains(now.State.AwayText, "does not let you in") {
			t.Errorf("it is away since %q", now.State.AwayText)
		}
	}
}
