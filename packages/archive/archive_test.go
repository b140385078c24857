package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/packages/archive"
)

// pack writes an archive.
func pack(t testing.TB, files fs.FS) ([]byte, archive.Contents) {
	t.Helper()
	var out bytes.Buffer
	contents, err := archive.Write(&out, files)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), contents
}

// text gives all that counts of some files.
func text(t testing.TB, files fs.FS) string {
	t.Helper()
	var out strings.Builder
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%q %t %q\n", name, info.Mode()&0o100 != 0, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The digest is part of what others write down: it never changes for the same files.
func TestDigestStays(t *testing.T) {
	files := fstest.MapFS{
		"main.hcl":     {Data: []byte("state \"a\" {}\n"), Mode: 0o640, ModTime: time.Now()},
		"files/run.sh": {Data: []byte("#!/bin/sh\n"), Mode: 0o700},
		"files-more":   {Data: nil, Mode: 0o444},
		"schön/" + strings.Repeat("x", 200) + "/" + strings.Repeat("y", 200): {Data: []byte("long"), Mode: 0o644},
	}
	const want = "sha256:77b41990d998bb90051723b673388982ee8cd0548883fda8b26d4d5d1da0c666"
	if got, err := archive.Digest(files); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, contents := pack(t, files); contents != (archive.Contents{Digest: want, Files: 4, Bytes: 27}) {
		t.Errorf("%+v", contents)
	}
}

// What is extracted is what was written; its digest is the same in any order, with any times and other modes than that of execution.
func TestExtractUndoesWrite(t *testing.T) {
	base := t.TempDir()
	count := 0
	rapid.Check(t, func(t *rapid.T) {
		files := drawFiles(t)
		var out bytes.Buffer
		written, err := archive.Write(&out, files)
		if err != nil {
			t.Fatal(err)
		}
		count++
		dir := filepath.Join(base, fmt.Sprint(count))
		extracted, err := archive.Extract(t.Context(), bytes.NewReader(out.Bytes()), dir, archive.Options{Digest: written.Digest})
		if err != nil {
			t.Fatal(err)
		}
		digest, err := archive.Digest(os.DirFS(dir))
		if err != nil || digest != written.Digest || extracted != written {
			t.Fatalf("%s (%v), written %+v, extracted %+v", digest, err, written, extracted)
		}
		if got, want := textOf(t, os.DirFS(dir)), textOf(t, files); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
		other := fstest.MapFS{}
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(files))) {
			mode := fs.FileMode(0o400)
			if files[name].Mode&0o100 != 0 {
				mode = 0o511
			}
			other[name] = &fstest.MapFile{Data: files[name].Data, Mode: mode, ModTime: time.Unix(int64(len(name)), 5)}
		}
		if digest, err := archive.Digest(other); err != nil || digest != written.Digest {
			t.Fatalf("as other files: %s (%v), not %s", digest, err, written.Digest)
		}
		// Any change is another digest.
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(other))).Draw(t, "changed")
		other[name].Mode ^= 0o100
		if digest, err := archive.Digest(other); err != nil || digest == written.Digest {
			t.Fatalf("with another mode: %s (%v)", digest, err)
		}
	})
}

func textOf(t *rapid.T, files fs.FS) string {
	var out strings.Builder
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		info, _ := d.Info()
		fmt.Fprintf(&out, "%q %t %q\n", name, info.Mode()&0o100 != 0, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func drawFiles(t *rapid.T) fstest.MapFS {
	files := fstest.MapFS{}
	element := rapid.StringMatching(`[a-c.\-+ ü][a-d0-9\-]{0,3}[x-z]`)
	for _, name := range rapid.SliceOfNDistinct(rapid.SliceOfN(element, 1, 4), 1, 12, func(s []string) string { return path.Join(s...) }).Draw(t, "names") {
		files[path.Join(name...)] = &fstest.MapFile{
			Data: rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "data"),
			Mode: rapid.SampledFrom([]fs.FileMode{0o644, 0o755}).Draw(t, "mode"),
		}
	}
	for name := range files { // a file is no folder
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			delete(files, dir)
		}
	}
	return files
}

func TestLeftOut(t *testing.T) {
	plain := fstest.MapFS{"main.hcl": {Data: []byte("x")}, "tenet.lock": {Data: []byte("y")}, "a/vendor/b": {Data: []byte("z")}}
	more := maps.Clone(plain)
	for _, name := range []string{".git/config", "a/.git", "vendor/web/main.hcl"} {
		more[name] = &fstest.MapFile{Data: []byte("left out")}
	}
	more["vendor/link"] = &fstest.MapFile{Mode: fs.ModeSymlink}
	more["empty/folder"] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	_, want := pack(t, plain)
	if _, got := pack(t, more); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What cannot be extracted everywhere is refused when it is packed.
func TestWriteRefuses(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"empty", fstest.MapFS{}, "it has no files"},
		{"link", fstest.MapFS{"a": {Mode: fs.ModeSymlink, Data: []byte("b")}, "b": file}, `"a" is a link or a device`},
		{"pipe", fstest.MapFS{"a": {Mode: fs.ModeNamedPipe}}, `"a" is a link or a device`},
		{"case", fstest.MapFS{"README": file, "Readme": file}, `"README" and "Readme" differ by case`},
		{"case of folders", fstest.MapFS{"Straße/a": file, "STRASSE/b": file}, `"STRASSE" and "Straße" differ by case`},
		{"composed", fstest.MapFS{"\u00e9": file, "e\u0301": file}, `differ by case or by how`},
		{"control", fstest.MapFS{"a\nb": file}, `"a\nb" has a control character`},
		{"backslash", fstest.MapFS{`a\b`: file}, `"a\\b" has a backslash`},
		{"deep", fstest.MapFS{strings.Repeat("a/", 32) + "b": file}, "more than 32 folders deep"},
		{"long", fstest.MapFS{strings.Repeat("a", 256): file}, "a part of more than 255 bytes"},
		{"longer", fstest.MapFS{strings.Repeat(strings.Repeat("a", 200)+"/", 5) + "b": file}, "more than 1000 bytes"},
		{"bomb", fstest.MapFS{"a": {Data: make([]byte, 32<<20)}}, "more than 200 times as large"},
	} {
		_, err := archive.Write(&bytes.Buffer{}, c.files)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := archive.Digest(c.files); err == nil && c.name != "bomb" {
			t.Errorf("%s: it has a digest", c.name)
		}
	}
}

// A folder of this machine may hold what fs.FS cannot name.
func TestFolderWithStrangeNames(t *testing.T) {
	for _, name := range []string{"a\xff", "a\xff/b"} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Digest(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), `"a\xff" is no UTF-8`) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

type growing struct{ fs.FS }

type growingFile struct{ fs.File }

func (g growing) Open(name string) (fs.File, error) {
	f, err := g.FS.Open(name)
	if name == "." || err != nil {
		return f, err
	}
	return growingFile{f}, nil
}

func (growingFile) Read(data []byte) (int, error) { return len(data), nil }

func TestFileThatGrows(t *testing.T) {
	files := growing{fstest.MapFS{"log": {Data: []byte("x")}}}
	if _, err := archive.Digest(files); err == nil || !strings.Contains(err.Error(), `"log" has changed while it was read`) {
		t.Error(err)
	}
}

func TestExtractWhereSomethingIs(t *testing.T) {
	data, _ := pack(t, fstest.MapFS{"a": {Data: []byte("new")}})
	dir := t.TempDir()
	if _, err := archive.Extract(t.Context(), bytes.NewReader(data), dir, archive.Options{}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := archive.Extract(t.Context(), bytes.NewReader(data), filepath.Join(dir, "no", "where"), archive.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if got := text(t, os.DirFS(dir)); got != "" {
		t.Errorf("there is %s", got)
	}
}
