package runnerbuild

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// sourceTree makes a folder that passes for tenet's source.
func sourceTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + module + "\n", program + "/main.go": "package main\n",
		"a/a.go": "package a\n", "a/a_test.go": "package a\n", "docs/a.md": "a\n", ".git/HEAD": "a\n",
	} {
		rewrite(t, filepath.Join(dir, name), text, time.Unix(1e9, 0))
	}
	return dir
}

func rewrite(t *testing.T, name, text string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// What a program is made of tells sources apart, and nothing else does.
func TestDigest(t *testing.T) {
	dir, now := sourceTree(t), time.Unix(1e9, 0)
	of := func() string {
		t.Helper()
		sum, err := digest(dir)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := of()
	for _, name := range []string{"a/a_test.go", "docs/a.md", ".git/HEAD", "a/testdata/x"} {
		if rewrite(t, filepath.Join(dir, name), "another\n", now.Add(time.Hour)); of() != first {
			t.Errorf("%s is in no program", name)
		}
	}
	for name, change := range map[string]func(){
		"a time":   func() { rewrite(t, filepath.Join(dir, "a/a.go"), "package b\n", now.Add(1)) },
		"a size":   func() { rewrite(t, filepath.Join(dir, "a/a.go"), "package aa\n", now) },
		"a name":   func() { rewrite(t, filepath.Join(dir, "a/b.go"), "package a\n", now) },
		"a folder": func() { dir = sourceTree(t) },
	} {
		before := of()
		if change(); of() == before {
			t.Errorf("%s makes no difference", name)
		}
	}
}

// A runner is kept for the source that it was built of, as long as that is as it was.
func TestKept(t *testing.T) {
	b := func(source, cache string) *Builder { return &Builder{Cache: cache, Source: source, Version: "v1"} }
	dir, cache := sourceTree(t), t.TempDir()
	if got := b(dir, cache).Cached("linux", "s390x"); got != "" {
		t.Error("kept before it was built:", got)
	}
	sum, err := digest(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "v1-"+sum, name("linux", "s390x"))
	rewrite(t, path, "runner", time.Now())
	if got := b(dir, cache).Cached("linux", "s390x"); got != path {
		t.Errorf("%q, and not %s", got, path)
	}
	if got := b(dir, cache).Cached("linux", "arm64"); got != "" {
		t.Error("of another machine:", got)
	}
	rewrite(t, filepath.Join(dir, "a/a.go"), "package a // more\n", time.Now())
	if got := b(dir, cache).Cached("linux", "s390x"); got != "" {
		t.Error("of another source:", got)
	}
}

// A checkout that calls itself tenet is not built of because a command runs in it.
func TestSourceIsNotWhereItRuns(t *testing.T) {
	dir := sourceTree(t)
	if !isSource(dir) {
		t.Fatal("the folder does not call itself tenet")
	}
	t.Chdir(dir)
	if got := source(); got == dir {
		t.Errorf("it is built of %s", got)
	}
	if !isOurs(dir) {
		t.Error("a folder of one's own is refused")
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if isOurs(dir) {
		t.Error("a folder into which everybody may write is trusted")
	}
}
