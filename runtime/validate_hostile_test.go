package runtime_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
)

// While a file's new content is checked, whoever owns its folder puts another in the place
// of that: what was theirs goes back into their own, and nothing comes into any other.
func TestNothingRefusedIsPutBackElsewhere(t *testing.T) {
	large := "theirs" + strings.Repeat(" ", host.InlineLimit)
	for name, c := range map[string]struct {
		attributes string
		former     string // "": nothing is there; "->": a link
	}{
		"in place":            {`validate = ["check"]`, "theirs"},
		"in place, large":     {`validate = ["check"]`, large},
		"in place, new":       {`validate = ["check"]`, ""},
		"in place of a link":  {"validate = [\"check\"]\nreplace = true", "->"},
		"beside it":           {`validate = ["check", "%s"]`, "theirs"},
		"with a backup":       {"validate = [\"check\"]\nbackup = true", "theirs"},
		"with a large backup": {"validate = [\"check\"]\nbackup = true", large},
	} {
		for kind := range newShared(t).swaps(t) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := newShared(t)
				conf := s.root + "/home/app/conf"
				var err error
				switch c.former {
				case "":
					err = os.Remove(conf)
				case "->":
					err = errors.Join(os.Remove(conf), os.Symlink("theirs", conf))
				default:
					err = os.WriteFile(conf, []byte(c.former), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				checked := false
				swap := s.swaps(t)[kind]
				s.onCheck = func() { checked = true; swap[0]() }
				run := compile(t, modules.Standard(), "file \"/home/app/conf\" {\ncontent = \"managed\"\n"+c.attributes+"\n}\n").Run
				if o := carry(t, runtime.Apply, run, runtime.Options{Host: s, Origin: "/site"}); !checked || !o.Failed {
					t.Fatalf("checked %t, %+v", checked, o.events)
				}
				s.untouched(t)
				swap[1]()
				is, _ := os.ReadFile(conf)
				link, _ := os.Readlink(conf)
				if c.former == "->" && link != "theirs" || c.former != "->" && string(is) != c.former {
					t.Errorf("theirs is %.20q, a link to %q", is, link)
				}
				for dir, want := range map[string]int{"/etc": 2, "/home/app": map[bool]int{true: 1, false: 2}[c.former == ""], "/home/roots": 2} {
					if list, err := os.ReadDir(s.root + dir); err != nil || len(list) != want {
						t.Errorf("in %s is %v (%v)", dir, list, err)
					}
				}
			})
		}
	}
}
