//go:build lab

package git

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/packages/git/gittest"
)

// A repository whose objects are named by SHA-256 is read as any other one: by each way, with its history and its signatures.
func TestSHA256(t *testing.T) {
	repository := gittest.New(t)
	repository.Init("sha256")
	key, line := gittest.Key(t, "alice@example.org")
	other, _ := gittest.Key(t, "eve@example.org")
	signers := gittest.Signers(t, line)
	first := repository.Commit(gittest.Commit{Files: map[string]string{"a": "1", "sub/b": "1"}, Key: key, Time: at(1)})
	second := repository.Commit(gittest.Commit{Files: map[string]string{"a": "1", "sub/b": "2"}, Key: key, Time: at(2)})
	repository.Commit(gittest.Commit{Ref: "refs/heads/unsigned", Files: map[string]string{"a": ""}})
	repository.Commit(gittest.Commit{Ref: "refs/heads/eve", Files: map[string]string{"a": ""}, Key: other})
	repository.Tag("v1", "unsigned", key)
	if len(first) != 64 {
		t.Fatalf("git names a commit %s", first)
	}
	changed := repository.Git("cat-file", "commit", second) + "and more\n"
	repository.Git("update-ref", "refs/heads/changed", strings.TrimSpace(repository.Hash("commit", changed)))
	server := repository.Serve(true)
	c := client(t)
	c.CAFile = server.CAFile
	for _, address := range []string{repository.URL(), server.Address()} {
		r := open(t, c, address)
		v := fetch(t, r, "main")
		if v.Commit != second {
			t.Errorf("%s: main is %s", address, v.Commit)
		}
		dir := filepath.Join(t.TempDir(), "x")
		if _, err := r.Extract(t.Context(), second, "sub", dir); err != nil || tree(t, dir)["b"] != "2" {
			t.Errorf("%s: %v %v", address, tree(t, dir), err)
		}
		if is, err := r.IsDescendant(t.Context(), v, first); err != nil || !is {
			t.Errorf("%s: %s comes after %s: %t %v", address, second, first, is, err)
		}
		if err := r.Fetch(t.Context(), Revision{Commit: first}, second); err != nil {
			t.Error(err)
		}
		if names, err := r.Changed(t.Context(), first, second); err != nil || !slices.Equal(names, []string{"sub/b"}) {
			t.Errorf("%s: %v %v", address, names, err)
		}
		for ref, want := range map[string]string{"main": "", "v1": "", "unsigned": "is not signed", "eve": "does not name", "changed": "is not right"} {
			signer, err := r.Verify(t.Context(), fetch(t, r, ref), AllowedSigners{File: signers})
			if want != "" {
				wants(t, err, CodeSignature, want)
			} else if err != nil || signer.Principal != "alice@example.org" {
				t.Errorf("%s: %s: %+v %v", address, ref, signer, err)
			}
		}
	}
}

// A repository that was made anew with the other hash is read anew: what came before is no part of its history.
func TestOtherHash(t *testing.T) {
	repository := gittest.New(t)
	r := open(t, client(t), repository.URL())
	var before string
	for _, format := range []string{"sha1", "sha256", "sha1"} {
		repository.Init(format)
		commit := repository.Commit(gittest.Commit{Files: map[string]string{"a": format}})
		v := fetch(t, r, "main")
		dir := filepath.Join(t.TempDir(), "x")
		if _, err := r.Extract(t.Context(), commit, "", dir); err != nil || tree(t, dir)["a"] != format {
			t.Errorf("%s: %v", format, err)
		}
		if before != "" {
			if is, err := r.IsDescendant(t.Context(), v, before); is || err != nil {
				t.Errorf("%s comes after %s: %t %v", commit, before, is, err)
			}
			_, err := r.Changed(t.Context(), before, commit)
			wants(t, err, CodeNotFound, "is not in the cache")
		}
		before = commit
	}
}
