package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/packages/archive"
)

func compress(t testing.TB, data []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil, zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll(data, nil)
}

// plainTar writes a tar of whatever headers: all that are files have the contents "x".
func plainTar(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, 1
		}
		if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		h.Format = tar.FormatPAX
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestExtractRefuses(t *testing.T) {
	good := plainTar(t, tar.Header{Name: "a"}, tar.Header{Name: "b"})
	for _, c := range []struct {
		name string
		data []byte // compressed already, if so
		tar  []byte
		want string
	}{
		{name: "nothing", data: []byte{}, want: "it has no files"},
		{name: "no zstd", data: []byte("hello, this is text"), want: "no archive of a package"},
		{name: "no tar", tar: bytes.Repeat([]byte("hello"), 500), want: "no archive of a package"},
		{name: "cut", data: compress(t, good)[:40], want: "it is damaged"},
		{name: "cut tar", tar: good[:700], want: "has not the form"},
		{name: "no end", tar: good[:2048], want: "has not the form"},
		{name: "more", tar: append(bytes.Clone(good), 0), want: "more follows"},
		{name: "second archive", data: append(compress(t, good), compress(t, good)...), want: "more follows"},
		{name: "garbage", data: append(compress(t, good), "garbage!"...), want: "it is damaged"},
		{name: "link", tar: plainTar(t, tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), want: `"a" is a link`},
		{name: "hard link", tar: plainTar(t, tar.Header{Name: "a"}, tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}), want: `"b" is a link`},
		{name: "device", tar: plainTar(t, tar.Header{Name: "a", Typeflag: tar.TypeBlock}), want: `"a" is a link or a device`},
		{name: "folder", tar: plainTar(t, tar.Header{Name: "a/", Typeflag: tar.TypeDir}), want: `the folder "a/"`},
		{name: "absolute", tar: plainTar(t, tar.Header{Name: "/etc/passwd"}), want: "is no name within a folder"},
		{name: "up", tar: plainTar(t, tar.Header{Name: "../a"}), want: "is no name within a folder"},
		{name: "up within", tar: plainTar(t, tar.Header{Name: "a/../../b"}), want: "is no name within a folder"},
		{name: "dot", tar: plainTar(t, tar.Header{Name: "./a"}), want: "is no name within a folder"},
		{name: "not UTF-8", tar: plainTar(t, tar.Header{Name: "a\xff"}), want: "is no UTF-8"},
		{name: "control", tar: plainTar(t, tar.Header{Name: "a\x1b[2J"}), want: "has a control character"},
		{name: "twice", tar: plainTar(t, tar.Header{Name: "a"}, tar.Header{Name: "a"}), want: `it has "a" twice`},
		{name: "order", tar: plainTar(t, tar.Header{Name: "b"}, tar.Header{Name: "a"}), want: `"a" comes after "b"`},
		{name: "case", tar: plainTar(t, tar.Header{Name: "A/x"}, tar.Header{Name: "a/y"}), want: "differ by case"},
		{name: "file and folder", tar: plainTar(t, tar.Header{Name: "a"}, tar.Header{Name: "a/b"}), want: `"a" is a file and a folder`},
		{name: "left out", tar: plainTar(t, tar.Header{Name: ".git/hooks/post-checkout"}), want: ".git is left out"},
		{name: "vendor", tar: plainTar(t, tar.Header{Name: "vendor/a"}), want: "vendor is left out"},
		{name: "time", tar: plainTar(t, tar.Header{Name: "a", ModTime: time.Unix(5, 0)}), want: "has not the form"},
		{name: "owner", tar: plainTar(t, tar.Header{Name: "a", Uid: 5}), want: "has not the form"},
		{name: "setuid", tar: plainTar(t, tar.Header{Name: "a", Mode: 0o4755}), want: "has not the form"},
		{name: "attributes", tar: plainTar(t, tar.Header{Name: "a", PAXRecords: map[string]string{"SCHILY.xattr.user.a": "b"}}), want: "has not the form"},
		{name: "files", tar: manyFiles(t), want: "more than 20 files"},
		{name: "bytes", tar: plainTar(t, tar.Header{Name: "a"})[:512:512], want: "it is damaged"},
		{name: "global header", tar: plainTar(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"a": "b"}}), want: "is a link or a device"},
		{name: "endless headers", tar: bytes.Repeat(plainTar(t, tar.Header{Name: strings.Repeat("a", 150)})[:1024], 2000), want: "its tar is larger"},
		{name: "empty frames", data: bytes.Repeat([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, 300_000), want: "larger than 1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.data
			if data == nil {
				data = compress(t, c.tar)
			}
			base := t.TempDir()
			contents, err := archive.Extract(t.Context(), bytes.NewReader(data), filepath.Join(base, "to"), archive.Options{Limits: archive.Limits{Files: 20, Bytes: 1 << 20}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v, want %q", contents, err, c.want)
			}
			assertEmpty(t, base)
		})
	}
}

func manyFiles(t testing.TB) []byte {
	var headers []tar.Header
	for i := range 30 {
		headers = append(headers, tar.Header{Name: string(rune('A' + i))})
	}
	return plainTar(t, headers...)
}

func assertEmpty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("there is %v (%v)", entries, err)
	}
}

func TestLargeFile(t *testing.T) {
	data, _ := pack(t, fstest.MapFS{"a": {Data: make([]byte, 3<<20)}})
	base := t.TempDir()
	_, err := archive.Extract(t.Context(), bytes.NewReader(data), filepath.Join(base, "to"), archive.Options{Limits: archive.Limits{Bytes: 2 << 20}})
	if err == nil || !strings.Contains(err.Error(), "more than 2 MiB") {
		t.Error(err)
	}
	assertEmpty(t, base)
}

// A disk is not filled first: it ends where that is seen.
func TestBomb(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	const size = 64 << 20
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Size: size}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	written := int64(0)
	_, err := archive.Read(t.Context(), bytes.NewReader(compress(t, out.Bytes())), archive.Options{}, func(_ string, _ bool, in io.Reader) (err error) {
		written, err = io.Copy(io.Discard, in)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "more than 200 times as large") {
		t.Error(err)
	}
	if written > 17<<20 {
		t.Errorf("%d bytes were taken", written)
	}
}

func TestOtherDigest(t *testing.T) {
	data, contents := pack(t, fstest.MapFS{"a": {}})
	base := t.TempDir()
	_, err := archive.Extract(t.Context(), bytes.NewReader(data), filepath.Join(base, "to"), archive.Options{Digest: "sha256:00"})
	if err == nil || !strings.Contains(err.Error(), `its digest is `+contents.Digest+`, not "sha256:00"`) {
		t.Error(err)
	}
	assertEmpty(t, base)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Errors of the one who reads are told as they are, and an end of the context ends it.
func TestReaderFails(t *testing.T) {
	data, _ := pack(t, fstest.MapFS{"a": {}})
	lost := errors.New("the connection is lost")
	base := t.TempDir()
	_, err := archive.Extract(t.Context(), io.MultiReader(bytes.NewReader(data[:20]), failing{lost}), filepath.Join(base, "to"), archive.Options{})
	if err != lost {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(lost)
	if _, err = archive.Extract(ctx, bytes.NewReader(data), filepath.Join(base, "to"), archive.Options{}); err != lost {
		t.Error(err)
	}
	assertEmpty(t, base)
}

// Whatever comes, there is a folder with the digest that is told, or none.
func FuzzExtract(f *testing.F) {
	good, _ := pack(f, fstest.MapFS{"a/b": {Data: []byte("b")}, "c": {Mode: 0o755}})
	f.Add(good, false)
	f.Add(plainTar(f, tar.Header{Name: "a"}, tar.Header{Name: "b/../../c"}), true)
	f.Add(plainTar(f, tar.Header{Name: "ä", Mode: 0o755}, tar.Header{Name: strings.Repeat("a", 150)}), true)
	f.Fuzz(func(t *testing.T, data []byte, isTar bool) {
		if isTar {
			data = compress(t, data)
		}
		base := t.TempDir()
		dir := filepath.Join(base, "to")
		contents, err := archive.Extract(t.Context(), bytes.NewReader(data), dir, archive.Options{Limits: archive.Limits{Bytes: 1 << 20}})
		if err != nil {
			assertEmpty(t, base)
			return
		}
		if digest, err := archive.Digest(os.DirFS(dir)); err != nil || digest != contents.Digest {
			t.Errorf("the digest of the folder is %s (%v), not %s", digest, err, contents.Digest)
		}
	})
}
