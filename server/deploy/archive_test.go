package deploy

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// Whatever an archive holds, only plain files and directories come of it, within the folder.
func FuzzUnpack(f *testing.F) {
	add := func(headers ...tar.Header) {
		var out, packed bytes.Buffer
		w := tar.NewWriter(&out)
		for _, h := range headers {
			h.Mode = 0o4777
			_ = w.WriteHeader(&h)
			_, _ = w.Write(make([]byte, h.Size))
		}
		_ = w.Close()
		f.Add(out.Bytes())
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(out.Bytes())
		_ = z.Close()
		f.Add(packed.Bytes())
	}
	add(tar.Header{Name: "a/b", Typeflag: tar.TypeReg, Size: 10}, tar.Header{Name: "a", Typeflag: tar.TypeDir})
	add(tar.Header{Name: "../b", Typeflag: tar.TypeReg, Size: 10})
	add(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "l/b", Typeflag: tar.TypeReg, Size: 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		inside := filepath.Join(dir, "inside")
		if err := os.Mkdir(inside, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = unpack(bytes.NewReader(data), inside) // whether it is refused does not matter
		beside, err := os.ReadDir(dir)
		if err != nil || len(beside) != 1 {
			t.Fatalf("something is outside: %v %v", beside, err)
		}
		err = filepath.WalkDir(inside, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !e.Type().IsRegular() {
				t.Errorf("%s is %s", name, e.Type())
			}
			if info, failed := e.Info(); failed == nil && name != inside && info.Mode()&^fs.ModeDir != 0o755 && info.Mode() != 0o644 {
				t.Errorf("%s has the mode %s", name, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// What no site has is not unpacked.
func TestHostileArchives(t *testing.T) {
	p := newPlace(t, "web1")
	pack := func(headers ...tar.Header) *bytes.Buffer {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, h := range headers {
			h.Mode = 0o644
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			_, _ = w.Write(make([]byte, h.Size))
		}
		_ = w.Close()
		return &out
	}
	for name, in := range map[string]*bytes.Buffer{
		"above":     pack(tar.Header{Name: "../evil", Typeflag: tar.TypeReg}),
		"within":    pack(tar.Header{Name: "a/../../evil", Typeflag: tar.TypeReg}),
		"absolute":  pack(tar.Header{Name: "/etc/evil", Typeflag: tar.TypeReg}),
		"link":      pack(tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}),
		"hard link": pack(tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}),
		"device":    pack(tar.Header{Name: "a", Typeflag: tar.TypeChar}),
		"pipe":      pack(tar.Header{Name: "a", Typeflag: tar.TypeFifo}),
		"twice":     pack(tar.Header{Name: "a", Typeflag: tar.TypeReg}, tar.Header{Name: "a", Typeflag: tar.TypeReg}),
		"file, dir": pack(tar.Header{Name: "a", Typeflag: tar.TypeReg}, tar.Header{Name: "a/b", Typeflag: tar.TypeReg}),
		"deep":      pack(tar.Header{Name: strings.Repeat("a/", 100) + "b", Typeflag: tar.TypeReg}),
		"empty":     pack(),
		"garbage":   bytes.NewBufferString(strings.Repeat("garbage", 1000)),
		"cut off":   bytes.NewBuffer(pack(tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 5000}).Bytes()[:2000]),
		"no gzip":   bytes.NewBuffer([]byte{0x1f, 0x8b, 0, 1, 2, 3}),
	} {
		if r, err := p.Upload(t.Context(), p.ann, "shop", in, ""); err == nil {
			t.Errorf("%s is revision %+v", name, r)
		}
	}
	left, err := os.ReadDir(p.Dir)
	if err != nil || len(left) != 0 {
		t.Errorf("something is left: %v %v", left, err)
	}
}
