package planfile_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/planfile"
)

const format = "test/1"

// archive makes an archive of files, by name.
func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	w, err := planfile.NewArchive(format, "1.2.3", time.Unix(1_800_000_000, 0), map[string]int{"answer": 42})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := w.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func files() map[string]string {
	return map[string]string{"a.json": `{"a":1}`, "dir/b": "text\n", "dir/c": strings.Repeat("x", 1000)}
}

func TestArchive(t *testing.T) {
	data := archive(t, files())
	if !bytes.Equal(data, archive(t, files())) {
		t.Error("the same files give other bytes")
	}
	if !planfile.IsArchive(data[:planfile.IsArchiveLength]) || planfile.IsArchive(data[:planfile.IsArchiveLength-1]) || planfile.IsArchive(nil) {
		t.Error("it is not told by its beginning")
	}
	a, err := planfile.OpenArchive(data, format)
	if err != nil {
		t.Fatal(err)
	}
	var about map[string]int
	if err := a.About(&about); err != nil || about["answer"] != 42 || a.Program != "1.2.3" || a.Created.Unix() != 1_800_000_000 {
		t.Errorf("about: %v, %v, %s, %s", about, err, a.Program, a.Created)
	}
	if got := a.Names(); !slices.Equal(got, []string{"a.json", "dir/b", "dir/c"}) {
		t.Errorf("names: %q", got)
	}
	if text, err := a.Read("dir/b", 100); err != nil || string(text) != "text\n" {
		t.Errorf("dir/b is %q, %v", text, err)
	}
	if _, err := a.Read("dir/c", 999); err == nil {
		t.Error("a limit is passed over")
	}
	var unknown struct{ B int }
	if err := a.JSON("a.json", 100, &unknown); err == nil || !strings.Contains(err.Error(), "1.2.3") {
		t.Errorf("a property that nobody knows: %v", err)
	}
	// Any zip program can look into it.
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(z.File) != 4 {
		t.Errorf("as a zip file: %v", err)
	}
}

// Whatever byte is another one, cut off or added: it is refused.
func TestArchiveIsWholeOrRefused(t *testing.T) {
	data := archive(t, files())
	refused := func(what string, data []byte) {
		t.Helper()
		_, err := planfile.OpenArchive(data, format)
		if wrong := new(planfile.DamagedError); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range data {
		for _, mask := range []byte{1, 0x20, 0x80} {
			other := bytes.Clone(data)
			other[i] ^= mask
			refused(fmt.Sprint("byte ", i), other)
		}
		refused(fmt.Sprint("cut at ", i), data[:i])
	}
	refused("longer", append(bytes.Clone(data), 0))
	refused("one before", append([]byte{'P'}, data...))
}

// sealed gives a hand-made zip file the digest at its end.
func sealed(t *testing.T, make func(z *zip.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	make(z)
	if err := errors.Join(z.SetComment(strings.Repeat("0", 71)), z.Close()); err != nil {
		t.Fatal(err)
	}
	body := out.Bytes()[:out.Len()-71]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), "sha256:"+hex.EncodeToString(sum[:])...)
}

// Somebody may make an archive whose digest is right, and that is wrong.
func TestHostileArchives(t *testing.T) {
	put := func(z *zip.Writer, name, text string) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sum := func(text string) string { s := sha256.Sum256([]byte(text)); return hex.EncodeToString(s[:]) }
	const head = `{"format":"test/1","entries":[%s]}`
	entry := func(name, text string) string {
		return fmt.Sprintf(`{"name":%q,"size":%d,"sha256":"%s"}`, name, len(text), sum(text))
	}
	x := entry("x", "x")
	for name, c := range map[string]struct {
		manifest string
		files    []string // names; the text is the name
	}{
		"no such file":       {x, nil},
		"a file not listed":  {"", []string{"x"}},
		"twice":              {x + "," + x, []string{"x", "x"}},
		"wrong order":        {entry("y", "y") + "," + x, []string{"y", "x"}},
		"another name":       {entry("y", "x"), []string{"x"}},
		"another size":       {`{"name":"x","size":2,"sha256":"` + sum("x") + `"}`, []string{"x"}},
		"a negative size":    {`{"name":"x","size":-1,"sha256":"` + sum("x") + `"}`, []string{"x"}},
		"another content":    {`{"name":"x","size":1,"sha256":"` + sum("y") + `"}`, []string{"x"}},
		"a way out":          {entry("../x", "../x"), []string{"../x"}},
		"an absolute path":   {entry("/x", "/x"), []string{"/x"}},
		"a backslash":        {entry(`a\x`, `a\x`), []string{`a\x`}},
		"a directory":        {entry("d/", ""), []string{"d/"}},
		"a second manifest":  {entry("tenet-manifest.json", "tenet-manifest.json"), []string{"tenet-manifest.json"}},
		"no JSON":            {"x", nil},
		"a huge size":        {`{"name":"x","size":9223372036854775807,"sha256":"` + sum("x") + `"}`, []string{"x"}},
		"a size that is 1e3": {`{"name":"x","size":1.5,"sha256":"` + sum("x") + `"}`, []string{"x"}},
	} {
		data := sealed(t, func(z *zip.Writer) {
			put(z, "tenet-manifest.json", fmt.Sprintf(head, c.manifest))
			for _, name := range c.files {
				text := name
				if strings.HasSuffix(name, "/") {
					text = ""
				}
				put(z, name, text)
			}
		})
		_, err := planfile.OpenArchive(data, format)
		if wrong := new(planfile.DamagedError); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := planfile.OpenArchive(sealed(t, func(z *zip.Writer) {
		put(z, "tenet-manifest.json", fmt.Sprintf(head, x))
		put(z, "x", "x")
	}), format); err != nil {
		t.Errorf("the hand-made one that is right: %v", err)
	}
}

// A small file must not become a large one: what is unpacked is counted, and
// nothing is kept beyond what is listed.
func TestZipBomb(t *testing.T) {
	const size = 64 << 20
	data := sealed(t, func(z *zip.Writer) {
		w, _ := z.Create("tenet-manifest.json")
		io.WriteString(w, `{"format":"test/1","entries":[{"name":"x","size":1,"sha256":"`+strings.Repeat("0", 64)+`"}]}`)
		w, _ = z.Create("x")
		zeros := make([]byte, 1<<20)
		for range size >> 20 {
			w.Write(zeros)
		}
	})
	_, err := planfile.OpenArchive(data, format)
	if wrong := new(planfile.DamagedError); !errors.As(err, &wrong) {
		t.Errorf("%d bytes that become %d: %v", len(data), size, err)
	}
}

func TestOtherFormat(t *testing.T) {
	_, err := planfile.OpenArchive(archive(t, nil), "test/2")
	other := new(planfile.FormatError)
	if !errors.As(err, &other) || other.Format != format || other.Program != "1.2.3" || !strings.Contains(err.Error(), "1.2.3") {
		t.Errorf("%v", err)
	}
}

func TestArchiveWriterRefuses(t *testing.T) {
	w, err := planfile.NewArchive(format, "", time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "../x", "/x", "a//b", `a\b`, "a\x00b", "\xff", "tenet-manifest.json"} {
		if w.Add(name, nil) == nil {
			t.Errorf("takes the name %q", name)
		}
	}
	if w.Add("x", nil) != nil || w.Add("x", nil) == nil {
		t.Error("takes a name twice")
	}
	content := "one"
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
	if err := w.AddFile("file", open); err != nil {
		t.Fatal(err)
	}
	content = "two"
	if _, err := w.Bytes(); err == nil || !strings.Contains(err.Error(), "file has changed") {
		t.Errorf("a file that changes: %v", err)
	}
}

// rightDigest makes the digest at the end right, so that the rest is looked at.
func rightDigest(data []byte) []byte {
	if len(data) <= 71 {
		return data
	}
	body := data[:len(data)-71]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), "sha256:"+hex.EncodeToString(sum[:])...)
}

func FuzzOpenArchive(f *testing.F) {
	f.Add(archive(f, files()))
	f.Add(archive(f, nil))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		data = rightDigest(data)
		a, err := planfile.OpenArchive(data, format)
		if err != nil {
			return
		}
		for _, name := range a.Names() {
			if _, err := a.Read(name, 1<<20); err != nil && len(data) < 1<<10 {
				t.Errorf("%s was looked at, and cannot be read: %v", name, err)
			}
		}
	})
}
