package git

import (
	"strings"
	"testing"
)

// Whatever git says, no file has a name that it has not said.
func FuzzSaid(f *testing.F) {
	f.Add("# branch.oid (initial)\x00# branch.head main\x00")
	f.Add("# branch.oid abc\x001 .M N... 100644 100644 100644 1 2 a file\x00? b\x00u UU N... 1 2 3 4 5 6 7 c\x00")
	f.Add("+abc lib (v1)\n-abc other\n abc good\n\n+\n")
	f.Fuzz(func(t *testing.T, said string) {
		_, changed := parseStatus(said)
		for _, name := range append(changed, parseStray(said)...) {
			if !strings.Contains(said, name) {
				t.Errorf("%q is not in %q", name, said)
			}
		}
	})
}
