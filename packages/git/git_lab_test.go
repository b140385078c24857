//go:build lab

package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/git/gittest"
)

func client(t *testing.T) *Client {
	return &Client{Dir: filepath.Join(t.TempDir(), "cache"), Getenv: os.Getenv, Timeout: time.Minute}
}

func open(t *testing.T, c *Client, url string) *Repository {
	t.Helper()
	r, err := c.Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fetch resolves a ref, and fetches what it stands for.
func fetch(t *testing.T, r *Repository, ref string) Revision {
	t.Helper()
	v, err := r.Resolve(t.Context(), ref)
	if err == nil {
		err = r.Fetch(t.Context(), v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// tree reads a directory: names, with x: before those of executable files.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		if info.Mode()&0o100 != 0 {
			name = "x:" + name
		}
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wants(t *testing.T, err error, code, text string) {
	t.Helper()
	if err == nil || diag.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%q %v, and not %q with %q", diag.CodeOf(err), err, code, text)
	}
}

// The same comes by each way to a repository: files, HTTP and HTTPS.
func TestExtract(t *testing.T) {
	files := map[string]string{"a": "1\n", "x:bin/run": "#!/bin/sh\n", "sub/dir/b": "", "sub/ü": strings.Repeat("x", 100000)}
	repository := gittest.New(t)
	first := repository.Commit(gittest.Commit{Files: files})
	repository.Tag("v1", "main", "")
	repository.Git("tag", "light", "main")
	encrypted := repository.Serve(true)
	for _, url := range []string{repository.URL(), repository.Serve(false).Address(), encrypted.Address()} {
		c := client(t)
		c.CAFile = encrypted.CAFile
		r := open(t, c, url)
		for _, ref := range []string{"", "main", "refs/heads/main", "v1", "refs/tags/v1", "light", first} {
			v := fetch(t, r, ref)
			if v.Commit != first || (v.Tag == "v1") != strings.HasSuffix(ref, "v1") {
				t.Errorf("%s: %q is %+v", url, ref, v)
			}
		}
		to := t.TempDir()
		contents, err := r.Extract(t.Context(), first, "", filepath.Join(to, "all"))
		if err != nil || contents.Files != 4 {
			t.Fatal(contents, err)
		}
		if got := tree(t, filepath.Join(to, "all")); !maps.Equal(got, files) {
			t.Errorf("%v", slices.Sorted(maps.Keys(got)))
		}
		if _, err := r.Extract(t.Context(), first, "sub", filepath.Join(to, "sub")); err != nil {
			t.Fatal(err)
		}
		if got := tree(t, filepath.Join(to, "sub")); len(got) != 2 || got["dir/b"] != "" {
			t.Errorf("%v", got)
		}
		if _, err := r.Extract(t.Context(), first, "", filepath.Join(to, "sub")); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
		_, err = r.Extract(t.Context(), first, "no", filepath.Join(to, "no"))
		wants(t, err, CodeNotFound, `has no directory "no"`)
		_, err = r.Extract(t.Context(), first, "a", filepath.Join(to, "no"))
		wants(t, err, CodeNotFound, `has no directory "a"`)
		_, err = r.Extract(t.Context(), strings.Repeat("0", 40), "", filepath.Join(to, "no"))
		wants(t, err, CodeNotFound, "is not in the cache")
		if left, err := os.ReadDir(to); err != nil || len(left) != 2 {
			t.Errorf("%v %v", left, err)
		}
	}
}

func TestNotThere(t *testing.T) {
	repository := gittest.New(t)
	_, err := open(t, client(t), repository.URL()).Resolve(t.Context(), "")
	wants(t, err, CodeNotFound, "is empty")
	repository.Commit(gittest.Commit{Files: map[string]string{"a": ""}})
	repository.Git("branch", "both", "main")
	repository.Git("tag", "both", "main")
	server := repository.Serve(false)
	r := open(t, client(t), server.Address())
	_, err = r.Resolve(t.Context(), "both")
	wants(t, err, "ambiguous", "is a tag and a branch")
	_, err = r.Resolve(t.Context(), "other")
	wants(t, err, CodeNotFound, `no tag and no branch "other"`)
	_, err = r.Resolve(t.Context(), "--upload-pack=id")
	wants(t, err, "reference", "begins with -")
	wants(t, r.Fetch(t.Context(), Revision{Commit: strings.Repeat("1", 40)}), CodeNotFound, "has no such commit")
	_, err = open(t, client(t), server.URL+"/other.git").Resolve(t.Context(), "")
	wants(t, err, CodeNotFound, "no such repository")
	_, err = open(t, client(t), "file://"+repository.Dir+"x").Resolve(t.Context(), "")
	wants(t, err, CodeNotFound, "no such repository")
	server.Close()
	_, err = r.Resolve(t.Context(), "")
	wants(t, err, CodeUnreachable, "cannot be read")
	c := client(t)
	c.Program = "/nonexistent/git"
	_, err = open(t, c, repository.URL()).Resolve(t.Context(), "")
	wants(t, err, CodeProgram, "cannot be run")
}

// Whatever cannot be written safely is refused, and leaves nothing.
func TestHostileTrees(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"link":          {map[string]string{"a": "", "link:b": "/etc/passwd"}, `"b" is a link`},
		"link inside":   {map[string]string{"a": "", "link:b": "a"}, `"b" is a link`},
		"submodule":     {map[string]string{"a": "", "module:b": strings.Repeat("1", 40)}, `"b" is a submodule`},
		"case":          {map[string]string{"a/b": "", "A/c": ""}, "differ by case"},
		"case of files": {map[string]string{"a": "", "A": ""}, "differ by case"},
		"control":       {map[string]string{"a\x1b[2J": ""}, "has a control character"},
		"backslash":     {map[string]string{`a\b`: ""}, "has a backslash"},
		"deep":          {map[string]string{strings.Repeat("a/", 40) + "b": ""}, "folders deep"},
		"long":          {map[string]string{strings.Repeat("a", 300): ""}, "more than 255 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			repository := gittest.New(t)
			commit := repository.Commit(gittest.Commit{Files: c.files})
			r := open(t, client(t), repository.URL())
			fetch(t, r, "main")
			to := t.TempDir()
			_, err := r.Extract(t.Context(), commit, "", filepath.Join(to, "x"))
			wants(t, err, "content", c.want)
			if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
				t.Errorf("%v %v", left, err)
			}
		})
	}
}

// Trees that git itself would not make can be written by others.
func TestHostileNames(t *testing.T) {
	repository := gittest.New(t)
	blob := strings.TrimSpace(repository.Hash("blob", "x"))
	for _, name := range []string{".git", ".GIT", "..", "."} {
		object := ""
		for i := 0; i < len(blob); i += 2 {
			var b byte
			fmt.Sscanf(blob[i:i+2], "%02x", &b)
			object += string([]byte{b})
		}
		inner := strings.TrimSpace(repository.Hash("tree", "100644 "+name+"\x00"+object))
		commit := strings.TrimSpace(repository.Hash("commit", "tree "+inner+"\nauthor T <t@example.org> 1 +0000\ncommitter T <t@example.org> 1 +0000\n\nx\n"))
		repository.Git("update-ref", "refs/heads/main", commit)
		r := open(t, client(t), repository.URL())
		v, err := r.Resolve(t.Context(), "main")
		if err == nil {
			err = r.Fetch(t.Context(), v)
		}
		to := t.TempDir()
		if err == nil {
			_, err = r.Extract(t.Context(), commit, "", filepath.Join(to, "x"))
		}
		if err == nil {
			t.Errorf("%q was taken", name)
		}
		if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
			t.Errorf("%v %v", left, err)
		}
	}
}

func TestLimits(t *testing.T) {
	repository := gittest.New(t)
	random := strings.Repeat("0123456789abcdef", 1<<16)
	commit := repository.Commit(gittest.Commit{Files: map[string]string{"a": random, "b": "1", "c": "2"}})
	for _, l := range []struct {
		limits Limits
		want   string
	}{{Limits{Bytes: 1 << 19}, "files of more than 0 MiB"}, {Limits{Files: 2}, "more than 2 files"}} {
		c := client(t)
		c.Limits = l.limits
		r := open(t, c, repository.URL())
		fetch(t, r, "main")
		_, err := r.Extract(t.Context(), commit, "", filepath.Join(t.TempDir(), "x"))
		wants(t, err, CodeTooLarge, l.want)
	}
}

// A repository that grows without end is given up, and its disk space given back.
func TestTooLarge(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": noise(8 << 20)}})
	c := client(t)
	c.Limits.Cache = 1 << 20
	r := open(t, c, repository.URL())
	v, err := r.Resolve(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, r.Fetch(t.Context(), v), CodeTooLarge, "more than 1 MiB")
	if bytes, err := r.size(); err != nil || bytes > 1<<20 {
		t.Errorf("%d bytes are left: %v", bytes, err)
	}
}

// noise does not compress.
func noise(n int) string {
	data, x := make([]byte, n), uint64(1)
	for i := range data {
		x = x*6364136223846793005 + 1442695040888963407
		data[i] = byte(x >> 33)
	}
	return string(data)
}

// A server that hangs takes as long as it may, and no more; a call that is given up ends git.
func TestServerHangs(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": ""}})
	server := repository.Serve(false)
	c := client(t)
	r := open(t, c, server.Address())
	v := fetch(t, r, "")
	server.Before(gittest.Hang)
	c.Timeout = time.Second / 2
	begin := time.Now()
	_, err := r.Resolve(t.Context(), "")
	wants(t, err, "timeout", "longer than 500ms")
	commit := repository.Commit(gittest.Commit{Files: map[string]string{"a": "2"}})
	wants(t, r.Fetch(t.Context(), Revision{Commit: commit}), "timeout", "longer than")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second/10, cancel)
	if _, err := r.Resolve(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
	server.Before(nil)
	c.Timeout = time.Minute
	if err := r.Fetch(t.Context(), Revision{Commit: commit}); err != nil {
		t.Error(err)
	}
	if err := r.Fetch(t.Context(), v); err != nil {
		t.Error(err)
	}
}

// A server may send endless headers or bodies, and lead elsewhere.
func TestHostileServer(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": ""}})
	server, other := repository.Serve(false), repository.Serve(false)
	server.Before(func(w http.ResponseWriter, req *http.Request) bool {
		http.Redirect(w, req, other.URL+req.URL.String(), http.StatusFound)
		return true
	})
	_, err := open(t, client(t), server.Address()).Resolve(t.Context(), "")
	wants(t, err, CodeUnreachable, "has moved")
	if other.Requests() > 0 {
		t.Error("it was asked elsewhere")
	}
	server.Before(func(w http.ResponseWriter, req *http.Request) bool {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, "003d%040x refs/heads/%05d\n", i, i%100000); err != nil {
				return true
			}
		}
	})
	c := client(t)
	c.Timeout = 3 * time.Second
	begin := time.Now()
	if _, err = open(t, c, server.Address()).Resolve(t.Context(), ""); err == nil || time.Since(begin) > 8*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
