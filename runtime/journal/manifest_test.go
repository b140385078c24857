package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// A list is read as it was written, whatever bytes its names are of.
func TestManifestIsReadBack(t *testing.T) {
	f, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Start(t.Context(), Meta{Run: &states.StateRun{Site: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("0a", 32)
	list := []states.ManifestEntry{{Name: ".", Kind: host.Directory}, {Name: "a b\n\"\xff", Kind: host.Regular, Digest: sum},
		{Name: "d", Kind: host.Directory}, {Name: "d/…", Kind: host.Symlink, Digest: sum}}
	digest, err := r.KeepManifest(list)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Managed()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Manifest(digest); err != nil || !slices.Equal(got, list) {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(f.manifestPath(digest)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := m.Manifest("../lock"); err == nil {
		t.Error("another file is read")
	}
	if err := r.Finish(End{State: Done}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.manifestPath(digest)); err != nil {
		t.Errorf("nothing has changed, and the list is gone: %v", err)
	}
}

// FuzzManifest: whatever a list holds, no name leads out of its directory.
func FuzzManifest(f *testing.F) {
	for _, line := range []string{"", `file - "a"`, `directory - "../a"`, `directory - "a/b"`, `symlink ` + strings.Repeat("0", 64) + ` "a\x00"`, `file ` + strings.Repeat("0", 64) + ` "/a"`} {
		f.Add(manifestFormat + "\n" + line + "\n")
	}
	f.Add("tenet.manifest/2\n")
	f.Fuzz(func(t *testing.T, data string) {
		list, err := parseManifest([]byte(data))
		if err != nil {
			return
		}
		for _, m := range list {
			if m.Name == "" || m.Name[0] == '/' || strings.Contains("/"+m.Name+"/", "/../") || strings.ContainsRune(m.Name, 0) {
				t.Errorf("%+v", m)
			}
		}
	})
}

// What a folder of format 2 calls "made" is known before an apply migrates the folder, and
// after that.
func TestManifestOfFormat2(t *testing.T) {
	dir := t.TempDir()
	text := []byte(manifestFormatOfState2 + "\ndirectory - \".\"\n")
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	header, err := seal(managedHeader{Format: ManagedFormat, Site: "shop"})
	entry, wrong := seal(&Created{Type: "tree", Key: "/t", Address: "tree.t", Run: "00000001-abcdef", Values: map[string]any{"path": "/t"}, Made: digest})
	err = errors.Join(err, wrong)
	for name, data := range map[string][]byte{
		"format": []byte("tenet.state/2\n"), "made/" + digest: text, "managed/shop.jsonl": append(header, entry...),
	} {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	isKnown := func(m *Managed) {
		t.Helper()
		h := m.Holding("shop")
		if h == nil {
			t.Fatal(m.Err())
		}
		c := h.Entry("tree", "/t")
		if c == nil || c.Manifest != digest {
			t.Fatalf("%+v", c)
		}
		if list, err := m.Manifest(c.Manifest); err != nil || len(list) != 1 || list[0].Name != "." {
			t.Errorf("%v, %v", list, err)
		}
	}
	m, err := f.Managed()
	if err != nil {
		t.Fatal(err)
	}
	isKnown(m)
	r, err := f.Start(t.Context(), Meta{Run: &states.StateRun{Site: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = r.Managed(); err != nil {
		t.Fatal(err)
	}
	isKnown(m)
	if err := r.Finish(End{State: Done}); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"made": false, "manifests/" + digest: true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A folder that an older program has applied on after it was migrated has both directories.
func TestManifestsOfBothNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"format", "made/a", "made/b", "manifests/b", "manifests/c"} {
		path := filepath.Join(dir, name)
		text := "tenet.state/2\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Start(t.Context(), Meta{Run: &states.StateRun{Site: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "manifests"))
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the old directory is still there")
	}
	if err := r.Finish(End{State: Done}); err != nil {
		t.Fatal(err)
	}
}

// An event that an older version has written names the manifest by its former word.
func TestManifestOfOlderEvent(t *testing.T) {
	h := NewHolding("shop")
	h.Add("00000001-abcdef", &states.Event{Seq: 1, Type: states.EventBegin, Address: "tree.t", Part: "tree", Key: "/t", Resource: map[string]any{"path": "/t"}, Made: "d"})
	h.Add("00000001-abcdef", &states.Event{Seq: 2, Type: states.EventPart, Address: "tree.t", Part: "tree", Key: "/t", Outcome: states.Changed})
	if c := h.Entry("tree", "/t"); c == nil || c.Manifest != "d" {
		t.Errorf("%+v", c)
	}
}
