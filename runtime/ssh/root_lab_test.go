//go:build lab

package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/wire"
)

// Only root can give a folder to somebody else.

// A folder in which somebody else can put what is run is not used.
func TestForeignFolderByRoot(t *testing.T) {
	w := newWorld(t)
	w.dial(t, wire.Opening{})
	found := w.cached(t)[0]
	for _, path := range []string{found, filepath.Dir(found), filepath.Dir(filepath.Dir(found))} {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		w.notes.Reset()
		if path == found { // it is replaced
			w.dial(t, wire.Opening{})
			if !strings.Contains(w.notes.String(), "copying") {
				t.Error(w.notes)
			}
			continue
		}
		// What lies in it now may be ours; a moment later it need not be.
		if e := w.fails(t); e.Code != codeCache || !strings.Contains(e.Message, "is another's") {
			t.Errorf("%s: %+v", path, e)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}
