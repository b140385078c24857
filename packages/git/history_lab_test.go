//go:build lab

package git

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/packages/git/gittest"
)

// at is the time of the n-th commit.
func at(n int) time.Time { return time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC) }

func TestIsDescendant(t *testing.T) {
	repository := gittest.New(t)
	var commits []string
	for i := range 40 {
		commits = append(commits, repository.Commit(gittest.Commit{Files: map[string]string{"a": fmt.Sprint(i)}, Time: at(i)}))
	}
	aside := repository.Commit(gittest.Commit{Ref: "refs/heads/aside", Parent: commits[10], Files: map[string]string{"a": "aside"}, Time: at(50)})
	other := repository.Commit(gittest.Commit{Ref: "refs/heads/other", Parent: "none", Files: map[string]string{"a": "other"}, Time: at(50)})
	merge := strings.TrimSpace(repository.Git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit-tree", "-p", commits[39], "-p", aside, "-m", "merge", "main^{tree}"))
	repository.Git("update-ref", "refs/heads/merge", merge)
	last := commits[39]
	for _, c := range []struct {
		name, commit, of string
		want             bool
	}{
		{"itself", last, last, true}, {"the next", last, commits[38], true}, {"much later", last, commits[0], true},
		{"before", commits[20], commits[21], false}, {"aside", aside, commits[39], false}, {"aside of its own", aside, commits[10], true},
		{"unrelated", other, last, false}, {"a merge", merge, last, true}, {"a merge of what was aside", merge, aside, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, client(t), repository.URL())
			for _, commit := range []string{c.of, c.commit} {
				if err := r.Fetch(t.Context(), Revision{Commit: commit}); err != nil {
					t.Fatal(err)
				}
			}
			if is, err := r.IsDescendant(t.Context(), Revision{Commit: c.commit}, c.of); err != nil || is != c.want {
				t.Errorf("%v %v", is, err)
			}
			// What was in the cache may have been removed since.
			r = open(t, client(t), repository.URL())
			if err := r.Fetch(t.Context(), Revision{Commit: c.commit}); err != nil {
				t.Fatal(err)
			}
			if is, err := r.IsDescendant(t.Context(), Revision{Commit: c.commit}, c.of); err != nil || is != c.want {
				t.Errorf("with an empty cache: %v %v", is, err)
			}
		})
	}
	c := client(t)
	c.Limits.History = 5
	r := open(t, c, repository.URL())
	fetch(t, r, "main")
	_, err := r.IsDescendant(t.Context(), Revision{Commit: last}, commits[1])
	wants(t, err, "history", "the last 5 commits do not tell")
}

func TestChanged(t *testing.T) {
	repository := gittest.New(t)
	first := repository.Commit(gittest.Commit{Files: map[string]string{"a": "1", "b/c": "1", "b/d": "1", "x:e": ""}})
	second := repository.Commit(gittest.Commit{Files: map[string]string{"a": "1", "b/c": "2", "f": "1", "e": ""}})
	r := open(t, client(t), repository.URL())
	if err := r.Fetch(t.Context(), Revision{Commit: first}); err != nil {
		t.Fatal(err)
	}
	_, err := r.Changed(t.Context(), first, second)
	wants(t, err, CodeNotFound, "is not in the cache")
	if err := r.Fetch(t.Context(), Revision{Commit: second}, first); err != nil {
		t.Fatal(err)
	}
	changed, err := r.Changed(t.Context(), first, second)
	if want := []string{"b/c", "b/d", "e", "f"}; err != nil || !slices.Equal(changed, want) {
		t.Errorf("%v %v", changed, err)
	}
	if changed, err := r.Changed(t.Context(), first, first); err != nil || len(changed) > 0 {
		t.Errorf("%v %v", changed, err)
	}
}

func TestVerify(t *testing.T) {
	repository := gittest.New(t)
	mine, line := gittest.Key(t, "alice@example.org")
	theirs, _ := gittest.Key(t, "eve@example.org")
	signers := gittest.Signers(t, line)
	expired := gittest.Signers(t, strings.Replace(line, " ", ` valid-before="20200101" `, 1))
	files := map[string]string{"a": ""}
	signed := repository.Commit(gittest.Commit{Ref: "refs/heads/signed", Files: files, Key: mine})
	repository.Commit(gittest.Commit{Ref: "refs/heads/unsigned", Files: files})
	repository.Commit(gittest.Commit{Ref: "refs/heads/other", Files: files, Key: theirs})
	repository.Tag("v1", "unsigned", mine)
	repository.Tag("v2", "signed", "")
	repository.Git("tag", "light", "signed")
	repository.Git("update-ref", "refs/tags/v3", "refs/tags/v1") // an old one by a new name
	changed := strings.Replace(repository.Git("cat-file", "commit", signed), "tree ", "tree ", 1) + "and more\n"
	repository.Git("update-ref", "refs/heads/changed", strings.TrimSpace(repository.Hash("commit", changed)))
	pgp := strings.Replace(repository.Git("cat-file", "commit", signed), "SSH SIGNATURE", "PGP SIGNATURE", 2)
	repository.Git("update-ref", "refs/heads/pgp", strings.TrimSpace(repository.Hash("commit", pgp)))
	r := open(t, client(t), repository.URL())
	for _, c := range []struct{ ref, signers, want string }{
		{"signed", signers, ""}, {"light", signers, ""}, {"v1", signers, ""},
		{"unsigned", signers, "is not signed"}, {"v2", signers, "tag v2 is not signed"}, {"other", signers, "does not name"}, {"signed", expired, "does not name, or not for that time"},
		{"changed", signers, "is not right"}, {"pgp", signers, "is not signed by an SSH key"}, {"v3", signers, "is another one by its own words"},
		{"signed", "/nonexistent", "it is not there"}, {"signed", t.TempDir(), "it is no file"},
	} {
		v := fetch(t, r, c.ref)
		signer, err := r.Verify(t.Context(), v, AllowedSigners{File: c.signers})
		if c.want != "" {
			wants(t, err, CodeSignature, c.want)
		} else if err != nil || signer.Principal != "alice@example.org" || !strings.HasPrefix(signer.Fingerprint, "SHA256:") {
			t.Errorf("%s: %+v %v", c.ref, signer, err)
		}
	}
	// A copy is told by the name of what it is one of.
	for ref, want := range map[string]string{"other": "which site/signers does not name", "signed": "site/signers does not name, or not for that time"} {
		_, err := r.Verify(t.Context(), fetch(t, r, ref), AllowedSigners{File: expired, Name: "site/signers"})
		wants(t, err, CodeSignature, want)
	}
	t.Setenv("PATH", t.TempDir())
	_, err := r.Verify(t.Context(), Revision{Commit: signed}, AllowedSigners{File: signers})
	wants(t, err, CodeProgram, "apt install openssh-client"[:0])
}

// A token goes to the host that it is for, and to nobody else; no error shows it.
func TestCredentials(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": ""}})
	server := repository.Serve(true)
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server.Before(gittest.RequireToken("robot", "s3cret token"))
	c := client(t)
	c.CAFile = server.CAFile
	_, err := open(t, c, server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeCredentials, "does not let you in")
	c.Credentials = Credentials{TokenFile: token, User: "robot"}
	_, err = open(t, c, server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeCredentials, "the token file cannot be used")
	for _, text := range []string{"s3cret token\n", "s3cret token"} {
		write(text)
		fetch(t, open(t, c, server.Address()), "main")
	}
	write("wr0ng token\n")
	_, err = open(t, c, server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeCredentials, "does not let you in")
	if strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("it shows the token: %v", err)
	}
	helper := filepath.Join(t.TempDir(), "it's a helper")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\ntest \"$1\" = get && printf 'username=robot\\npassword=s3cret token\\n'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.Credentials = Credentials{Helper: helper}
	fetch(t, open(t, c, server.Address()), "main")
	c.Credentials.TokenFile = token
	_, err = open(t, c, server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeCredentials, "one of them is enough")
}

// A helper is asked for its host alone, gets nothing but the question of git, and nobody is shown what it says; one that is configured anywhere else is never asked.
func TestHelper(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": ""}})
	server := repository.Serve(true)
	server.Before(gittest.RequireToken("robot", "t0ken"))
	home, asked, other := t.TempDir(), filepath.Join(t.TempDir(), "asked"), filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[credential]\n\thelper = !touch "+other+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("TENET_SECRET", "not for helpers")
	helper := filepath.Join(t.TempDir(), "helper")
	write := func(mode os.FileMode, password string) {
		t.Helper()
		text := "#!/bin/sh\n{ echo \"$*\"; cat; env; } >> " + asked + "\ntest \"$1\" = get && printf 'username=robot\\npassword=" + password + "\\n'\nexit 0\n"
		if err := errors.Join(os.WriteFile(helper, []byte(text), mode), os.Chmod(helper, mode)); err != nil {
			t.Fatal(err)
		}
	}
	c := client(t)
	c.CAFile, c.Credentials = server.CAFile, Credentials{Helper: helper}
	write(0o600, "t0ken")
	_, err := open(t, c, server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeCredentials, "is no program")
	write(0o700, "t0ken")
	fetch(t, open(t, c, server.Address()), "main")
	said, err := os.ReadFile(asked)
	host := strings.TrimPrefix(server.URL, "https://")
	if err != nil || !strings.Contains(string(said), "get\n") || !strings.Contains(string(said), "protocol=https\nhost="+host+"\n") || strings.Contains(string(said), "not for helpers") {
		t.Errorf("it was asked %q, %v", said, err)
	}

	// Whatever the other side says, a password is not repeated.
	write(0o700, "wr0ng")
	_, err = open(t, c, server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeCredentials, "does not let you in")
	for _, answer := range []string{"0009wr0ng", "001f# service=git-upload-pack\n0000000fERR wr0ng\n", "wr0ng"} {
		server.Before(func(w http.ResponseWriter, req *http.Request) bool {
			if _, password, ok := req.BasicAuth(); !ok || password != "wr0ng" {
				return gittest.RequireToken("robot", "-")(w, req)
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, answer)
			return true
		})
		_, err = open(t, c, server.Address()).Resolve(t.Context(), "")
		if err == nil || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("of the answer %q: %v", answer, err)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the helper of the account was asked")
	}

	// Another host gets nothing of it.
	before := len(said)
	elsewhere := repository.Serve(true)
	elsewhere.Before(gittest.RequireToken("robot", "t0ken"))
	server.Before(func(w http.ResponseWriter, req *http.Request) bool {
		http.Redirect(w, req, elsewhere.URL+req.URL.String(), http.StatusFound)
		return true
	})
	if err := os.Truncate(asked, int64(before)); err != nil {
		t.Fatal(err)
	}
	_, err = open(t, c, server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeUnreachable, "has moved")
	if info, err := os.Stat(asked); err != nil || info.Size() != int64(before) || elsewhere.Requests() > 0 {
		t.Errorf("it was asked for another host, %d times: %v", elsewhere.Requests(), err)
	}
}

// What the machine and the user have configured for git does not count, nor do hooks.
func TestNoOtherConfiguration(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": ""}})
	home, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	for name, text := range map[string]string{
		".gitconfig":            fmt.Sprintf("[url \"https://elsewhere.invalid/\"]\n\tinsteadOf = file://\n[core]\n\thooksPath = %s\n\tfsmonitor = touch %s\n", home, mark),
		"reference-transaction": "#!/bin/sh\ntouch " + mark + "\n", "post-checkout": "#!/bin/sh\ntouch " + mark + "\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
	t.Setenv("GIT_CONFIG_VALUE_0", home)
	t.Setenv("GIT_DIR", "/nonexistent")
	r := open(t, client(t), repository.URL())
	v := fetch(t, r, "main")
	if _, err := r.Extract(t.Context(), v.Commit, "", filepath.Join(t.TempDir(), "x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("something of it was run")
	}
}

// Two processes use one cache, one after the other; what an ended one has left is removed.
func TestCacheIsShared(t *testing.T) {
	repository := gittest.New(t)
	var commits []string
	for i := range 8 {
		commits = append(commits, repository.Commit(gittest.Commit{Files: map[string]string{"a": fmt.Sprint(i)}}))
	}
	c := client(t)
	to := t.TempDir()
	var all sync.WaitGroup
	for i, commit := range commits {
		all.Go(func() {
			r := open(t, &Client{Dir: c.Dir, Getenv: os.Getenv, Timeout: time.Minute}, repository.URL())
			if err := r.Fetch(t.Context(), Revision{Commit: commit}); err != nil {
				t.Error(err)
			} else if _, err := r.Extract(t.Context(), commit, "", filepath.Join(to, fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r := open(t, c, repository.URL())
	for name, damage := range map[string]func() error{
		"locks": func() error { return os.WriteFile(filepath.Join(r.dir, "shallow.lock"), nil, 0o600) },
		"remains": func() error {
			return os.WriteFile(filepath.Join(r.dir, "objects", "pack", "tmp_pack_x"), []byte("x"), 0o600)
		},
		"HEAD":     func() error { return os.WriteFile(filepath.Join(r.dir, "HEAD"), nil, 0o600) },
		"no HEAD":  func() error { return os.Remove(filepath.Join(r.dir, "HEAD")) },
		"no files": func() error { return os.RemoveAll(filepath.Join(r.dir, "objects")) },
	} {
		if err := damage(); err != nil {
			t.Fatal(name, err)
		}
		commit := repository.Commit(gittest.Commit{Files: map[string]string{"a": name}})
		if err := r.Fetch(t.Context(), Revision{Commit: commit}); err != nil {
			t.Error(name, err)
		}
		if _, err := r.Extract(t.Context(), commit, "", filepath.Join(to, name)); err != nil {
			t.Error(name, err)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "objects", "pack", "tmp_pack_x")); err == nil {
			t.Error("remains are there still")
		}
	}
}

// The cache stays small however long a repository is followed.
func TestCacheIsPruned(t *testing.T) {
	repository := gittest.New(t)
	c := client(t)
	r := open(t, c, repository.URL())
	former := ""
	for i := range 3 * maxKept {
		commit := repository.Commit(gittest.Commit{Files: map[string]string{"a": noise(100000) + fmt.Sprint(i), fmt.Sprint(i): ""}, Time: at(i)})
		if err := r.Fetch(t.Context(), Revision{Commit: commit}, former); err != nil {
			t.Fatal(err)
		}
		if former != "" {
			if changed, err := r.Changed(t.Context(), former, commit); err != nil || len(changed) != 3 && i > 1 {
				t.Fatal(changed, err)
			}
			if is, err := r.IsDescendant(t.Context(), Revision{Commit: commit}, former); err != nil || !is {
				t.Fatal(is, err)
			}
		}
		former = commit
	}
	kept, err := r.keptRefs(t.Context())
	if err != nil || len(kept) > maxKept+1 {
		t.Errorf("%d are kept: %v", len(kept), err)
	}
	if packs, err := filepath.Glob(filepath.Join(r.dir, "objects", "pack", "*.pack")); err != nil || len(packs) > 3*maxKept {
		t.Errorf("%d packs: %v", len(packs), err)
	}
}

// What was fetched is looked for in the cache alone.
func TestFetchedOnce(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": ""}})
	server := repository.Serve(false)
	r := open(t, client(t), server.Address())
	v := fetch(t, r, "main")
	server.Before(func(w http.ResponseWriter, _ *http.Request) bool {
		t.Error("the server is asked again")
		return false
	})
	if err := r.Fetch(t.Context(), v); err != nil {
		t.Error(err)
	}
}
