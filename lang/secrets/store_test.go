package secrets_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang/secrets"
)

// rescrypt raises the work that the scrypt stanza of an age file asks for.
func rescrypt(t *testing.T, line string, factor int) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), " 10\n", " "+string(rune('0'+factor/10))+string(rune('0'+factor%10))+"\n", 1)
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// opened counts what is opened.
type opened struct {
	fs.FS
	names map[string]int
}

func (o opened) Open(name string) (fs.File, error) {
	o.names[name]++
	return o.FS.Open(name)
}

func (o opened) Stat(name string) (fs.FileInfo, error) { return fs.Stat(o.FS, name) }

func TestStore(t *testing.T) {
	ada := newReader(t, "ada")
	to := recipients(t, ada.public)
	site := opened{fstest.MapFS{
		"secrets.age":        {Data: newFile(t, to, map[string]string{"db": "hunter2", "mail": "m"}).Bytes()},
		"secrets/prod.age":   {Data: newFile(t, to, map[string]string{"db": "prod"}).Bytes()},
		"secrets/other.age":  {Data: []byte("damaged")},
		"secrets/broken.age": {Data: append(newFile(t, to, map[string]string{"db": "b"}).Bytes(), "x = ***\n"...)},
		"secrets/dir.age":    {Mode: fs.ModeDir},
	}, map[string]int{}}
	keys := 0
	store := &secrets.Store{Site: site, Identities: func() ([]secrets.Identity, error) {
		keys++
		return []secrets.Identity{ada.id}, nil
	}}
	for _, secret := range []string{"db", "prod/db"} {
		if text, err := store.Check(secret); text != "" || err != nil {
			t.Errorf("%s: %q, %v", secret, text, err)
		}
	}
	if keys != 0 {
		t.Error("a check needs a key")
	}
	for secret, want := range map[string]string{"db": "hunter2", "prod/db": "prod", "mail": "m"} {
		if got, err := store.Value(secret); got != want || err != nil {
			t.Errorf("%s: %q, %v", secret, got, err)
		}
	}
	if keys != 1 || len(site.names) != 2 || site.names["secrets.age"] != 1 || site.names["secrets/prod.age"] != 1 {
		t.Errorf("keys were asked for %d times, opened were %v", keys, site.names)
	}
	digests := store.Digests()
	if got := slices.Sorted(maps.Keys(digests)); !slices.Equal(got, []string{"secrets.age", "secrets/prod.age"}) ||
		!strings.HasPrefix(digests["secrets.age"], "sha256:") || digests["secrets.age"] == digests["secrets/prod.age"] {
		t.Errorf("digests %v", digests)
	}
	for secret, want := range map[string]string{
		"dbb": `there is no secret "dbb" in secrets.age`, "none/db": "there are no secrets in secrets/none.age",
		"other/db": "does not begin with", "dir/db": "no regular file", "broken/x": "the line of x is damaged",
		"broken/y": "the line of x is damaged", "a/b/c": "is no name of a secret",
	} {
		for _, ask := range []func(string) (string, error){store.Check, store.Value} {
			if _, err := ask(secret); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", secret, err)
			}
		}
	}
	var missing *secrets.NotFound
	if _, err := store.Check("prod/dbb"); !errors.As(err, &missing) || !slices.Equal(missing.Names(), []string{"prod/db"}) {
		t.Errorf("%#v", missing)
	}
	if got, err := store.Value("broken/db"); got != "b" || err != nil {
		t.Errorf("beside a damaged line: %q, %v", got, err)
	}
	without := &secrets.Store{Site: site}
	if _, err := without.Value("db"); err == nil || !strings.Contains(err.Error(), "no key here opens secrets.age") {
		t.Error(err)
	}
}

// FuzzParse reads anything without a crash, loses nothing of a file, and sets a
// value in what it can read.
func FuzzParse(f *testing.F) {
	ada := newReader(f, "ada")
	good := newFile(f, recipients(f, ada.public), map[string]string{"a": "1", "b": "2"}).Bytes()
	f.Add(good)
	f.Add([]byte("# tenet.secrets/1\n<<<<<<< x\n@key = \n=======\na = b\n>>>>>>> y\n"))
	f.Add([]byte(strings.ReplaceAll(string(good), "\n", "\r\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, list := secrets.Parse("secrets.age", data)
		for _, d := range list {
			if d.Summary == "" || d.Hint == "" || d.Range.Start.Line < 1 {
				t.Errorf("%+v", d)
			}
		}
		if key, err := file.Open([]secrets.Identity{ada.id}); err == nil {
			_, _ = key.Values()
		}
		for _, name := range file.Names() {
			if !secrets.ValidName(name) || !file.Has(name) || file.EncryptedLine(name) == "" {
				t.Errorf("name %q", name)
			}
		}
		if list.HasErrors() {
			return
		}
		sorted, list := secrets.Parse("secrets.age", file.Bytes())
		if len(list) > 0 || !slices.Equal(sorted.Names(), file.Names()) {
			t.Fatalf("written, it is wrong: %v", list)
		}
		if err := file.Set("fuzz", "x"); err != nil {
			t.Fatal(err)
		}
		again, list := secrets.Parse("secrets.age", file.Bytes())
		if len(list) > 0 || !again.Has("fuzz") {
			t.Fatalf("with a value more, it is wrong: %v", list)
		}
	})
}

// FuzzParseText reads anything without a crash; what it reads survives.
func FuzzParseText(f *testing.F) {
	f.Add([]byte("a = 1\n# x\nb = <<END\nx\nEND\nc = \"\\u0000\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, list := secrets.ParseText("edited", data)
		if len(list) > 0 {
			return
		}
		again, list := secrets.ParseText("edited", []byte(secrets.FormatText(values)))
		if len(list) > 0 || !maps.Equal(values, again) {
			t.Fatalf("%q gives %q: %v", values, again, list)
		}
	})
}
