//go:build lab

package runtime_test

import (
	"os"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A folder that the block's own program gives to somebody else is the same one.
func TestPutBackIntoAFolderGivenAwayByRoot(t *testing.T) {
	for _, dies := range []bool{false, true} {
		s := newShared(t)
		if info, err := s.Lstat("/home/app"); err != nil || info.Birth.IsZero() {
			t.Fatalf("the file system of %s keeps no births of files: %+v, %v", s.root, info, err)
		}
		folder, err := journal.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		give := func() {
			if err := os.Chown(s.root+"/home/app", 4711, 4711); err != nil {
				t.Fatal(err)
			}
		}
		site := theirSite
		if s.onCheck = give; dies {
			s.apply(t, folder, site, true)
			give()
			site = "file \"/other\" {}\n"
		}
		list := s.apply(t, folder, site, false).confirmed()
		data, err := os.ReadFile(s.root + "/home/app/conf")
		if end := list[len(list)-1]; err != nil || string(data) != "theirs" || end.Outcome != states.Failed {
			t.Errorf("after a kill %t: it holds %q, %v; %+v %+v", dies, data, err, end, end.Error)
		}
	}
}
