package lock_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/packages/lock"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "200") }

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// What was written is read again, whatever stands in it, and the bytes are the same whatever the order in which it was made.
func TestReadUndoesBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[\n -~äß€🙂]{0,20}`) // as cty normalizes texts
		list := rapid.SliceOfNDistinct(rapid.StringMatching(`[ -~]{1,30}`), 0, 5, rapid.ID[string]).Draw(t, "sources")
		l, again := &lock.Lock{}, &lock.Lock{}
		var all []lock.Package
		for _, source := range list {
			p := lock.Package{Source: source, Version: text.Draw(t, "version"), Digest: digest, From: digest, Signer: text.Draw(t, "signer")}
			all = append(all, p)
			l.Set(p)
		}
		for i := len(all) - 1; i >= 0; i-- {
			again.Set(all[i])
		}
		if string(l.Bytes()) != string(again.Bytes()) {
			t.Fatalf("in another order:\n%s\n%s", l.Bytes(), again.Bytes())
		}
		read, problems := lock.Read("tenet.lock", l.Bytes())
		if len(problems) > 0 || len(read.Packages) != len(all) {
			t.Fatalf("%v of\n%s", problems, l.Bytes())
		}
		for _, p := range all {
			got := read.Find(p.Source)
			if got == nil || got.Version != p.Version || got.Signer != p.Signer || got.Digest != p.Digest || got.From != p.From {
				t.Fatalf("%+v became %+v of\n%s", p, got, l.Bytes())
			}
		}
	})
}

func TestMistakes(t *testing.T) {
	one := func(source string) string {
		return "package \"" + source + "\" {\n  digest = \"" + digest + "\"\n  from = \"" + digest + "\"\n}\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"syntax":         {"package {", "the lock cannot be read"},
		"unknown":        {one("a") + "colour = 1\n", "tenet.lock:5:1"},
		"twice":          {one("a") + one("b") + one("a"), "a is in the lock twice"},
		"short digest":   {strings.Replace(one("a"), "0123", "", 1), "the digest of a is none"},
		"no digest":      {"package \"a\" {\n  from = \"" + digest + "\"\n}\n", "tenet.lock:1"},
		"from nowhere":   {strings.Replace(one("a"), "from = \"sha256:", "from = \"main", 1), "where a comes from is no digest and no commit"},
		"a function":     {strings.Replace(one("a"), "from = ", "version = upper(\"x\")\n  from = ", 1), "the lock cannot be read"},
		"too long":       {strings.Repeat(" ", lock.MaxBytes+1), "longer than"},
		"no text at all": {"\x00\xff", "the lock cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			l, list := lock.Read("tenet.lock", []byte(c.text))
			text := ""
			for _, d := range list {
				text += d.Range.String() + ": " + d.Summary + "\n"
			}
			if l != nil || !strings.Contains(text, c.want) || list[0].Hint == "" {
				t.Errorf("got %v %v", l, text)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("package \"a\" {\n  digest = \"" + digest + "\"\n  from = \"" + digest + "\"\n}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, list := lock.Read("tenet.lock", data)
		if (l == nil) != list.HasErrors() {
			t.Fatal("neither a lock nor a mistake")
		}
		if l == nil {
			return
		}
		if _, list := lock.Read("tenet.lock", l.Bytes()); list.HasErrors() {
			t.Fatalf("%v of\n%s", list, l.Bytes())
		}
	})
}
