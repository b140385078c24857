package journal

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// A list is read as it was written, whatever bytes its names are of.
func TestMadeIsReadBack(t *testing.T) {
	f, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Start(t.Context(), Meta{Run: &states.StateRun{Site: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("0a", 32)
	list := []states.Made{{Name: ".", Kind: host.Directory}, {Name: "a b\n\"\xff", Kind: host.Regular, Digest: sum},
		{Name: "d", Kind: host.Directory}, {Name: "d/…", Kind: host.Symlink, Digest: sum}}
	digest, err := r.KeepMade(list)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Managed()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Made(digest); err != nil || !slices.Equal(got, list) {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(f.madePath(digest)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := m.Made("../lock"); err == nil {
		t.Error("another file is read")
	}
	if err := r.Finish(End{State: Done}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.madePath(digest)); err != nil {
		t.Errorf("nothing has changed, and the list is gone: %v", err)
	}
}

// FuzzMade: whatever a list holds, no name leads out of its directory.
func FuzzMade(f *testing.F) {
	for _, line := range []string{"", `file - "a"`, `directory - "../a"`, `directory - "a/b"`, `symlink ` + strings.Repeat("0", 64) + ` "a\x00"`, `file ` + strings.Repeat("0", 64) + ` "/a"`} {
		f.Add(madeFormat + "\n" + line + "\n")
	}
	f.Add("tenet.made/2\n")
	f.Fuzz(func(t *testing.T, data string) {
		list, err := parseMade([]byte(data))
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
