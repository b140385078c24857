package ssh

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/tenetcm/tenet/lang/diag"
)

func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, filepath.Join(second, "tenet-runner-linux-arm64"), "second")
	write(t, filepath.Join(second, "tenet-runner-linux-armv6"), "old")
	r := &Runners{Dirs: []string{filepath.Join(first, "none"), first, second}}
	path := func(arch string) string {
		t.Helper()
		found, err := r.Find("linux", arch)
		if err != nil {
			t.Fatal(err)
		}
		return found.Path
	}
	if got := path("arm64"); got != filepath.Join(second, "tenet-runner-linux-arm64") {
		t.Error(got)
	}
	write(t, filepath.Join(first, "tenet-runner-linux-arm64"), "first")
	if got := path("arm64"); got != filepath.Join(first, "tenet-runner-linux-arm64") {
		t.Error(got)
	}
	// An ARM of version 7 runs what is for version 6, and not the other way.
	if got := path("armv7"); got != filepath.Join(second, "tenet-runner-linux-armv6") {
		t.Error(got)
	}
	write(t, filepath.Join(second, "tenet-runner-linux-armv7"), "new")
	if got := path("armv6"); got != filepath.Join(second, "tenet-runner-linux-armv6") {
		t.Error(got)
	}

	_, err := r.Find("linux", "riscv64")
	var none *NoRunnerError
	if !errors.As(err, &none) || !strings.Contains(diag.HintOf(err), "tenet runner build --os linux --arch riscv64 --out DIR") || !strings.Contains(diag.HintOf(err), "--runner-dir DIR") {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(first, "tenet-runner-linux-riscv64"), "")
	if _, err := r.Find("linux", "riscv64"); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("%v", err)
	}
}

// A digest is looked up once, and anew for a file that has changed.
func TestFindAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tenet-runner-linux-amd64")
	write(t, path, "one")
	r := &Runners{Dirs: []string{dir}}
	before, err := r.Find("linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Find("linux", "amd64"); err != nil || again != before {
		t.Errorf("%v %v", again, err)
	}
	write(t, path, "two")
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	after, err := r.Find("linux", "amd64")
	if err != nil || after.SHA256 == before.SHA256 {
		t.Errorf("%v %v", after, err)
	}
	e, err := r.find("linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := e.compress()
	if err != nil {
		t.Fatal(err)
	}
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(in); err != nil || string(text) != "two" {
		t.Errorf("%q %v", text, err)
	}
	// What has changed since it was looked at is not sent under its name.
	write(t, path, "three")
	if _, err := e.read(); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("%v", err)
	}
}

// This program is a runner where it fits, and where it needs no libraries.
func TestSelf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &Runners{Self: self}
	arch := runtime.GOARCH
	if arch == "arm" {
		arch = "armv7"
	}
	found, err := r.Find(runtime.GOOS, arch)
	if checkStatic(self) == nil {
		if err != nil || found.Path != self {
			t.Errorf("%v %v", found, err)
		}
	} else if err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0 go build") { // with -race
		t.Errorf("%v %v", found, err)
	}
	if _, err := r.Find(runtime.GOOS, "s390x"); err == nil || strings.Contains(err.Error(), ":") {
		t.Errorf("%v", err)
	}
	r.Self = filepath.Join(t.TempDir(), "text")
	write(t, r.Self, "no program")
	if _, err := r.Find(runtime.GOOS, arch); err == nil {
		t.Error("a text is a runner")
	}
}

func TestPlatforms(t *testing.T) {
	dir := t.TempDir()
	r := &Runners{Dirs: []string{dir}}
	if got := r.table(); got != "" {
		t.Errorf("%q", got)
	}
	for _, p := range platforms() {
		if !IsPlatform(p.os, p.arch) || strings.ContainsAny(p.uname, " =") || slices.ContainsFunc(platforms(), func(q platform) bool { return q != p && q.uname == p.uname }) {
			t.Errorf("%v", p)
		}
		write(t, filepath.Join(dir, "tenet-runner-"+p.os+"-"+p.arch), p.arch)
	}
	if IsPlatform("linux", "arm") || IsPlatform("plan9", "amd64") {
		t.Error("too much is known")
	}
	for _, pair := range strings.Fields(r.table()) {
		uname, digest, _ := strings.Cut(pair, "=")
		e, err := r.forUname(t.Context(), uname, func() {})
		if err != nil || e.runner.SHA256 != digest || len(digest) != 64 {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

// Digests are kept between runs, of files that stay what they are.
func TestDigestsAreKept(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "tenet-runner-linux-amd64"), filepath.Join(dir, "cache/digests.json")
	write(t, path, "one")
	sum := func() string {
		t.Helper()
		r := &Runners{Dirs: []string{dir}, Digests: file}
		found, err := r.Find("linux", "amd64")
		if err != nil || found.Size != 3 {
			t.Fatal(found, err)
		}
		return found.SHA256
	}
	first := sum()
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), first) {
		t.Fatalf("%s %v", text, err)
	}
	// It is believed.
	other := strings.Repeat("ab", 32)
	write(t, file, strings.Replace(string(text), first, other, 1))
	if got := sum(); got != other {
		t.Error(got)
	}
	// A file that changes, however well that is hidden, is read anew.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "two")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	second := sum()
	if second == first || second == other {
		t.Error(second)
	}
	// So is everything where the file is damaged, or cannot be written.
	for _, text := range []string{"", "{", `{"` + path + `":{"sha256":"x"}}`, "[]"} {
		write(t, file, text)
		if got := sum(); got != second {
			t.Errorf("%q: %s", text, got)
		}
	}
	file = filepath.Join(path, "below/a/file")
	if got := sum(); got != second {
		t.Error(got)
	}
}
