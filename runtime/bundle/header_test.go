package bundle

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

func headerOf(change func(*header)) []byte {
	h := &header{needs: needs{Format: Format, Files: []file{{Name: "a/b", Size: 3}}, Trees: []tree{{Name: "t"}}}, Run: &states.StateRun{Format: states.Format}}
	change(h)
	data, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return data
}

func TestHeader(t *testing.T) {
	if _, err := parseHeader(headerOf(func(*header) {})); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*header){
		"way out":      func(h *header) { h.Files[0].Name = "../x" },
		"absolute":     func(h *header) { h.Files[0].Name = "/etc/passwd" },
		"long":         func(h *header) { h.Files[0].Name = strings.Repeat("x", maxName) },
		"empty":        func(h *header) { h.Files[0].Name = "" },
		"dot":          func(h *header) { h.Files[0].Name = "." },
		"twice":        func(h *header) { h.Files = append(h.Files, h.Files[0]) },
		"negative":     func(h *header) { h.Files[0].Size = -1 },
		"large":        func(h *header) { h.Files[0].Size = planfile.MaxContent + 1 },
		"large in all": func(h *header) { h.Files = []file{{Name: "a", Size: planfile.MaxContent}, {Name: "b", Size: 1 << 62}} },
		"tree out":     func(h *header) { h.Trees[0].Name = "a/../.." },
		"tree twice":   func(h *header) { h.Trees = append(h.Trees, h.Trees[0]) },
		"tree large":   func(h *header) { h.Trees[0].Size = maxHeader + 1 },
		"execution":    func(h *header) { h.Execution = "../../etc/x" },
		"option":       func(h *header) { h.Execution = "-rf" },
		"module":       func(h *header) { h.Modules = []machine.Modules{{Dir: ".", Files: []string{"modules/x.star"}}} },
		"no run":       func(h *header) { h.Run = nil },
		"other run":    func(h *header) { h.Run.Format = "tenet.run/9" },
	} {
		var wrong *planfile.DamagedError
		if _, err := parseHeader(headerOf(change)); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var other *planfile.FormatError
	if _, err := parseHeader(headerOf(func(h *header) { h.Format = "tenet.bundle/9" })); !errors.As(err, &other) {
		t.Errorf("another format: %v", err)
	}
	if _, err := parseHeader([]byte(`{"format":"tenet.bundle/1","more":1}`)); err == nil {
		t.Error("what is not known is passed over")
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(headerOf(func(*header) {}))
	f.Add([]byte(`{"format":"tenet.bundle/1","run":{"format":"tenet.run/1"},"files":[{"name":"../x","size":1,"sha256":"00"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseHeader(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseHeader(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		b := h.needs.bundle(&Store{Dir: t.TempDir()}, nil)
		for _, one := range h.Files {
			if _, err := states.OpenFile(b.Files, one.Name); err == nil {
				t.Fatalf("%q is there", one.Name)
			}
		}
	})
}

// TestSweep: what nobody uses goes after a time, and nothing else does.
func TestSweep(t *testing.T) {
	s := &Store{Dir: t.TempDir(), sync: func(int) error { return nil }}
	f, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	put := func(text string, age time.Duration) string {
		d := digestOf(text)
		if err := f.put(d, int64(len(text)), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.Dir, contentPath(d))
		when := time.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return path
	}
	day := 24 * time.Hour
	list := states.TreeText([]states.TreeEntry{{Name: "x", Kind: "file", Size: 7, SHA256: digestOf("in tree").String()}})
	kept := []string{put("young", 29*day), put("of an execution", 99*day), put("of a site", 99*day), put("in tree", 99*day), put(string(list), 99*day)}
	gone := []string{put("old", 31*day), filepath.Join(s.Dir, contentDir, digestOf("old").String()[:2], atomicfile.TempPrefix+"x")}
	if err := os.WriteFile(gone[1], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hours := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(gone[1], hours, hours); err != nil {
		t.Fatal(err)
	}
	h := &header{Execution: "x1", needs: needs{Format: Format, Files: []file{{Name: "e", Size: 15, SHA256: digestOf("of an execution")}},
		Trees: []tree{{Name: "t", Size: int64(len(list)), SHA256: digestOf(string(list))}}}}
	if err := f.keep(h, "shop", map[digest]int64{digestOf("of a site"): 9}, false); err != nil {
		t.Fatal(err)
	}
	unlock, err := f.share()
	if err != nil {
		t.Fatal(err)
	}
	look := func(paths []string, there bool) {
		t.Helper()
		for _, path := range paths {
			if _, err := os.Lstat(path); there != (err == nil) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	look(kept, true)
	look(gone, false)
	put("old", 31*day)
	if err := s.Forget("x1"); err != nil {
		t.Fatal(err)
	}
	look(gone[:1], true) // it was cleared up today
	old := time.Now().Add(-2 * day)
	if err := os.Chtimes(filepath.Join(s.Dir, lockName), old, old); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(""); err != nil {
		t.Fatal(err)
	}
	look(gone[:1], true) // somebody writes
	unlock()
	if err := s.Forget("x1"); err != nil {
		t.Fatal(err)
	}
	look(append(gone, kept[1], kept[3], kept[4]), false)
	look([]string{kept[0], kept[2]}, true)
	// What a site does not need any longer was in use until then.
	if _, err := f.remember("shop", map[digest]int64{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(kept[2]); err != nil || time.Since(info.ModTime()) > day {
		t.Errorf("%v, %v", info, err)
	}
}

// What was the last of a site when that was asked for stays until it is asked for again, whatever the site needs since.
func TestKeepLast(t *testing.T) {
	s := &Store{Dir: t.TempDir(), sync: func(int) error { return nil }}
	f, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	need := func(text string) {
		t.Helper()
		d := digestOf(text)
		if err := f.put(d, int64(len(text)), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.remember("shop", map[digest]int64{d: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
	}
	left := func() string {
		t.Helper()
		old := time.Now().Add(-40 * 24 * time.Hour)
		var list []string
		for _, text := range []string{"1", "2", "3"} {
			path := filepath.Join(s.Dir, contentPath(digestOf(text)))
			if err := os.Chtimes(path, old, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := f.sweep(0); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"1", "2", "3"} {
			if _, err := os.Lstat(filepath.Join(s.Dir, contentPath(digestOf(text)))); err == nil {
				list = append(list, text)
			}
		}
		return strings.Join(list, " ")
	}
	if err := s.KeepLast("shop"); err != nil { // there is nothing yet
		t.Fatal(err)
	}
	need("1")
	for range 2 {
		if err := s.KeepLast("shop"); err != nil {
			t.Fatal(err)
		}
	}
	need("2")
	need("3")
	if got := left(); got != "1 3" {
		t.Errorf("%q are left", got)
	}
	if err := s.KeepLast("shop"); err != nil {
		t.Fatal(err)
	}
	if got := left(); got != "3" {
		t.Errorf("%q are left", got)
	}
}

func digestOf(text string) digest {
	return sha256.Sum256([]byte(text))
}
