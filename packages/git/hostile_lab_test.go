//go:build lab

package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/packages/git/gittest"
)

// Who keeps a repository could say that a signed tag stands for a commit that nobody has signed, and which is in the cache already since it was looked at before.
func TestTagOfAnotherCommit(t *testing.T) {
	repository := gittest.New(t)
	key, line := gittest.Key(t, "alice@example.org")
	signers := gittest.Signers(t, line)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": "good"}})
	repository.Tag("v1", "main", key)
	evil := repository.Commit(gittest.Commit{Ref: "refs/heads/evil", Files: map[string]string{"a": "evil"}})
	r := open(t, client(t), repository.URL())
	fetch(t, r, "evil")
	v := fetch(t, r, "v1")
	v.Commit = evil
	if err := r.Fetch(t.Context(), v); err == nil {
		t.Error("it is fetched, as if the tag stood for it")
	}
	_, err := r.Verify(t.Context(), v, AllowedSigners{File: signers})
	wants(t, err, CodeSignature, "stands for another commit")
	good := fetch(t, r, "v1") // which is in the cache still
	if _, err := r.Verify(t.Context(), good, AllowedSigners{File: signers}); err != nil {
		t.Error(err)
	}
}

// A clock that is wrong by years makes no other history of one.
func TestWrongClocks(t *testing.T) {
	repository := gittest.New(t)
	first := repository.Commit(gittest.Commit{Files: map[string]string{"a": "0"}, Time: at(0)})
	second := repository.Commit(gittest.Commit{Files: map[string]string{"a": "1"}, Time: at(0).AddDate(-20, 0, 0)})
	third := repository.Commit(gittest.Commit{Files: map[string]string{"a": "2"}, Time: at(0).AddDate(-19, 0, 0)})
	for _, commit := range []string{second, third} {
		r := open(t, client(t), repository.URL())
		for _, one := range []string{first, commit} {
			if err := r.Fetch(t.Context(), Revision{Commit: one}); err != nil {
				t.Fatal(err)
			}
		}
		if is, err := r.IsDescendant(t.Context(), Revision{Commit: commit}, first); err != nil || !is {
			t.Errorf("%v %v", is, err)
		}
	}
}

// A few trees that name each other stand for more files than there is room for.
func TestTreeBomb(t *testing.T) {
	repository := gittest.New(t)
	object := strings.TrimSpace(repository.Hash("blob", "x"))
	mode := "100644"
	for range 10 {
		var tree strings.Builder
		for i := range 10 {
			fmt.Fprintf(&tree, "%s %d\x00%s", mode, i, binaryOf(t, object))
		}
		object, mode = strings.TrimSpace(repository.Hash("tree", tree.String())), "40000"
	}
	commit := strings.TrimSpace(repository.Hash("commit", "tree "+object+"\nauthor T <t@example.org> 1 +0000\ncommitter T <t@example.org> 1 +0000\n\nx\n"))
	repository.Git("update-ref", "refs/heads/main", commit)
	r := open(t, client(t), repository.URL())
	begin, to := time.Now(), t.TempDir()
	fetch(t, r, "main")
	_, err := r.Extract(t.Context(), commit, "", filepath.Join(to, "x"))
	wants(t, err, CodeTooLarge, "more than 20000 files")
	if left, err := os.ReadDir(to); err != nil || len(left) > 0 || time.Since(begin) > 20*time.Second {
		t.Errorf("after %v there is %v %v", time.Since(begin), left, err)
	}
}

// A file that compresses to next to nothing is no way to fill a disk or the memory.
func TestFileBomb(t *testing.T) {
	repository := gittest.New(t)
	size := 300 << 20
	repository.Import(fmt.Sprintf("commit refs/heads/main\ncommitter T <t@example.org> 1 +0000\ndata 0\nM 100644 inline a\ndata %d\n%s\n", size, strings.Repeat("\x00", size)))
	r := open(t, client(t), repository.URL())
	v := fetch(t, r, "main")
	to := t.TempDir()
	_, err := r.Extract(t.Context(), v.Commit, "", filepath.Join(to, "x"))
	wants(t, err, CodeTooLarge, "files of more than 256 MiB")
	if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	if bytes, err := r.size(); err != nil || bytes > 4<<20 {
		t.Errorf("the cache has %d bytes: %v", bytes, err)
	}
}

func binaryOf(t *testing.T, object string) string {
	t.Helper()
	out := make([]byte, len(object)/2)
	for i := range out {
		if _, err := fmt.Sscanf(object[2*i:2*i+2], "%02x", &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return string(out)
}
