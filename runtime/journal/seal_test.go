package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// describe gives all that is read, as text.
func describe(v any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// records are the files of a state folder that later runs act upon, each with what is
// read from it in a folder whose run, site and Ledger are whole but for that file.
func records(id string) map[string]func(*journal.Folder) (string, error) {
	run := "runs/" + id + "/"
	resumed := func(f *journal.Folder) (string, error) {
		r, err := f.Resume(context.Background(), id, journal.Meta{})
		if err != nil {
			return "", err
		}
		text, err := describe(r.Resumed(), nil)
		return text, errors.Join(err, r.Abandon())
	}
	return map[string]func(*journal.Folder) (string, error){
		"owed.json":           func(f *journal.Folder) (string, error) { l, err := f.Ledger(); return describe(l, err) },
		"hold":                func(f *journal.Folder) (string, error) { h, err := f.Held(); return describe(h, err) },
		"managed/shop.jsonl":  holding,
		"managed.json":        holding,
		run + "run.json":      resumed,
		run + "secrets.json":  resumed,
		run + "results.jsonl": resumed,
		run + "events.jsonl": func(f *journal.Folder) (string, error) {
			list := []states.Event{}
			for ev, err := range f.Events(id) {
				if err != nil {
					return describe(list, nil)
				}
				list = append(list, ev)
			}
			return describe(list, nil)
		},
		run + "backup/index.jsonl": func(f *journal.Folder) (string, error) {
			b, err := f.Backup(id)
			if err == nil {
				err = b.Wrong()
			}
			if err != nil {
				return "", err
			}
			return describe(b.Of("block.a"), nil)
		},
	}
}

func holding(f *journal.Folder) (string, error) {
	m, err := f.Managed()
	if err != nil {
		return "", err
	}
	h := m.Holding("shop")
	if h == nil {
		return "", m.Err()
	}
	return describe(h.Entries(), nil)
}

// recorded gives a folder in which all of the records are, and the run.
func recorded(t *testing.T) (dir, id string) {
	t.Helper()
	dir = inMemory(t)
	f := open(t, dir)
	applies(t, f, "shop", true, begins(2, "/a"), ends(3, "/a", states.Changed), begins(4, "/b"), ends(5, "/b", states.Changed))
	dies(t, f, meta(), begun()...)
	finish(t, start(t, f, meta()), journal.End{State: journal.Failed, Changed: true})
	run := secretRun()
	run.Revision = "sha256:2"
	run.Blocks = []states.Block{{Address: "block.a", Members: []string{"file.a"}, Confirm: &states.Confirm{Command: []string{"check"}}}}
	r := begin(t, f, run)
	add(t, r, states.Event{Type: states.EventRun},
		states.Event{Type: states.EventBegin, Address: "file.a", Handlers: []string{"state.h"}},
		states.Event{Type: states.EventPart, Address: "file.a", Outcome: states.Changed})
	for _, address := range []string{"file.a", "file.b"} {
		if err := r.Result(journal.Result{Address: address, Values: map[string]any{"mode": "0600"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/file", "/nothing"} {
		if err := keep(t, r.Backup(), filled(t), path, "block.a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Hold(journal.Hold{Reason: "a migration", By: "alice"}), r.Sync(), r.Abandon(), os.Remove(filepath.Join(dir, "hold"))); err != nil {
		t.Fatal(err)
	}
	return dir, r.ID()
}

// One wrong byte in what is read back is an error, or makes no difference, or costs what
// comes after it; it never makes a record say something else.
func TestWrongByte(t *testing.T) {
	dir, id := recorded(t)
	for name, read := range records(id) {
		t.Run(strings.TrimPrefix(name, "runs/"+id+"/"), func(t *testing.T) {
			spoilt := func(change func([]byte)) (string, string, error) {
				copied := inMemory(t)
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				f := open(t, copied)
				path := filepath.Join(copied, name)
				if name == "hold" {
					if err := f.Hold(journal.Hold{Reason: "a migration", By: "alice"}); err != nil {
						t.Fatal(err)
					}
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				change(data)
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				text, err := read(f)
				return text, string(data), err
			}
			size := 0
			want, _, err := spoilt(func(data []byte) { size = len(data) })
			if err != nil || len(want) < 20 {
				t.Fatalf("whole: %q, %v", want, err)
			}
			if name == "hold" { // its time is that of each trial
				want = want[:strings.Index(want, `"since"`)]
			}
			wrong := 0
			for at := range size {
				if at%9 != 0 && at < size-30 {
					continue
				}
				text, data, err := spoilt(func(data []byte) { data[min(at, len(data)-1)] ^= 1 << (at % 7) })
				lost := strings.HasSuffix(name, "events.jsonl") && strings.HasPrefix(want, strings.TrimSuffix(text, "]"))
				switch {
				case err != nil || lost:
					wrong++
				case name == "hold" && strings.HasPrefix(text, want):
				case text != want:
					t.Fatalf("byte %d changed: %s\nread as %s\nwant    %s", at, data, text, want)
				}
			}
			if t.Logf("%d of %d are noticed", wrong, size); wrong == 0 && !strings.HasSuffix(name, "owed.json") && name != "managed.json" {
				t.Error("no wrong byte is noticed")
			}
		})
	}
}

// What no version has written is refused, whole as it is.
func TestBackupOfAnotherVersion(t *testing.T) {
	dir, id := recorded(t)
	index := filepath.Join(dir, "runs", id, "backup/index.jsonl")
	for object, want := range map[string]string{
		`{"block":"b","part":"p","path":"/x","kind":"","uid":0,"gid":0}`:         `a "" was at /x`,
		`{"block":"b","part":"p","path":"/x","kind":"socket","uid":0,"gid":0}`:   `a "socket" was at /x`,
		`{"block":"b","part":"p","path":"x","kind":"absent","uid":0,"gid":0}`:    `the path "x"`,
		`{"block":"","part":"p","path":"/x","kind":"absent","uid":0,"gid":0}`:    `the block ""`,
		`{"block":"b","part":"p","path":"/x","kind":"file","sha256":"../../x"}`:  `no copy`,
		`{"block":"b","part":"p","path":"/x","kind":"absent","uid":0,"gid":"0"}`: `cannot unmarshal`,
	} {
		if err := os.WriteFile(index, journal.SealObject(object), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := open(t, dir).Backup(id)
		if err != nil || len(b.Of("b"))+len(b.Of("")) > 0 || !strings.Contains(fmt.Sprint(b.Wrong()), want) {
			t.Errorf("%s: %+v, %v, %v", object, b.Of("b"), err, b.Wrong())
		}
		if err := keep(t, b, filled(t), "/file", "b"); err == nil {
			t.Error("a run goes on with it")
		}
	}
}
