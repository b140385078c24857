package lang_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
)

// A file of NUL bytes, as a crash may leave it, is one short mistake in every syntax.
func TestFileOfNULBytesIsOneMistake(t *testing.T) {
	for _, name := range []string{"site.hcl", "site.hcl.json", "site.star"} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{name: {Data: make([]byte, 400_000)}}
			_, list := lang.Load(fsys, lang.Options{Registry: registry()})
			if text := list.Error(); len(list) != 1 || len(text) > 400 || !strings.Contains(text, "400000 bytes") {
				t.Errorf("%d mistakes, %d bytes: %.300s", len(list), len(text), text)
			}
		})
	}
}
