package packages

import (
	"path"
	"testing"
)

// Each pattern is one that can be read: a malformed one would stand for any name.
func TestPatternsAreWellFormed(t *testing.T) {
	e := effectsOf([]string{"nginx", "gpg", "libc6", "ssl-cert", "python3.11"}, true)
	for _, list := range [][]string{e.Paths, e.Adds, e.Accounts, e.Services, e.Packages} {
		for _, pattern := range list {
			if _, err := path.Match(pattern, "x"); err != nil {
				t.Errorf("%s: %v", pattern, err)
			}
		}
	}
}
