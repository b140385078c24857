package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
)

// older gives an index as a version has written it whose records had no digests.
func older(index []byte) []byte { return sumOfLine.ReplaceAll(index, []byte("}")) }

var sumOfLine = regexp.MustCompile(`(?m),"sum":"[^"]*"}$`)

// olderIndex puts an index without digests into a folder, and gives how it is.
func olderIndex(t *testing.T, change func(index []byte) []byte) (dir, id string, index []byte) {
	t.Helper()
	dir, id = recorded(t)
	name := filepath.Join(dir, "runs", id, "backup/index.jsonl")
	index, err := os.ReadFile(name)
	if err == nil {
		index = change(index)
		err = os.WriteFile(name, index, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, id, index
}

// An index of an older version is believed line by line, and a run that goes on with it
// keeps what it changes from then on.
func TestBackupOfAnOlderVersion(t *testing.T) {
	dir, id, _ := olderIndex(t, older)
	f := open(t, dir)
	r, err := f.Resume(t.Context(), id, journal.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(keep(t, r.Backup(), filled(t), "/link", "block.a"), r.Abandon()); err != nil {
		t.Fatal(err)
	}
	b, err := f.Backup(id)
	if list := b.Of("block.a"); err != nil || b.Wrong() != nil || len(list) != 3 || !list[0].Older || list[0].Path != "/file" || !list[1].Older || list[2].Older {
		t.Errorf("%+v, %v, %v", list, err, b.Wrong())
	}
	for name, change := range map[string]func([]byte) []byte{
		"no word for nothing":   func(i []byte) []byte { return bytes.Replace(older(i), []byte(`"absent"`), []byte(`""`), 1) },
		"an unknown word":       func(i []byte) []byte { return bytes.Replace(older(i), []byte(`"absent"`), []byte(`"abwent"`), 1) },
		"another block":         func(i []byte) []byte { return bytes.Replace(older(i), []byte(`block.a`), []byte(`block.c`), 1) },
		"another part":          func(i []byte) []byte { return bytes.Replace(older(i), []byte(`file.a`), []byte(`file.c`), 1) },
		"another size":          func(i []byte) []byte { return bytes.Replace(older(i), []byte(`"size":4`), []byte(`"size":5`), 1) },
		"a line twice":          func(i []byte) []byte { i = older(i); return append(i, i...) },
		"a field of later ones": func(i []byte) []byte { return bytes.Replace(older(i), []byte(`"uid"`), []byte(`"new":1,"uid"`), 1) },
		"two in a line":         func(i []byte) []byte { return bytes.Replace(older(i), []byte("\n"), []byte(" "), 1) },
		"the rest has digests": func(i []byte) []byte {
			end := bytes.IndexByte(i, '\n') + 1
			return append(i[:end:end], older(i[end:])...)
		},
	} {
		dir, id, index := olderIndex(t, change)
		b, err := open(t, dir).Backup(id)
		if err != nil || b.Wrong() == nil {
			t.Errorf("%s: %s is believed: %+v, %v", name, index, b.Of("block.a"), err)
		}
		r, err := open(t, dir).Resume(t.Context(), id, journal.Meta{})
		if err != nil {
			t.Fatal(err)
		}
		if err := keep(t, r.Backup(), filled(t), "/link", "block.a"); err == nil {
			t.Errorf("%s: a run goes on with %s", name, index)
		}
		if err := r.Abandon(); err != nil {
			t.Error(err)
		}
	}
}

// The copy of a file bears an older line out, or it is refused.
func TestBackupOfAnOlderVersionWithoutItsCopy(t *testing.T) {
	for _, damage := range []func(string) error{os.Remove, func(path string) error { return os.WriteFile(path, []byte("odd\n"), 0o600) }} {
		dir, id, _ := olderIndex(t, older)
		copies, err := filepath.Glob(filepath.Join(dir, "runs", id, "backup/????????????????*"))
		if err != nil || len(copies) != 1 {
			t.Fatal(copies, err)
		}
		if err := damage(copies[0]); err != nil {
			t.Fatal(err)
		}
		b, err := open(t, dir).Backup(id)
		if err != nil || b.Wrong() == nil || len(b.Of("block.a")) != 1 {
			t.Errorf("%+v, %v, %v", b.Of("block.a"), err, b.Wrong())
		}
	}
}

// One wrong byte in an index of an older version makes no line of another kind, block, part
// or content, and none is lost without an error. Of what path it may be runtime decides.
func TestWrongByteOfAnOlderVersion(t *testing.T) {
	dir, id, whole := olderIndex(t, older)
	name := filepath.Join(dir, "runs", id, "backup/index.jsonl")
	read := func() (text string, wrong error) {
		b, err := open(t, dir).Backup(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Of("block.a") {
			text += fmt.Sprintln(f.Kind, f.Part, f.Size, f.Sum)
		}
		return text, b.Wrong()
	}
	want, wrong := read()
	if wrong != nil || strings.Count(want, "\n") != 2 {
		t.Fatal(want, wrong)
	}
	noticed := 0
	for i := range whole {
		trial := slices.Clone(whole)
		trial[i] ^= 1 << (i % 7)
		if err := os.WriteFile(name, trial, 0o600); err != nil {
			t.Fatal(err)
		}
		is, wrong := read()
		if wrong != nil {
			noticed++
		} else if is != want {
			t.Errorf("%s is read as %s", trial, is)
		}
	}
	if t.Logf("%d of %d are noticed", noticed, len(whole)); noticed < len(whole)/2 {
		t.Error("too few are noticed")
	}
}
