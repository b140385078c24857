package host_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// What is copied of an open directory is the file that was described, or nothing; on a
// shadow it can be read when the directory is closed and the file is another.
func TestCopyContentIn(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", host.InlineLimit/16) + "more"
	for _, text := range []string{"small", large} {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/f", []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		l, err := host.NewLocal(host.LocalOptions{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		for name, h := range map[string]host.Host{"local": l, "shadow": host.NewShadow(l), "watched": host.Watched(l, host.Watcher{Change: func(host.Place) error { return nil }})} {
			d, err := h.OpenDir("/")
			if err != nil {
				t.Fatal(err)
			}
			content, info, err := host.CopyContentIn(t.Context(), d, "f")
			if err != nil || info.Mode != 0o640 || info.Size != int64(len(text)) {
				t.Fatalf("%s: %+v, %v", name, info, err)
			}
			read := func() (string, error) {
				r, err := content.Open()
				if err != nil {
					return "", err
				}
				defer r.Close()
				data, err := io.ReadAll(r)
				return string(data), err
			}
			if got, err := read(); got != text || err != nil {
				t.Errorf("%s: %d bytes are %d: %v", name, len(text), len(got), err)
			}
			if err := h.WriteFile(t.Context(), "/f", host.Text(strings.Repeat("x", len(text))), host.Meta{}); err != nil {
				t.Fatal(err)
			}
			if name == "shadow" {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			got, err := read()
			if exchanged := err != nil && strings.Contains(err.Error(), "another file has come"); got != text && !exchanged || name == "shadow" && exchanged {
				t.Errorf("%s, once it is another: %.20q, %v", name, got, err)
			}
			if name != "shadow" {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := os.WriteFile(dir+"/f", []byte(text), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir+"/f", 0o640); err != nil {
				t.Fatal(err)
			}
		}
	}
}
