package runtime_test

import (
	"strings"
	"testing"
)

// What the site does not say is given to what is new only, and its row says so.
func TestValuesGivenWhenMade(t *testing.T) {
	m := machine()
	write(t, m, "/there", "old")
	got := plan(t, m, `
	file "/new" {
	  content = "new"
	}
	file "/said" {
	  mode = "0644"
	}
	file "/there" {
	  content = "new"
	}
	`)
	want := map[string]string{`file["/new"]`: "content mode when made", `file["/said"]`: "content when made mode", `file["/there"]`: "content"}
	for address, want := range want {
		var words []string
		for _, c := range got.parts[address].Changes {
			words = append(words, c.Attribute)
			if c.WhenMade {
				words = append(words, "when made")
			}
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s changes %s, want %s", address, got, want)
		}
	}
}
