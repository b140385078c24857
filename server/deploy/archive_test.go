package deploy

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
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
