//go:build lab

package runtime_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
)

// For the owner rwx, the user 4712 rwx, the owning group r-x, the mask and others.
const namesAnother = "\x02\x00\x00\x00" +
	"\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x07\x00\x68\x12\x00\x00" +
	"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"

// What another account has let somebody into is closed to them once a part makes it root's,
// and the plan tells it. What root has let somebody into stays open.
func TestListOfFormerOwnerByRoot(t *testing.T) {
	parts := map[string]string{
		"owner":     `file "/srv/app" { owner = "0" }`,
		"mode":      "file \"/srv/app\" {\n owner = \"0\"\n mode = \"0660\"\n}",
		"content":   "file \"/srv/app\" {\n owner = \"0\"\n content = \"new\"\n}",
		"checked":   "file \"/srv/app\" {\n owner = \"0\"\n content = \"new\"\n backup = true\n}",
		"directory": `directory "/srv/app" { owner = "0" }`,
		"recurse":   "directory \"/srv\" {\n owner = \"0\"\n recurse = true\n}",
	}
	for name, part := range parts {
		for _, from := range []int{4711, 0} {
			t.Run(name, func(t *testing.T) {
				root := t.TempDir()
				at := filepath.Join(root, "srv/app")
				err := os.MkdirAll(filepath.Dir(at), 0o755)
				if isDir := name == "directory" || name == "recurse"; isDir {
					err = errors.Join(err, os.Mkdir(at, 0o770), unix.Setxattr(at, "system.posix_acl_default", []byte(namesAnother), 0))
				} else {
					err = errors.Join(err, os.WriteFile(at, []byte("old"), 0o660))
				}
				err = errors.Join(err, unix.Setxattr(at, "system.posix_acl_access", []byte(namesAnother), 0), os.Chown(at, from, from))
				h, wrong := host.NewLocal(host.LocalOptions{Root: root})
				if err = errors.Join(err, wrong); err != nil {
					t.Fatal(err)
				}
				run := compile(t, modules.Standard(), part).Run
				for _, ev := range carry(t, runtime.Plan, run, runtime.Options{Host: h}).parts {
					said := false
					for _, c := range ev.Changes {
						list, _ := c.From.(string)
						texts, _ := c.From.([]any)
						for _, text := range texts {
							list += text.(string)
						}
						said = said || strings.Contains(list, "user:4712:rwx")
					}
					if said != (from != 0) {
						t.Errorf("from %d the plan says %+v", from, ev.Changes)
					}
				}
				carry(t, runtime.Apply, run, runtime.Options{Host: h})
				for _, list := range []string{"system.posix_acl_access", "system.posix_acl_default"} {
					_, err := unix.Lgetxattr(at, list, nil)
					if err == nil && from != 0 || err != nil && err != unix.ENODATA {
						t.Errorf("from %d it has the list %s: %v", from, list, err)
					}
				}
				if access := h.Access("/srv/app").List; from == 0 && !strings.HasPrefix(access, "user:4712:") {
					t.Errorf("root's list has become %q", access)
				}
				info, err := h.Lstat("/srv/app")
				if err != nil || info.UID != 0 {
					t.Errorf("%+v, %v", info, err)
				}
			})
		}
	}
}
